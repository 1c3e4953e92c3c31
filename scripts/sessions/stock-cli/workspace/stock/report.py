"""Tables for people and files for machines."""

import json
from collections import defaultdict
from decimal import Decimal

from stock.model import FIELDS, Item
from stock.store import as_row

BOLD, RED, RESET = "\x1b[1m", "\x1b[31m", "\x1b[0m"


def grouped(items: list[Item], by: str) -> list[tuple[str, int, int, Decimal]]:
    """Return (group, kinds, pieces, value) for each location or supplier, the most valuable first."""
    kinds, pieces, value = defaultdict(set), defaultdict(int), defaultdict(Decimal)
    for item in items:
        group = getattr(item, by)
        kinds[group].add(item.sku)
        pieces[group] += item.quantity
        value[group] += item.value
    rows = [(group, len(kinds[group]), pieces[group], value[group]) for group in kinds]
    return sorted(rows, key=lambda row: (str(row[3]), row[0]), reverse=True)


def group_table(items: list[Item], by: str, top: "int | None", color: bool) -> str:
    """Return the table of `report`."""
    rows = grouped(items, by)
    lines = [heading(f"{by:<14} {'kinds':>6} {'pieces':>8} {'value':>14}", color)]
    for group, kinds, pieces, value in rows[:top]:
        lines.append(f"{group:<14} {kinds:>6} {pieces:>8} {euros(value):>14}")
    total = sum((row[3] for row in rows[:top]), Decimal())
    count = sum(row[2] for row in rows[:top])
    lines.append(f"{'total':<14} {'':>6} {count:>8} {euros(total):>14}")
    return "\n".join(lines)


def low_table(items: list[Item], below: int, color: bool) -> str:
    """Return the table of `low`: SKUs of which less than `below` pieces are left over all locations."""
    lines = [heading(f"{'sku':<8} {'name':<24} {'location':<9} {'left':>5}", color)]
    for item in sorted(items, key=lambda item: (item.quantity, item.sku)):
        if item.quantity < below:
            text = f"{item.sku:<8} {item.name:<24} {item.location:<9} {item.quantity:>5}"
            lines.append(f"{RED}{text}{RESET}" if color and item.quantity == 0 else text)
    return "\n".join(lines)


def export(items: list[Item], form: str) -> str:
    """Return the whole stock as csv (commas) or json."""
    if form == "json":
        return json.dumps([as_row(item) for item in items], ensure_ascii=False, indent=1)
    lines = [",".join(FIELDS)]
    lines += [",".join(str(value) for value in as_row(item).values()) for item in items]
    return "\n".join(lines)


def heading(text: str, color: bool) -> str:
    return f"{BOLD}{text}{RESET}" if color else text


def euros(value: Decimal) -> str:
    """Return an amount as 1.234,50 €.

    >>> euros(Decimal("1234.5"))
    '1.234,50 €'
    """
    return f"{value:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".")
