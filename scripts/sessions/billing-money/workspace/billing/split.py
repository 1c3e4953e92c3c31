"""Instalments."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Instalment:
    due: date
    amount: float


def instalments(total: float, first: date, count: int) -> list[Instalment]:
    """Split a total into `count` monthly instalments."""
    if count < 1:
        raise ValueError(f"{count} instalments")
    each = round(total / count, 2)
    days = [_months_later(first, months) for months in range(count)]
    return [Instalment(day, each) for day in days]


def _months_later(day: date, months: int) -> date:
    year, month = divmod(day.month - 1 + months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return date(day.year + year, month + 1, last)
        except ValueError:
            continue
    raise AssertionError
