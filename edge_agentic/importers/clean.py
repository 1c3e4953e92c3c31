"""The last pass over every text of a row: what no server could be sent is replaced (R17), colours are
kept or taken out (R16)."""

import re
from typing import Any

from edge_agentic.importers.normal import Notes

_UNSENDABLE = re.compile("[\ud800-\udfff\x00]")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def clean(value: Any, notes: Notes, *, strip_ansi: bool) -> Any:
    """Return a JSON value with every text clean; nothing else of it changes."""
    if isinstance(value, str):
        return _text(value, notes, strip_ansi)
    if isinstance(value, list):
        return [clean(each, notes, strip_ansi=strip_ansi) for each in value]
    if isinstance(value, dict):
        return {
            _text(key, notes, strip_ansi): clean(each, notes, strip_ansi=strip_ansi)
            for key, each in value.items()
        }
    return value


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
