"""How a number and a foreign text are written in the tree."""

from decimal import Decimal

from edge_agentic.report.words import clean

_MARKUP = frozenset("\\`*_[]<>|&~#$")


def five_digits(value: float) -> str:
    """Return a number with five significant figures and no exponent, as the rule book asks for measured ones."""
    return format(Decimal(f"{value:#.5g}"), "f")


def markdown(text: object) -> str:
    """Return a foreign text on one line, its control characters visible and its Markdown and HTML inert."""
    return "".join(f"\\{c}" if c in _MARKUP else c for c in clean(text))
