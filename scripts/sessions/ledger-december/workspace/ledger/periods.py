"""Months and quarters as half-open ranges [start, end)."""

from datetime import date


def month_range(year: int, month: int) -> tuple[date, date]:
    """Return the first day of a month and the first day of the next."""
    start = date(year, month, 1)
    end = date(year, month % 12 + 1, 1)
    return start, end


def quarter_range(year: int, quarter: int) -> tuple[date, date]:
    """Return the first day of a quarter (1 to 4) and the first day of the next."""
    start, _ = month_range(year, 3 * quarter - 2)
    _, end = month_range(year, 3 * quarter)
    return start, end
