"""JavaScript source text -> values, as BFCL reads it. What is no literal of the declared type stays text."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from bfcl_gate.checker.source import WHOLE, enclosed, line_end, number_or_text, skip_blanks, whole
from bfcl_gate.checker.unscorable import UnscorableError

TYPES: dict[str, type] = {
    **dict.fromkeys(("integer", "Bigint"), int),
    **dict.fromkeys(("String", "any"), str),
    "float": float,
    "Boolean": bool,
    "dict": dict,
    "array": list,
}

_DECIMAL = re.compile(r"-?\d+(\.\d+)?\n?")
_BIGINT = re.compile(r"-?\d+n\n?")
_BRACKET = re.compile(r"\[")
_ARRAY = re.compile(r"\[|new\s+Array\(")
_GRID = re.compile(r"(?:\[|new\s+Array\()\s*\[")


def read(text: str, kind: str, element: str | None = None) -> Any:
    """Return the value of a literal of the declared type (`element`: of its elements), else the text."""
    return _array(text, element) if kind == "array" else _SCALARS[kind](text)


def _string(text: str) -> str:
    quoted = any(text.startswith(quote) and text.endswith(quote) for quote in "\"'")
    return text[1:-1] if quoted else text


def _integer(text: str) -> Any:
    return whole(text) if WHOLE.fullmatch(text) else text


def _bigint(text: str) -> Any:
    """BFCL drops the last character, so with a newline after the `n` its own reader dies."""
    return whole(text[:-1]) if _BIGINT.fullmatch(text) else text


def _float(text: str) -> Any:
    return float(text) if _DECIMAL.fullmatch(text) else text


def _boolean(text: str) -> Any:
    return text == "true" if text in ("true", "false") else text


def _unchanged(text: str) -> str:
    return text


def _array(text: str, element: str | None) -> Any:
    code = text.strip()
    rows = _grid(code)
    if rows is not None:
        return rows
    items = _items(code)
    if items is None:
        return code
    try:
        return [read(item, element) if element else _untyped(item) for item in items]
    except UnscorableError:
        return code


def _items(code: str) -> list[str] | None:
    """Return the text of the elements of an array that stands at the start and ends on the same line."""
    opening = _ARRAY.match(code)
    if opening is None:
        return None
    end = code.find(_closer(code), opening.end(), line_end(code, opening.end()))
    inside = code[opening.end() : end].strip()
    if end < 0:
        return None
    return [item.strip() for item in inside.split(",")] if inside else []


def _closer(code: str) -> str:
    return "]" if code.startswith("[") else ")"


def _grid(code: str) -> list[list[Any]] | None:
    """Return the rows of an array of arrays, None where the text does not start with one."""
    end = _grid_end(code)
    if end is None:
        return None
    rows = [row.strip() for row in enclosed(code[:end], _BRACKET, "]")]
    if rows and rows[0].startswith("["):
        rows[0] = rows[0][1:]
    return [[_untyped(item) for item in row.split(",")] for row in rows]


def _grid_end(code: str) -> int | None:
    """Return where the array of arrays at the start of the text ends.

    A row ends at the first `]` of its line after which the next row (`, [`) or the end of the whole follows.
    """
    opening = _GRID.match(code)
    at = opening.end() if opening else len(code)
    while (bracket := code.find("]", at, line_end(code, at))) >= 0:
        after = skip_blanks(code, bracket + 1)
        if code.startswith(_closer(code), after):
            return after + 1
        following = skip_blanks(code, after + 1)
        is_row = code.startswith(",", after) and code.startswith("[", following)
        at = following + 1 if is_row else bracket + 1
    return None


def _dict(text: str) -> Any:
    code = text.strip()
    end = code.find("}", 0, line_end(code, 0))
    if not code.startswith("{") or end < 0:
        return code
    return {key.strip().strip("'\""): _member(value.strip()) for key, value in _pairs(code[1:end])}


def _member(text: str) -> Any:
    """A quoted number or boolean becomes one: the quotes go first."""
    if text.startswith("[") and text.endswith("]"):
        return _array(text, None)
    return _untyped(text.strip("'\""))


def _pairs(content: str) -> Iterator[tuple[str, str]]:
    """Yield key and value text. `content` is one line."""
    at = 0
    while at < len(content):
        if content[at] == ":":
            at += 1
            continue
        colon = content.find(":", at)
        if colon < 0:
            return
        value = skip_blanks(content, colon + 1)
        end, following = _value_end(content, value)
        yield content[at:colon], content[value:end]
        at = following


def _value_end(content: str, start: int) -> tuple[int, int]:
    """Return where the value ends and where the next key begins.

    A comma ends the value when a colon follows before the next comma, with something in front of it.
    """
    comma = content.find(",", start)
    while comma >= 0:
        next_comma = content.find(",", comma + 1)
        colon = content.rfind(":", comma + 1, len(content) if next_comma < 0 else next_comma)
        key = min(skip_blanks(content, comma + 1), colon - 1)
        if key > comma:
            return comma, key
        comma = next_comma
    return len(content), len(content)


def _untyped(text: str) -> Any:
    """Return the value of a literal whose type is not declared."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    bare = _string(text)
    return number_or_text(text) if bare is text else bare


_SCALARS: dict[str, Callable[[str], Any]] = {
    "String": _string,
    "any": _unchanged,
    "integer": _integer,
    "Bigint": _bigint,
    "float": _float,
    "Boolean": _boolean,
    "dict": _dict,
}
