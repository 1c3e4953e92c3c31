"""Items and the rules they obey."""

from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation


class StockError(Exception):
    """The stock does not allow what was asked."""


class FormatError(Exception):
    """Input that cannot be read."""


@dataclass(frozen=True)
class Item:
    sku: str
    name: str
    location: str
    supplier: str
    quantity: int
    price: Decimal

    @property
    def value(self) -> Decimal:
        """Return what the items are worth together."""
        return self.price * int(self.quantity)

    def changed_by(self, amount: int) -> "Item":
        """Return the item with `amount` more (or less) of it."""
        return replace(self, quantity=self.quantity + amount)


FIELDS = ("sku", "name", "location", "supplier", "quantity", "price")


def item_from_row(row: dict, where: str) -> Item:
    """Build an item from a row of strings, as a spreadsheet export has them.

    >>> item_from_row({"sku": "A1", "name": "Bolt", "location": "R1", "supplier": "Hex", "quantity": "4",
    ...                "price": "0,25"}, "x:1").price
    Decimal('0.25')
    """
    missing = [field for field in FIELDS if not row.get(field)]
    if missing:
        raise FormatError(f"{where}: no {', '.join(missing)}")
    try:
        price = Decimal(row["price"].replace(",", "."))
    except InvalidOperation:
        raise FormatError(f"{where}: price {row['price']!r} is not a number") from None
    return Item(
        sku=row["sku"].strip().upper(),
        name=row["name"].strip(),
        location=row["location"].strip(),
        supplier=row["supplier"].strip(),
        quantity=row["quantity"],
        price=price,
    )
