"""Taxes by rate."""

from collections import defaultdict


def tax_by_rate(lines) -> dict[float, float]:
    """Return tax rate → tax for invoice lines with `net` and `tax_rate`."""
    taxes: dict[float, float] = defaultdict(float)
    for line in lines:
        taxes[line.tax_rate] += round(line.net * line.tax_rate, 2)
    return dict(taxes)


def total_tax(lines) -> float:
    """Return the sum of all taxes."""
    return round(sum(tax_by_rate(lines).values()), 2)


def rate_text(rate: float) -> str:
    """Return a rate as text: 0.19 is '19 %'.

    >>> rate_text(0.07)
    '7 %'
    """
    return f"{rate * 100:g} %"
