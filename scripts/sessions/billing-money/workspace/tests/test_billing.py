from datetime import date
from pathlib import Path

from billing.dunning import OpenInvoice, remind
from billing.invoice import make_invoice
from billing.pricing import Price, line_amount
from billing.render import euros
from billing.split import instalments

PRICES = {"dev": Price("dev", "h", 95.5, 0.19), "book": Price("book", "St.", 24.9, 0.07)}


def order(*positions):
    rows = [{"article": article, "quantity": quantity} for article, quantity in positions]
    return {"number": "2025-001", "customer": "Köhler GmbH", "date": "2025-05-02", "positions": rows}


def test_a_line_is_price_times_quantity():
    assert line_amount(PRICES["dev"], 2) == 191


def test_a_tier_lowers_the_price():
    price = Price("screw", "St.", 0.5, 0.19, ((100, 0.4), (1000, 0.25)))
    assert [price.per_unit(n) for n in (99, 100, 1000)] == [0.5, 0.4, 0.25]


def test_the_total_holds_net_and_taxes():
    invoice = make_invoice(order(("dev", 2), ("book", 1)), PRICES)
    assert (float(invoice.net), float(invoice.total)) == (215.9, 253.93)


def test_instalments_are_monthly():
    plan = instalments(300, date(2025, 1, 31), 3)
    assert [part.due for part in plan] == [date(2025, 1, 31), date(2025, 2, 28), date(2025, 3, 31)]


def test_a_reminder_holds_interest_and_fee():
    reminder = remind(OpenInvoice("1", 1000, 0, date(2025, 1, 1), 1), date(2025, 12, 31))
    assert (float(reminder.interest), float(reminder.fee)) == (90.95, 5.0)


def test_nothing_is_due_before_its_day():
    assert remind(OpenInvoice("1", 10, 0, date(2025, 1, 1), 0), date(2025, 1, 1)) is None


def test_amounts_are_written_the_german_way():
    assert euros(1234567.5) == "1.234.567,50 €"
