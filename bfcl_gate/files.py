"""Files somebody else wrote: opened only where they are files, read as UTF-8, parsed as JSON.

What cannot be read is refused in words for the person who named the file.
"""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from bfcl_gate.errors import InputError

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"(\xb5/\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_WIDE = (b"\xff\xfe", b"\xfe\xff")

_LEAST, _MOST = -(2**63), 2**64 - 1
_MOST_DIGITS = 20

MAX_DEPTH = 100
"""Levels of nesting that nothing of use here has; code that follows a value down stays far from the recursion limit."""


def read_bytes(path: Path, expected: str) -> bytes:
    """Return what a file on a disk holds; `expected` says in the message what should be there.

    Raises InputError for a path that is missing, a folder, a pipe or device (which might never end), or
    unreadable.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path}: this is a folder; expected {expected}. Name the file.")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: this is a pipe or a device; expected {expected}, as a file on a disk.")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file; expected {expected}. Check the path.") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected {expected}.") from error


def read_text(path: Path, expected: str) -> str:
    """Return the text of a UTF-8 file, a byte order mark left out. Raises InputError naming the line."""
    return _decoded(path, read_bytes(path, expected), expected)


def read_lines(path: Path, expected: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines that are not blank. Raises InputError naming the line."""
    for number, line in enumerate(read_text(path, expected).split("\n"), start=1):
        if line.strip():
            yield number, line


def parse_object(text: str, path: Path, line: int, expected: str, *, plain: bool = False) -> dict[str, Any]:
    """Return the JSON object that `text`, which begins in that line of the file, holds. Raises InputError.

    `plain` is for what this tool wrote itself: it raises too where a number is none of JSON or has more than 64 bits
    (NaN, 1e999, 10**400), and for values nested more than MAX_DEPTH deep.
    """
    try:
        value = plain_json(text) if plain else json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}: column {error.colno}"
        raise InputError(f"{place} is not valid JSON ({error.msg}); expected {expected}.") from error
    except RecursionError as error:
        raise InputError(f"{path}:{line}: the JSON is nested too deeply; expected {expected}.") from error
    except NumberError as error:
        raise InputError(f"{path}: holds the number {error}; expected {expected}.") from error
    except ValueError as error:  # Python refuses to read integers of thousands of digits
        raise InputError(f"{path}:{line}: a number has too many digits; expected {expected}.") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}:{line}: the JSON is no object; expected {expected}.")
    return value


def too_deep(value: Any) -> bool:
    """Return whether a JSON value has more than MAX_DEPTH levels of objects and arrays."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def is_unicode(text: str) -> bool:
    """Return whether a text has a UTF-8 form: one with half a surrogate pair (\\ud800) or undecoded bytes has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def fits(value: Any, types: tuple[type, ...]) -> bool:
    """Return whether a JSON value is of one of the types (a boolean is no number) and, where a number, of 64 bits."""
    return type(value) in types and (type(value) is not int or _LEAST <= value <= _MOST)


class NumberError(ValueError):
    """A number that JSON does not have or that is not kept exactly; the message is the number, with what is wrong."""


def plain_json(text: str) -> Any:
    """Return a JSON value of finite numbers of 64 bits, nested no deeper than MAX_DEPTH.

    Raises JSONDecodeError for what is no JSON, NumberError for another number, RecursionError for deeper ones.
    """
    value = _PLAIN.decode(text)
    if too_deep(value):
        raise RecursionError(f"the JSON is nested more than {MAX_DEPTH} levels deep")
    return value


def plain_decoder(
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> json.JSONDecoder:
    """Return a decoder that raises NumberError for numbers that are infinite, none of JSON, or of more than 64 bits."""
    return json.JSONDecoder(
        object_pairs_hook=object_pairs_hook,
        parse_constant=_refused,
        parse_float=_finite,
        parse_int=_narrow,
    )


def _refused(name: str) -> NoReturn:
    raise NumberError(f"{name}, which is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NumberError(f"{text[:40]}, which is too large")
    return value


def _narrow(text: str) -> int:
    if len(text) > _MOST_DIGITS or not _LEAST <= (value := int(text)) <= _MOST:
        raise NumberError(f"{text[:40]}, which needs more than 64 bits")
    return value


_PLAIN = plain_decoder()


def _decoded(path: Path, data: bytes, expected: str) -> str:
    for start, name in _COMPRESSED.items():
        if data.startswith(start):
            raise InputError(f"{path}: is compressed ({name}); unpack it first. Expected {expected}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        hint = " It looks like UTF-16." if data.startswith(_WIDE) else ""
        raise InputError(
            f"{path}:{line}: byte {column} of the line is not valid UTF-8; expected {expected}.{hint} Save the "
            "file as UTF-8."
        ) from error
