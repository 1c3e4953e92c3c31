"""A forgiving reader of literals: Python's, and JSON with the slips models make. It evaluates nothing.

It takes both quotes, real line breaks in strings, trailing commas, tuples (as lists), and the words of
both languages. Nesting is limited, every step moves forward, and no warning of the Python compiler about
an odd escape can arise, which is why this is not `ast.literal_eval`.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from bfcl_gate.model.toolcalls.scan import MAX_DEPTH, CutOff, Unreadable, members, next_item, skip_space

_MAX_DIGITS = 4300
_WORDS: Mapping[str, Any] = {
    "True": True,
    "False": False,
    "None": None,
    "true": True,
    "false": False,
    "null": None,
}
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:0(?!\d)|[1-9][\d_]*)?(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w.])", re.ASCII)
_STRING = re.compile(r"""(r)?("[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')""", re.DOTALL)
_TRIPLE = re.compile(r"(r)?(\"{3}|'{3})")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-7]{1,3}|.)",
    re.DOTALL,
)
_ESCAPED: Mapping[str, str] = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "a": "\a",
    "\n": "",
    "/": "/",
    "\\": "\\",
    "'": "'",
    '"': '"',
}


def literal(text: str, position: int, depth: int = 0) -> tuple[Any, int]:
    """Read the literal at `position`; returns it and its end. Raises Unreadable."""
    if depth > MAX_DEPTH:
        raise Unreadable(position)
    first = text[position : position + 1]
    if not first:
        raise CutOff(position)
    if first == "{":
        return _mapping(text, position, depth)
    if first in ("[", "("):
        return _sequence(text, position, depth)
    if first in ('"', "'") or (first == "r" and text[position + 1 : position + 2] in ('"', "'")):
        return _strings(text, position)
    word = _WORD.match(text, position)
    if word and word.group() in _WORDS:
        return _WORDS[word.group()], word.end()
    return _number(text, position)


def _mapping(text: str, position: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    end = members(text, position, lambda inner, at: literal(inner, at, depth + 1), found, loose=True)
    return {key: member.value for key, member in found.items()}, end


def _sequence(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    closer = "]" if text[position] == "[" else ")"
    items: list[Any] = []
    position = skip_space(text, position + 1)
    while not text.startswith(closer, position):
        item, position = literal(text, position, depth + 1)
        items.append(item)
        position = next_item(text, position, closer, loose=True)
    return items, position + 1


def _strings(text: str, position: int) -> tuple[str, int]:
    """Read one string, or several that stand side by side and make one, as in Python."""
    parts: list[str] = []
    end = position
    while True:
        part = _string(text, position)
        if part is None:
            break
        parts.append(part[0])
        end = part[1]
        position = skip_space(text, end)
    if not parts:
        raise Unreadable(position)
    return "".join(parts), end


def _string(text: str, position: int) -> tuple[str, int] | None:
    if triple := _TRIPLE.match(text, position):
        close = _unescaped(text, triple.group(2), triple.end())
        if close is None:
            raise CutOff(position)
        body, end = text[triple.end() : close], close + 3
        return (body if triple.group(1) else unescape(body)), end
    match = _STRING.match(text, position)
    if match is None:
        if text[position : position + 1] in ('"', "'"):
            raise CutOff(position)
        return None
    body = match.group(2)[1:-1]
    return (body if match.group(1) else unescape(body)), match.end()


def _unescaped(text: str, quotes: str, position: int) -> int | None:
    for found in re.compile(rf"\\.|{quotes}", re.DOTALL).finditer(text, position):
        if found.group() == quotes:
            return found.start()
    return None


def unescape(body: str) -> str:
    """Resolve the escapes of Python and JSON; an unknown one keeps its backslash, as in Python."""
    return _ESCAPE.sub(_unescape_one, body) if "\\" in body else body


def _unescape_one(match: re.Match[str]) -> str:
    escape = match.group()[1:]
    if escape in _ESCAPED:
        return _ESCAPED[escape]
    if len(escape) == 11:  # a surrogate pair, one character of JSON
        return chr(0x10000 + ((int(escape[1:5], 16) - 0xD800) << 10) + int(escape[7:], 16) - 0xDC00)
    if escape[0] in "uUx" and len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code <= 0x10FFFF else match.group()
    if escape.isdigit() and escape.isascii() and escape[0] in "01234567":
        return chr(int(escape, 8))
    return match.group()


def _number(text: str, position: int) -> tuple[int | float, int]:
    match = _NUMBER.match(text, position)
    digits = match.group() if match else ""
    if match is None or not any(c.isdigit() for c in digits) or len(digits) > _MAX_DIGITS:
        raise Unreadable(position)
    try:
        return int(digits), match.end()
    except ValueError:
        pass
    try:
        number = float(digits)
    except ValueError:
        raise Unreadable(position) from None
    if math.isinf(number):
        raise Unreadable(position)
    return number, match.end()
