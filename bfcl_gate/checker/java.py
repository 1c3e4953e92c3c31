"""Java source text -> values, as BFCL reads it. What is no literal of the declared type stays text."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from bfcl_gate.checker.source import WHOLE, enclosed, line_end, number_or_text, skip_blanks, whole

TYPES: dict[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList"), list),
    "boolean": bool,
    "HashMap": dict,
}

_LONG = re.compile(r"(-?\d+)[lL]\n?")
_DOUBLE = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?\n?")
_FLOAT = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)[fF]\n?")

_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{")
_LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(")
_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_LIST_BODY = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*")
_ADD = re.compile(r"add\(")
_MAP = re.compile(r"new\s+HashMap<")
_MAP_END = re.compile(r">\s*\(\)")
_MAP_BODY = re.compile(r">\s*\(\)\s*\{\s*\{?\s*")
_PUT = re.compile(r'put\("')


def read(text: str, kind: str, element: str | None = None) -> Any:
    """Return the value of a literal of the declared type (`element`: of its elements), else the text."""
    if kind in ("Array", "ArrayList"):
        return (_array if kind == "Array" else _array_list)(text, element)
    return _SCALARS[kind](text)


def _integer(text: str) -> Any:
    return whole(text) if WHOLE.fullmatch(text) else text


def _long(text: str) -> Any:
    found = _LONG.fullmatch(text)
    return whole(found[1]) if found else text


def _float(text: str) -> Any:
    found = _FLOAT.fullmatch(text)
    return float(found[1]) if found else text


def _double(text: str) -> Any:
    return float(text) if _DOUBLE.fullmatch(text) else text


def _boolean(text: str) -> Any:
    return text == "true" if text in ("true", "false") else text


def _unchanged(text: str) -> str:
    return text


def _array(text: str, element: str | None) -> Any:
    inside = next(enclosed(text, _ARRAY, "}"), None)
    if inside is None:
        return text
    return [_element(item, element) for part in inside.split(",") if (item := part.strip())]


def _array_list(text: str, element: str | None) -> Any:
    items = next(enclosed(text, _LIST_OF, "))", least=1), None)
    if items is not None:
        return [_list_element(item.strip(), element) for item in items.split(",")]
    body = _list_body(text)
    if body is not None:
        return [_list_element(item.strip(), element) for item in enclosed(body, _ADD, ")", least=1)]
    return [] if _LIST.search(text) else text


def _list_body(text: str) -> str | None:
    """Return what stands between the double braces of the first list that has them, over any lines."""
    last = text.rfind("}}")
    for begin in _LIST_BODY.finditer(text):
        at = begin.end()
        if last > at:
            return text[at : text.find("}}", at + 1)]
        if last == at and text[at - 1].isspace():
            return ""
    return None


def _list_element(text: str, element: str | None) -> Any:
    """Text elements lose their first and last character, whatever these are."""
    return text[1:-1] if element in ("String", "char") else _element(text, element)


def _element(text: str, element: str | None) -> Any:
    return read(text, element) if element else _untyped(text)


def _hash_map(text: str) -> Any:
    """The first `new HashMap<` decides: whatever a later one could match, it matches too."""
    head = _MAP.search(text)
    body = _MAP_BODY.search(text, head.end()) if head else None
    end = text.find("}", body.end()) if body else -1
    if body and end >= 0:
        return {key: _untyped(value.strip()) for key, value in _puts(text[body.end() : end])}
    return {} if _names_empty_map(text) else text


def _names_empty_map(text: str) -> bool:
    """Whether some `new HashMap<` is followed by a `>()` that begins on the same line."""
    end = None
    for head in _MAP.finditer(text):
        if end is None or end.start() < head.end():
            end = _MAP_END.search(text, head.end())
        if end is None:
            return False
        if text.find("\n", head.end(), end.start()) < 0:
            return True
    return False


def _puts(body: str) -> Iterator[tuple[str, str]]:
    """Yield key and value text of every put. Where one fails, so does every later one on its line."""
    at, barren = 0, -1
    while begin := _PUT.search(body, at):
        at = begin.end()
        if at <= barren:
            continue
        if span := _put_span(body, at):
            key_end, value, end = span
            yield body[at:key_end], body[value:end]
            at = end + 1
        else:
            barren = line_end(body, at)


def _put_span(body: str, key: int) -> tuple[int, int, int] | None:
    """Return where the key ends, the value begins and ends.

    The key ends at the first `",` of its line after which a `)` follows on the line of the value. That can
    only be the first of all, or the last where nothing but blanks stand between it and the line's end.
    """
    end_of_line = line_end(body, key)
    for key_end in (body.find('",', key, end_of_line), body.rfind('",', key, end_of_line)):
        if key_end >= 0:
            value = skip_blanks(body, key_end + 2)
            end = body.find(")", value, line_end(body, value))
            if end >= 0:
                return key_end, value, end
    return None


def _untyped(text: str) -> Any:
    """Return the value of a literal whose type is not declared."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    for convert in (_long, _float):
        value = convert(text)
        if value is not text:
            return value
    return number_or_text(text)


_SCALARS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("byte", "short", "integer"), _integer),
    **dict.fromkeys(("char", "String", "any"), _unchanged),
    "long": _long,
    "float": _float,
    "double": _double,
    "boolean": _boolean,
    "HashMap": _hash_map,
}
