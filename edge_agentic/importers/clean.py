"""The last pass over every value of a row: text that no server could be sent is replaced (R17), colours are
kept or taken out (R16), and whole numbers that the MLPerf loader cannot read lose their last digits."""

import re
from typing import Any

from edge_agentic.importers.normal import Notes

_UNSENDABLE = re.compile("[\ud800-\udfff\x00]")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def clean(value: Any, notes: Notes, *, strip_ansi: bool) -> Any:
    """Return a JSON value with every text and number clean; nothing else of it changes."""
    if isinstance(value, str):
        return _text(value, notes, strip_ansi)
    if isinstance(value, list):
        return [clean(each, notes, strip_ansi=strip_ansi) for each in value]
    if isinstance(value, dict):
        return {
            _text(key, notes, strip_ansi): clean(each, notes, strip_ansi=strip_ansi)
            for key, each in value.items()
        }
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return _narrow(value, notes)
    return value


def _narrow(value: int, notes: Notes) -> float | str:
    """Return a whole number of more than 64 bits, as bounds in tool schemas may be, as JSON readers take it."""
    notes.remark(
        "Whole numbers of more than 64 bits are written as floating-point numbers: no loader reads them."
    )
    try:
        return float(value)
    except OverflowError:
        return str(value)


def _text(text: str, notes: Notes, strip_ansi: bool) -> str:
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        notes.repair("R16")
        text = _ANSI.sub("", text) if strip_ansi else text
    if _UNSENDABLE.search(text):
        notes.repair("R17")
        text = _UNSENDABLE.sub("\ufffd", text)
    return text
