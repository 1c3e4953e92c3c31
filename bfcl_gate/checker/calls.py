"""Whole calls against the possible answer of an entry: counts, names, parameters."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bfcl_gate.checker import java, javascript
from bfcl_gate.checker.unscorable import (
    ARGUMENTS_NOT_AN_OBJECT,
    NOT_JSON,
    NUMBER_OUT_OF_RANGE,
    UnscorableError,
)
from bfcl_gate.checker.values import OPTIONAL, Declared, value_error
from bfcl_gate.dataset import Entry
from bfcl_gate.tools import tool_name

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as a model made it: decoded, not yet known to be sensible."""

    name: Any
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class _Language:
    types: Mapping[str, type]
    read: Callable[[Any, str, str | None], Any] | None = None
    not_text: str | None = None


_PYTHON = _Language(
    types={
        "string": str,
        "integer": int,
        "float": float,
        "boolean": bool,
        "array": list,
        "tuple": list,
        "dict": dict,
        "any": str,
    }
)
_BY_SUBSET = {
    "simple_java": _Language(types=java.TYPES, read=java.read, not_text="type_error:java"),
    "simple_javascript": _Language(types=javascript.TYPES, read=javascript.read, not_text="type_error:js"),
}
_WITH_ELEMENTS = ("array", "tuple", "Array", "ArrayList")


def calls_error(entry: Entry, calls: Sequence[Call]) -> str | None:
    """Return the official error type, or None where the calls are the expected ones."""
    if "parallel" in entry.subset:
        return _any_order_error(entry, calls)
    checker = "multiple" if "multiple" in entry.subset else "simple"
    if len(calls) != 1:
        return f"{checker}_function_checker:wrong_count"
    answer = entry.answers[0]
    function = _function(entry, answer) if checker == "multiple" else entry.functions[0]
    return _call_error(entry.subset, function, answer, calls[0])


def _any_order_error(entry: Entry, calls: Sequence[Call]) -> str | None:
    """Each expected call takes the first call left that satisfies it and never gives it back."""
    if len(calls) != len(entry.answers):
        return "parallel_function_checker_no_order:wrong_count"
    left = list(calls)
    for answer in entry.answers:
        function = _function(entry, answer)
        errors = (_call_error(entry.subset, function, answer, call) for call in left)
        taken = next((index for index, error in enumerate(errors) if error is None), None)
        if taken is None:
            return "parallel_function_checker_no_order:cannot_find_match"
        del left[taken]
    return None


def _function(entry: Entry, answer: Mapping[str, Any]) -> Schema:
    name = next(iter(answer))
    return next(function for function in entry.functions if function["name"] == name)


def _call_error(subset: str, function: Schema, answer: Mapping[str, Any], call: Call) -> str | None:
    if not isinstance(call.name, Hashable):
        raise UnscorableError(NOT_JSON)
    if call.name != tool_name(function["name"]):
        return "simple_function_checker:wrong_func_name"
    required = function["parameters"]["required"]
    if not isinstance(call.arguments, dict):
        return _not_an_object_error(call.arguments, required)
    if any(name not in call.arguments for name in required):
        return "simple_function_checker:missing_required"
    return _arguments_error(subset, function, next(iter(answer.values())), call.arguments)


def _not_an_object_error(arguments: Any, required: Sequence[str]) -> str:
    """The reference looks for the required names in a list or text too, and dies on what passes that."""
    if isinstance(arguments, (list, str)) and any(name not in arguments for name in required):
        return "simple_function_checker:missing_required"
    raise UnscorableError(ARGUMENTS_NOT_AN_OBJECT)


def _arguments_error(
    subset: str, function: Schema, alternatives: Mapping[str, Sequence[Any]], arguments: Mapping[str, Any]
) -> str | None:
    properties = function["parameters"]["properties"]
    for name, value in arguments.items():
        if name not in properties or name not in alternatives:
            return "simple_function_checker:unexpected_param"
        if error := _argument_error(subset, properties[name], alternatives[name], value):
            return error
    if any(name not in arguments and OPTIONAL not in allowed for name, allowed in alternatives.items()):
        return "simple_function_checker:missing_optional"
    return None


def _argument_error(subset: str, schema: Schema, alternatives: Sequence[Any], value: Any) -> str | None:
    language = _BY_SUBSET.get(subset, _PYTHON)
    kind = schema["type"]
    element = schema["items"]["type"] if kind in _WITH_ELEMENTS else None
    if language.read is None:
        value = _promoted(value) if kind == "float" else value
    elif type(value) is not str:
        return language.not_text
    else:
        value = language.read(value, kind, element)
    declared = Declared(value=language.types[kind], element=language.types[element] if element else None)
    return value_error(value, alternatives, declared)


def _promoted(value: Any) -> Any:
    """An integer is good enough for a float parameter, though not inside an array."""
    try:
        return float(value) if type(value) is int else value
    except OverflowError as error:
        raise UnscorableError(NUMBER_OUT_OF_RANGE) from error
