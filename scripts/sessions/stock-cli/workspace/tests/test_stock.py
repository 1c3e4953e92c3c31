from decimal import Decimal

from stock import report, store
from stock.model import Item


def item(sku="A1", location="R1", quantity=4, price="0.25", supplier="Hex"):
    return Item(sku, "Bolt", location, supplier, quantity, Decimal(price))


def test_a_group_counts_kinds_pieces_and_value():
    assert report.grouped([item(), item("B2", quantity=1)], "location") == [("R1", 2, 5, Decimal("1.25"))]


def test_the_most_valuable_group_comes_first():
    rows = report.grouped([item(location="R1", quantity=1), item(location="R2", quantity=3)], "location")
    assert [row[0] for row in rows] == ["R2", "R1"]


def test_moving_everything_keeps_the_number_of_pieces():
    after = store.move([item()], "A1", "R1", "R2", 4)
    assert sorted((entry.location, entry.quantity) for entry in after) == [("R1", 0), ("R2", 4)]


def test_what_is_saved_is_loaded(tmp_path):
    store.save(tmp_path / "s.jsonl", [item()])
    assert store.load(tmp_path / "s.jsonl") == [item()]


def test_amounts_are_written_the_german_way():
    assert report.euros(Decimal("1234567.5")) == "1.234.567,50 €"
