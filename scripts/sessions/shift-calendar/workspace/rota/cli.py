"""The command line."""

import sys
from datetime import date
from pathlib import Path

from rota.duty import on_duty
from rota.hours import hours
from rota.ics import calendar
from rota.plan import PlanError, load, shifts


def main(arguments=None):
    command, path, *rest = sys.argv[1:] if arguments is None else arguments
    try:
        print(RUN[command](load(Path(path)), *rest))
    except PlanError as error:
        print(f"rota: {error}", file=sys.stderr)
        return 1
    return 0


def _list(plan, first, last):
    found = shifts(plan, date.fromisoformat(first), date.fromisoformat(last))
    return "\n".join(f"{s.start:%a %d.%m. %H:%M} – {s.end:%a %H:%M}  {s.kind:<6} {s.crew}" for s in found)


def _hours(plan, month):
    year, number = month.split("-")
    return "\n".join(f"{crew:<10} {worked:7.2f}" for crew, worked in sorted(hours(plan, int(year), int(number)).items()))


def _who(plan, moment):
    return ", ".join(on_duty(plan, moment)) or "nobody"


def _ics(plan, first, last):
    return calendar(shifts(plan, date.fromisoformat(first), date.fromisoformat(last)), plan.place)


RUN = {"list": _list, "hours": _hours, "who": _who, "ics": _ics}
