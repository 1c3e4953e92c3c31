"""Price lists, tiers and discounts."""

import json
from dataclasses import dataclass
from pathlib import Path


class PriceError(Exception):
    """A price that does not exist or makes no sense."""


@dataclass(frozen=True)
class Price:
    article: str
    unit: str
    amount: float
    tax_rate: float
    tiers: tuple[tuple[float, float], ...] = ()

    def per_unit(self, quantity: float) -> float:
        """Return the price of one unit when `quantity` units are bought."""
        best = self.amount
        for least, amount in self.tiers:
            if quantity >= least:
                best = amount
        return best


def load_prices(path: Path) -> dict[str, Price]:
    """Read a price list: article → price."""
    prices = {}
    for row in json.loads(path.read_text("utf-8")):
        tiers = tuple((float(tier["from"]), float(tier["amount"])) for tier in row.get("tiers", ()))
        price = Price(
            article=row["article"],
            unit=row["unit"],
            amount=float(row["amount"]),
            tax_rate=float(row["tax"]) / 100,
            tiers=tiers,
        )
        if price.amount < 0:
            raise PriceError(f"{path}: {price.article} costs {price.amount}")
        prices[price.article] = price
    return prices


def discounted(amount: float, percent: float) -> float:
    """Return the amount less a discount in percent."""
    if not 0 <= percent <= 100:
        raise PriceError(f"a discount of {percent} % makes no sense")
    return round(amount * (1 - percent / 100), 2)


def line_amount(price: Price, quantity: float, discount: float = 0.0) -> float:
    """Return the net amount of an invoice line."""
    amount = round(price.per_unit(quantity) * quantity, 2)
    return discounted(amount, discount)
