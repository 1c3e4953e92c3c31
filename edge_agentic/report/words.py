"""How single things are written: numbers with units, and text that came from elsewhere."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log10
from typing import Any

from bfcl_gate.words import count as count

UNGATED = "UNGATED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One block of a report: rows of cells, as many as `header` has names, between the lines `lead` and `notes`.

    With `ungated` set every line belongs to a run whose gate did not pass, and must be marked so.
    """

    title: str
    lead: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    ungated: bool = False


def clean(value: object) -> str:
    """Return the text of a value on one line with every control character made visible.

    Traces, models and servers are not trusted with the terminal or the page: an escape sequence or a line
    break could imitate the report.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))


def in_html(value: object) -> str:
    """Return the text of a value on one line as HTML, nothing of it markup."""
    return escape(clean(value))


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage with two decimals, as MLPerf compares them."""
    return "" if fraction is None else f"{100 * fraction:.2f} %"


def interval(bounds: Iterable[float] | None) -> str:
    """Return two fractions as a range of percentages."""
    return "" if bounds is None else " .. ".join(f"{100 * bound:.1f}" for bound in bounds) + " %"


def rate(value: float | None, unit: str = "tokens/s") -> str:
    """Return a rate with three significant digits."""
    return "" if value is None else f"{number(value)} {unit}"


def number(value: float, like: float | None = None) -> str:
    """Return a number with three significant digits and no exponent, with no more decimals than `like` has."""
    decimals = min(_decimals(value), _decimals(value if like is None else like))
    return f"{value:,.{decimals}f}"


def _decimals(value: float) -> int:
    return max(0, 2 - floor(log10(abs(value)))) if value and isfinite(value) else 0


def seconds(value: float | None, like: float | None = None) -> str:
    """Return a time in ms below one second, else in s; `like` is the time whose unit a row shares."""
    if value is None:
        return ""
    like = value if like is None else like
    return f"{number(value * 1e3, like * 1e3)} ms" if abs(like) < 1 else f"{number(value, like)} s"


def listing(
    facts: Mapping[str, Any], bare: tuple[str, ...] = (), named: tuple[str, ...] | None = None
) -> str:
    """Return plain facts of an object on one line: values of `bare` alone, those of `named` as "name value".

    `named` None means every other one. What is unknown (null), nested or a list is left out; hashes are
    shortened.
    """
    others = [key for key in facts if key not in bare] if named is None else list(named)
    alone = [_fact(facts[key]) for key in bare if _plain(facts.get(key))]
    pairs = [f"{key.replace('_', ' ')} {_fact(facts[key])}" for key in others if _plain(facts.get(key))]
    return clean(", ".join([*alone, *pairs]))


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float)) and value != ""


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, str) and len(value) == 64 and all(c in "0123456789abcdef" for c in value):
        return value[:12]
    return str(value)
