"""One argument against the alternatives of the possible answer: first its type, then its value.

An alternative `""` marks a parameter that may be left out. Types are compared exactly (a bool is no int), and
a value counts as *variable* when the first real alternative has another type than the schema declares:
then the type of that alternative is accepted too and the comparison is literal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bfcl_gate.checker.unscorable import NOT_COMPARABLE, UnscorableError

OPTIONAL = ""

_DROPPED = str.maketrans("", "", " ,./-_*^")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the schema declares: the Python type of the value and, for lists, of its elements."""

    value: type
    element: type | None = None


def value_error(value: Any, alternatives: Sequence[Any], declared: Declared) -> str | None:
    """Return the official error type, or None where the value is one of the alternatives."""
    first = _first_type(alternatives)
    if error := _type_error(value, alternatives, declared):
        return error
    if first is not None and first is not declared.value:
        return None if value in alternatives else "value_error:others"
    if declared.value is dict:
        return _dict_error(value, alternatives)
    if declared.value is list and declared.element is dict:
        return _dicts_error(value, alternatives)
    if declared.value is list:
        return _list_error(value, alternatives)
    if declared.value is str:
        return _text_error(value, alternatives)
    return None if value in alternatives else "value_error:others"


def _first_type(alternatives: Sequence[Any]) -> type | None:
    return next((type(alternative) for alternative in alternatives if alternative != OPTIONAL), None)


def _type_error(value: Any, alternatives: Sequence[Any], declared: Declared) -> str | None:
    if type(value) is not declared.value:
        return None if type(value) is _first_type(alternatives) else "type_error:simple"
    element = declared.element
    if element is None or any(_elements_fit(value, alternative, element) for alternative in alternatives):
        return None
    return "type_error:nested" if type(value) is _first_type(alternatives) else "type_error:simple"


def _elements_fit(value: Any, alternative: Any, element: type) -> bool:
    """Whether all elements have the declared type or that of the alternative's first real element.

    An alternative that is no list (such as the optional marker) lets every list pass; its value is
    compared later.
    """
    if type(alternative) is not list:
        return True
    accepted = (element, _first_type(alternative))
    return all(type(item) in accepted for item in value)


def _text_error(value: str, alternatives: Sequence[Any]) -> str | None:
    accepted = [_plain(alternative) for alternative in alternatives if type(alternative) is str]
    return None if _plain(value) in accepted else "value_error:string"


def _list_error(value: Sequence[Any], alternatives: Sequence[Any]) -> str | None:
    accepted = [_plain_elements(alternative) for alternative in alternatives]
    return None if _plain_elements(value) in accepted else "value_error:list/tuple"


def _dicts_error(value: Sequence[Any], alternatives: Sequence[Any]) -> str | None:
    error: str | None = "list_dict_checker:unclear"
    for alternative in alternatives:
        if not isinstance(alternative, (list, str)):
            raise UnscorableError(NOT_COMPARABLE)
        error = _positions_error(value, alternative)
        if error is None:
            return None
    return error


def _positions_error(value: Sequence[Any], alternative: Sequence[Any]) -> str | None:
    if len(value) != len(alternative):
        return "value_error:list_dict_count"
    errors = (_dict_error(item, [expected]) for item, expected in zip(value, alternative, strict=True))
    return next((error for error in errors if error), None)


def _dict_error(value: Any, alternatives: Sequence[Any]) -> str | None:
    """The last real alternative's error is the one reported."""
    error: str | None = "dict_checker:unclear"
    for alternative in alternatives:
        if alternative != OPTIONAL:
            error = _members_error(value, alternative)
            if error is None:
                return None
    return error


def _members_error(value: Any, alternative: Any) -> str | None:
    """Each member is compared with its own list of alternatives; a missing key outranks a wrong value."""
    if not isinstance(value, dict) or not isinstance(alternative, dict):
        raise UnscorableError(NOT_COMPARABLE)
    error = next((error for key in value if (error := _member_error(key, value[key], alternative))), None)
    for key, allowed in alternative.items():
        if key not in value and OPTIONAL not in _iterable(allowed):
            return "value_error:dict_key"
    return error


def _member_error(key: str, member: Any, alternative: dict[str, Any]) -> str | None:
    if key not in alternative:
        return "value_error:dict_key"
    return None if _plain(member) in _plain_elements(alternative[key]) else "value_error:dict_value"


def _plain_elements(values: Any) -> list[Any]:
    return [_plain(value) for value in _iterable(values)]


def _iterable(values: Any) -> list[Any] | str:
    """Alternatives are lists; one published entry holds text instead, which BFCL reads letter by letter."""
    if not isinstance(values, (list, str)):
        raise UnscorableError(NOT_COMPARABLE)
    return values


def _plain(value: Any) -> Any:
    """Return text without blanks and `, . / - _ * ^`, in lower case, quotes alike; anything else as it is."""
    if type(value) is not str:
        return value
    return value.translate(_DROPPED).lower().replace("'", '"')
