"""Balances per month."""

from collections.abc import Iterable

from ledger.booking import Booking
from ledger.periods import month_range


def month_total(bookings: Iterable[Booking], year: int, month: int) -> int:
    """Return the sum of a month's bookings in cents."""
    start, end = month_range(year, month)
    return sum(b.cents for b in bookings if start <= b.day < end)


def year_totals(bookings: Iterable[Booking], year: int) -> list[int]:
    """Return the totals of the twelve months in cents."""
    bookings = list(bookings)
    return [month_total(bookings, year, month) for month in range(1, 13)]


def format_cents(cents: int) -> str:
    """Return an amount as text, for example 1.234,56 €."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole:,}".replace(",", ".") + f",{rest:02d} €"
