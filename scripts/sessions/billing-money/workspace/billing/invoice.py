"""Invoices: lines and totals."""

import json
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from billing.pricing import Price, PriceError, line_amount
from billing.tax import tax_by_rate, total_tax


@dataclass(frozen=True)
class Line:
    text: str
    quantity: float
    unit: str
    net: float
    tax_rate: float


@dataclass(frozen=True)
class Invoice:
    number: str
    customer: str
    day: date
    lines: tuple[Line, ...]
    days_to_pay: int = 14

    @property
    def net(self) -> float:
        return sum(line.net for line in self.lines)

    @property
    def taxes(self) -> dict[float, float]:
        return tax_by_rate(self.lines)

    @property
    def total(self) -> float:
        return round(self.net + total_tax(self.lines), 2)

    @property
    def due(self) -> date:
        return self.day + timedelta(days=self.days_to_pay)


def make_invoice(order: dict, prices: dict[str, Price]) -> Invoice:
    """Return the invoice of an order. Raises PriceError for an unknown article."""
    lines = []
    for row in order["positions"]:
        if row["article"] not in prices:
            raise PriceError(f"position {len(lines) + 1}: there is no price for {row['article']!r}")
        price = prices[row["article"]]
        quantity = float(row["quantity"])
        net = line_amount(price, quantity, float(row.get("discount", 0)))
        lines.append(Line(row.get("text", price.article), quantity, price.unit, net, price.tax_rate))
    return Invoice(
        number=order["number"],
        customer=order["customer"],
        day=date.fromisoformat(order["date"]),
        lines=tuple(lines),
        days_to_pay=order.get("days_to_pay", 14),
    )


def load_order(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))
