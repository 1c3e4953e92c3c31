from datetime import date

from ledger.booking import Booking
from ledger.periods import quarter_range
from ledger.statement import format_cents, month_total, year_totals

BOOKINGS = [
    Booking(date(2023, 11, 30), 10_000, "salary"),
    Booking(date(2023, 12, 1), -2_550, "groceries"),
    Booking(date(2023, 12, 31), -49_900, "new bicycle"),
    Booking(date(2024, 1, 1), 120_000, "salary"),
]


def test_a_month_holds_its_last_day():
    assert month_total(BOOKINGS, 2023, 11) == 10_000


def test_december_holds_its_first_and_its_last_day():
    assert month_total(BOOKINGS, 2023, 12) == -52_450


def test_a_year_has_twelve_totals():
    assert year_totals(BOOKINGS, 2023) == [0] * 10 + [10_000, -52_450]


def test_the_last_quarter_ends_with_the_year():
    assert quarter_range(2023, 4) == (date(2023, 10, 1), date(2024, 1, 1))


def test_amounts_are_written_the_european_way():
    assert format_cents(-123_456) == "-1.234,56 €"
