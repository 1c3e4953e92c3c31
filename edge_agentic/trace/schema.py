"""One row against the JSON Schema that ships with the package (`trace_row.schema.json`), as fast as jsonschema can.

jsonschema makes a new validator for every value it meets, which is most of its time. Here each part of the
schema has one that is kept, references are replaced by what they name, and the part for the row's role is
taken at once. The verdict is the same (tested against the plain validator).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from edge_agentic.trace.problems import Problem
from edge_agentic.trace.rows import Row

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

SCHEMA_FILE = "trace_row.schema.json"
_ROLES = ("user", "assistant", "tool")
_REFERENCE = "#/$defs/"
# A schema's `type` is one name or a list of them, and no name is a part of another one.
_NAMES = {str: "string", dict: "object", list: "array", int: "integer", float: "number", type(None): "null"}


def check_row(row: Row) -> list[Problem]:
    """Return what the schema refuses in one row, with the field and what was expected there."""
    found = [_problem(row.line, error) for error in _validators()[_kind(row.value)].iter_errors(row.value)]
    # One finding a field: a number can be of the wrong type and too small at once.
    return list({problem.field: problem for problem in found}.values()) if len(found) > 1 else found


def _kind(value: Mapping[str, Any]) -> str:
    """Return the name of the definition that the schema chooses for a row."""
    if value.get("_type") == "dataset_metadata":
        return "metadata"
    role = value.get("role")
    return role if role in _ROLES else "other"


@cache
def _validators() -> "dict[str, Validator]":
    definitions = json.loads(files("edge_agentic.trace").joinpath(SCHEMA_FILE).read_text("utf-8"))["$defs"]
    keywords = _Keywords()
    return {
        name: keywords.part(_inlined(definitions[name], definitions))
        for name in (*_ROLES, "metadata", "other")
    }


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema in which every reference is the definition it names."""
    if isinstance(schema, list):
        return [_inlined(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].removeprefix(_REFERENCE)], definitions)
    return {key: _inlined(value, definitions) for key, value in schema.items()}


class _Keywords:
    """Keywords of Draft 2020-12 that keep the validator of each part of a schema.

    `type` first looks whether the value is of a class that JSON has a name for; whatever it cannot tell so is
    jsonschema's own to judge.
    """

    def __init__(self) -> None:
        from jsonschema import Draft202012Validator  # not needed by --help
        from jsonschema.validators import extend

        own = {"properties": self._properties, "items": self._items, "if": self._if, "type": self._type}
        self._judged_type: Any = Draft202012Validator.VALIDATORS["type"]
        # `extend` has no types in types-jsonschema; what it returns makes validators.
        self._make: Callable[[Any], Validator] = extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]
        self._parts: dict[int, Validator] = {}
        self._named_parts: dict[int, list[tuple[str, Validator]]] = {}

    def part(self, schema: Mapping[str, Any]) -> "Validator":
        """Return the one validator of a part of a schema that lives as long as this."""
        found = self._parts.get(id(schema))
        if found is None:
            found = self._parts[id(schema)] = self._make(schema)
        return found

    def _named(self, schemas: Mapping[str, Any]) -> "list[tuple[str, Validator]]":
        found = self._named_parts.get(id(schemas))
        if found is None:
            parts = [(name, self.part(schema)) for name, schema in schemas.items()]
            found = self._named_parts[id(schemas)] = parts
        return found

    def _properties(self, _: Any, schemas: Any, instance: Any, __: Any) -> "Iterator[ValidationError]":
        for name, validator in self._named(schemas) if isinstance(instance, dict) else ():
            if name in instance:
                for error in validator.iter_errors(instance[name]):
                    error.path.appendleft(name)
                    yield error

    def _items(self, _: Any, schema: Any, instance: Any, __: Any) -> "Iterator[ValidationError]":
        for index, value in enumerate(instance if isinstance(instance, list) else ()):
            for error in self.part(schema).iter_errors(value):
                error.path.appendleft(index)
                yield error

    def _if(self, _: Any, condition: Any, instance: Any, schema: Any) -> "Iterable[ValidationError]":
        branch = "then" if self.part(condition).is_valid(instance) else "else"
        return self.part(schema[branch]).iter_errors(instance)

    def _type(self, validator: Any, types: Any, instance: Any, schema: Any) -> Any:
        if _NAMES.get(type(instance), "?") in types:
            return ()
        return self._judged_type(validator, types, instance, schema)


def _problem(line: int, error: "ValidationError") -> Problem:
    """Turn a schema error into a finding. The schema's descriptions say what is expected."""
    field = _field(error.absolute_path)
    schema: Any = error.schema
    if error.validator != "required":
        expected = schema.get("description", "another value")
        return Problem(line=line, field=field, text=f"is {_shown(error.instance)}; expected {expected}.")
    # One error per missing name; the name itself is only in the error's prose.
    names: Any = error.validator_value
    missing = next(name for name in names if error.message.startswith(repr(name)))
    expected = schema.get("properties", {}).get(missing, {}).get("description", "a value")
    whole = f"{field}.{missing}" if field else missing
    return Problem(line=line, field=whole, text=f"is missing; expected {expected}.")


def _field(path: Iterable[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
