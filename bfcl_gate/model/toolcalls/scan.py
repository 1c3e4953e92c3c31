"""Reading values at a position of untrusted text: each function is linear and bounded in depth."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

MAX_DEPTH = 64
"""Deepest nesting of a value that is read; deeper ones are unreadable, whatever the interpreter allows."""

_MAX_DIGITS = 4300  # CPython's own limit on int(text) from 3.11 on; earlier versions take quadratic time
_SPACE = re.compile(r"[ \t\r\n]*")
# Every part after the opening quote is optional, so a string that never ends is matched, not retried.
_DOUBLE = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
_SINGLE = r"'[^'\\]*(?:\\.[^'\\]*)*'?"
_JSON_TOKEN = re.compile(rf"{_DOUBLE}|[\[\](){{}}]", re.DOTALL)
_PYTHON_TOKEN = re.compile(rf"{_DOUBLE}|{_SINGLE}|[\[\](){{}}]", re.DOTALL)


class Unreadable(Exception):  # noqa: N818 - control flow between the readers, never seen outside
    """No value of the wanted kind stands here; `position` is where reading got stuck."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class CutOff(Unreadable):
    """The text ends inside the value."""


Reader = Callable[[str, int], tuple[Any, int]]
"""Reads the value that begins exactly at a position; returns it and its end, or raises Unreadable."""


@dataclass(slots=True, kw_only=True)
class Member:
    """A member of an object; `end` is None while, or because, its value could not be read."""

    start: int
    end: int | None = None
    value: Any = None


def skip_space(text: str, position: int) -> int:
    """Return the position of the next character that is not white space."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def stuck(text: str, position: int) -> Unreadable:
    """Return the problem to raise at `position`: cut off where the text ends there."""
    return CutOff(position) if position >= len(text) else Unreadable(position)


def expect(text: str, position: int, literal: str) -> int:
    """Return the position after `literal`; raises Unreadable where it does not stand."""
    if not text.startswith(literal, position):
        raise stuck(text, position)
    return position + len(literal)


def json_value(text: str, position: int) -> tuple[Any, int]:
    """Read one strict JSON value: no NaN, no number beyond a float's range, at most MAX_DEPTH deep."""
    try:
        value, end = _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as problem:
        raise Unreadable(problem.pos) from None
    except (ValueError, RecursionError):
        raise Unreadable(position) from None
    if _is_deep(value):
        raise Unreadable(position)
    return value, end


def members(
    text: str,
    position: int,
    read: Reader,
    found: dict[str, Member],
    *,
    read_key: Reader | None = None,
    loose: bool = False,
) -> int:
    """Read the object at `position` into `found` and return its end.

    When it raises Unreadable, `found` holds what was read, the offending member with `end` None.
    Keys are read as values are, or by `read_key`. `loose` allows a comma after the last member.
    """
    position = skip_space(text, expect(text, position, "{"))
    while not text.startswith("}", position):
        key, position = (read_key or read)(text, position)
        if not isinstance(key, str):
            raise Unreadable(position)
        position = skip_space(text, expect(text, skip_space(text, position), ":"))
        found[key] = Member(start=position)
        value, position = read(text, position)
        found[key] = Member(start=found[key].start, end=position, value=value)
        position = next_item(text, position, "}", loose=loose)
    return position + 1


def next_item(text: str, position: int, closer: str, *, loose: bool) -> int:
    """Step over the comma after an item; at the closer stay there. Raises Unreadable on anything else."""
    position = skip_space(text, position)
    if text.startswith(closer, position):
        return position
    position = skip_space(text, expect(text, position, ","))
    if text.startswith(closer, position) and not loose:
        raise Unreadable(position)
    return position


def balanced_end(text: str, position: int, limit: int | None = None, *, python: bool = False) -> int | None:
    """Return the end of the bracketed text at `position`, strings skipped; None when it is open at `limit`.

    It counts brackets without telling their kinds apart: it finds where something unreadable ends.
    """
    depth = 0
    tokens = _PYTHON_TOKEN if python else _JSON_TOKEN
    for token in tokens.finditer(text, position, len(text) if limit is None else limit):
        first = text[token.start()]
        if first in "[({":
            depth += 1
        elif first in "])}":
            depth -= 1
            if depth <= 0:
                return token.end()
    return None


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("more digits than a number may have")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("beyond the range of a float")
    return number


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_finite, parse_constant=_no_constant)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return True


def _children(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []
