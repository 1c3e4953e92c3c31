"""The file the stock lives in: one JSON object per line, ordered by SKU and location."""

import csv
import json
from decimal import Decimal
from pathlib import Path

from stock.model import FIELDS, FormatError, Item, StockError, item_from_row


def load(path: Path) -> list[Item]:
    """Read the stock. Raises FormatError naming the line that cannot be read."""
    if not path.exists():
        raise FormatError(f"{path}: no such stock file, `import` creates one")
    items = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            items.append(Item(**{**row, "price": Decimal(row["price"])}))
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{path}:{number}: {error}") from None
    return items


def save(path: Path, items: list[Item]) -> None:
    """Write the stock, ordered, replacing the file in one step."""
    ordered = sorted(items, key=lambda item: (item.sku, item.location))
    text = "".join(json.dumps(as_row(item), ensure_ascii=False) + "\n" for item in ordered)
    scratch = path.with_suffix(".new")
    scratch.write_text(text, "utf-8")
    scratch.replace(path)


def as_row(item: Item) -> dict:
    """Return the item as it is written to JSON."""
    return {**{field: getattr(item, field) for field in FIELDS}, "price": str(item.price)}


def import_csv(path: Path) -> list[Item]:
    """Read a spreadsheet export (semicolons, first row holds the names), joining rows of the same place."""
    found: dict[tuple[str, str], Item] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter=";"), start=2):
            item = item_from_row(row, f"{path}:{number}")
            key = item.sku, item.location
            if key in found:
                item = found[key].changed_by(item.quantity)
            found[key] = item
    return list(found.values())


def move(items: list[Item], sku: str, source: str, target: str, quantity: int) -> list[Item]:
    """Return the stock after moving `quantity` of an item from one location to another."""
    here = _find(items, sku, source)
    if here is None:
        raise StockError(f"{sku} is not at {source}")
    there = _find(items, sku, target)
    rest = [item for item in items if item is not here and item is not there]
    moved = here.changed_by(-quantity)
    if there is None:
        arrived = Item(**{**here.__dict__, "location": target, "quantity": quantity})
    else:
        arrived = there.changed_by(quantity)
    return [*rest, moved, arrived]


def _find(items: list[Item], sku: str, location: str) -> "Item | None":
    return next((item for item in items if item.sku == sku.upper() and item.location == location), None)
