"""Plans and the shifts that follow from them."""

import json
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo


class PlanError(Exception):
    """A plan or a question that makes no sense."""


@dataclass(frozen=True)
class Kind:
    name: str
    start: time
    end: time
    crews: tuple


@dataclass(frozen=True)
class Shift:
    kind: str
    crew: str
    start: datetime
    end: datetime


@dataclass(frozen=True)
class Plan:
    zone: ZoneInfo
    first_day: date
    kinds: tuple
    place: str


def load(path):
    data = json.loads(path.read_text("utf-8"))
    kinds = tuple(
        Kind(kind["name"], time.fromisoformat(kind["start"]), time.fromisoformat(kind["end"]), tuple(kind["crews"]))
        for kind in data["shifts"]
    )
    return Plan(ZoneInfo(data["zone"]), date.fromisoformat(data["first_day"]), kinds, data["place"])


def shifts(plan, first, last):
    """Yield the shifts that begin on the days from first to last."""
    day = first
    while day < last:
        number = abs((day - plan.first_day).days)
        for kind in plan.kinds:
            crew = kind.crews[number % len(kind.crews)]
            start = datetime.combine(day, kind.start, plan.zone)
            end = datetime.combine(day, kind.end, plan.zone)
            if end < start:
                end = end + timedelta(hours=24)
            yield Shift(kind.name, crew, start, end)
        day = day + timedelta(days=1)
