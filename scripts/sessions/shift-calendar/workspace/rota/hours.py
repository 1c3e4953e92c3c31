"""Working hours."""

from collections import defaultdict
from datetime import date, timedelta

from rota.plan import shifts


def hours(plan, year, month):
    """Return crew → hours worked in a month."""
    first = date(year, month, 1)
    last = date(year, month + 1, 1)
    worked = defaultdict(float)
    for shift in shifts(plan, first, last):
        worked[shift.crew] += (shift.end - shift.start) / timedelta(hours=1)
    return dict(worked)
