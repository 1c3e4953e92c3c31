"""MLPerf's call extractor: JSON arrays of calls, else anything in prose that looks like `name(key=value)`."""

import ast
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bfcl_gate.checker.calls import Call
from bfcl_gate.checker.decode import dumps, loads
from bfcl_gate.checker.unscorable import NOT_JSON, UnscorableError

_NEVER_CALLS = frozenset(
    (
        *("print", "len", "str", "int", "float", "list", "dict", "set", "tuple", "type", "range"),
        *("isinstance", "enumerate", "zip", "map", "filter", "if", "for", "while", "with", "try", "except"),
        *("assert", "raise", "def", "class", "return", "import", "from"),
        *("Note", "Example", "Here", "This", "The", "For"),
    )
)
_START = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_SIGNATURE_PART = re.compile(r"[A-Za-z_]\w*(?:\s*:\s*\w+)?")
_MARKS = re.compile(r"[\\'\"()]")

_LONGEST_ARGUMENTS = 20_000
"""Longer than any possible answer; within it Python's parser is safe to use on hostile text."""

_MOST_CALLS = 1_000
"""A text with more calls is wrong whatever they are: no entry expects more than eight."""

_PASSES = 8
"""Openings that never close cost one pass over the text each. Without backslashes three passes settle all."""


def extract_calls(text: str) -> list[Call]:
    """Return the calls MLPerf finds in a text. Raises UnscorableError where its extractor dies."""
    text = text.strip()
    items = _items(text)
    if items and all(_is_structured(item) for item in items):
        return [_structured(item["function"]) for item in items]
    if items and all(isinstance(item, dict) and "name" in item for item in items):
        return [Call(name=item["name"], arguments=_decoded(item.get("arguments", {}))) for item in items]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model's odd escapes are no warning for the user
        return list(islice(_text_calls(text), _MOST_CALLS))


def has_structured_calls(text: str) -> bool:
    """Whether the text is a JSON array of OpenAI tool calls, which is all that counts on hallucination."""
    items = _items(text)
    return bool(items) and all(_is_structured(item) for item in items)


def _items(text: str) -> list[Any]:
    try:
        found = loads(text)
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _is_structured(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("function"), dict)


def _structured(function: dict[str, Any]) -> Call:
    """Arguments are decoded twice where the first time yields text again."""
    arguments = function.get("arguments", "{}")
    try:
        arguments = loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        arguments = {}
    return Call(name=function.get("name", ""), arguments=_decoded(arguments))


def _decoded(arguments: Any) -> Any:
    try:
        return loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return {}


def _text_calls(text: str) -> Iterator[Call]:
    closings = _Closings(text)
    consumed = 0
    for start in _START.finditer(text):
        if start.start() < consumed or start[1] in _NEVER_CALLS:
            continue
        closing = closings.of(start.end() - 1)
        if closing is None:
            continue
        consumed = closing + 1
        arguments = text[start.end() : closing].strip()
        if not arguments or not _is_signature(arguments):
            yield Call(name=start[1], arguments=_keywords(arguments))


class _Closings:
    """Where the parentheses of a text close, quotes and escapes minded, each read from its own opening."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[int, int | None] = {}
        self._passes = 0

    def of(self, opening: int) -> int | None:
        """Return the index of the matching `)`, None where there is none."""
        if opening not in self._known and self._passes < _PASSES:
            self._read_from(opening)
        return self._known.get(opening)

    def _read_from(self, opening: int) -> None:
        """Every parenthesis met outside quotes on the way closes where it would if read from itself."""
        quote, escaped = "", -1
        pending: list[int] = []
        for found in _MARKS.finditer(self._text, opening):
            mark, at = found.group(), found.start()
            if at == escaped:
                continue
            if quote:
                escaped = at + 1 if mark == "\\" else escaped
                quote = "" if mark == quote else quote
            elif mark in "'\"":
                quote = mark
            elif mark == "(":
                pending.append(at)
            elif mark == ")":
                self._known[pending.pop()] = at
                if not pending:
                    return
        self._passes += 1
        self._known.update(dict.fromkeys(pending))


def _is_signature(arguments: str) -> bool:
    parts = (part.strip() for part in arguments.split(","))
    return all(_SIGNATURE_PART.fullmatch(part) for part in parts if part)


def _keywords(arguments: str) -> dict[str, Any]:
    """Return the keyword arguments: literals as values, other expressions as source text, in JSON's types."""
    if not arguments:
        return {}
    if len(arguments) > _LONGEST_ARGUMENTS:
        return {"_raw": arguments}
    try:
        values = _literals(arguments)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {"_raw": arguments}
    found: dict[str, Any] = loads(dumps(values))
    return found


def _literals(arguments: str) -> dict[str, Any]:
    tree = ast.parse(f"dict({arguments})", mode="eval").body
    keywords = tree.keywords if isinstance(tree, ast.Call) else []
    return {keyword.arg: _literal(keyword.value) for keyword in keywords if keyword.arg is not None}


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, SyntaxError):
        return ast.unparse(node)
    except TypeError as error:  # a list as a key; the reference dies on it
        raise UnscorableError(NOT_JSON) from error
