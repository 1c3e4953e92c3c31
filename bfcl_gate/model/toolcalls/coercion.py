"""Values written as bare text between tags, typed by the schema their tool declares for them."""

from collections.abc import Mapping
from typing import Any

from bfcl_gate.model.toolcalls.literals import literal
from bfcl_gate.model.toolcalls.scan import Reader, Unreadable, json_value, skip_space

_UNIONS = ("anyOf", "oneOf", "allOf")
_ALIASES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
    "none": "null",
}
_KINDS = {"string", "integer", "number", "boolean", "object", "array", "null"}


def coerce(text: str, schema: Any) -> tuple[Any, bool]:
    """Return the value `text` stands for under `schema`, and whether it has the declared type's exact form.

    A value that may be a string stays text unless its JSON has another declared type. What does not
    become the declared type stays what was written, so that a checker sees the wrong type.
    """
    kinds = kinds_of(schema)
    if kinds == {"string"} or not isinstance(schema, Mapping):
        return text, True
    value, read = _read(text, json_value)
    if read and not isinstance(value, str) and (not kinds or _fits(value, kinds)):
        return value, True
    if not kinds or "string" in kinds:
        return text, True
    if read:
        return value, False
    value, read = _read(text, literal)
    return (value if read and _fits(value, kinds) else text), False


def kinds_of(schema: Any, depth: int = 0) -> set[str]:
    """Return the JSON types a schema allows, from `type`, its unions, or its enum; empty means any."""
    if not isinstance(schema, Mapping) or depth > 8:
        return set()
    stated = schema.get("type")
    names = stated if isinstance(stated, list | tuple) else [stated]
    kinds = {_ALIASES.get(name.lower(), name.lower()) for name in names if isinstance(name, str)}
    for union in _UNIONS:
        branches = schema.get(union)
        for branch in branches if isinstance(branches, list | tuple) else ():
            kinds |= kinds_of(branch, depth + 1)
    values = schema.get("enum")
    if not kinds and isinstance(values, list | tuple) and all(isinstance(value, str) for value in values):
        return {"string"}
    if schema.get("nullable") is True and kinds:
        kinds.add("null")
    return kinds if kinds <= _KINDS else set()


def _read(text: str, read: Reader) -> tuple[Any, bool]:
    try:
        value, end = read(text, skip_space(text, 0))
    except Unreadable:
        return None, False
    return value, skip_space(text, end) == len(text)


def _fits(value: Any, kinds: set[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int):
        return bool(kinds & {"integer", "number"})
    if isinstance(value, float):
        return "number" in kinds
    if isinstance(value, dict):
        return "object" in kinds
    if isinstance(value, list):
        return "array" in kinds
    return ("null" if value is None else "string") in kinds
