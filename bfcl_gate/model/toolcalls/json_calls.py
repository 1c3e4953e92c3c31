"""Calls written as JSON objects: read strictly where possible, else with the slips of lenient mode."""

from dataclasses import dataclass, field
from typing import Any

from bfcl_gate.model.toolcalls.literals import literal
from bfcl_gate.model.toolcalls.records import Attempt, Problem, Source
from bfcl_gate.model.toolcalls.scan import (
    Member,
    Reader,
    Unreadable,
    balanced_end,
    json_value,
    members,
    skip_space,
)

_NAMES = ("name", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters")
_READERS: tuple[Reader, ...] = (json_value, literal)


@dataclass(slots=True, kw_only=True)
class JsonObject:
    """An object as far as it could be read: `end` None when it could not, `strict` when it is plain JSON.

    `stuck` is where the last reader gave up.
    """

    start: int
    members: dict[str, Member]
    end: int | None
    strict: bool
    stuck: int


@dataclass(slots=True, kw_only=True)
class JsonCalls:
    """The calls of one payload, `array` when they are the elements of one.

    `exact` tells that each has the syntax's own form, `stated` that each says what its arguments are.
    """

    start: int
    end: int
    array: bool
    exact: bool = True
    stated: bool = True
    error: Problem | None = None
    attempts: list[Attempt] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The member names a syntax asks for."""

    name: str = "name"
    arguments: str = "arguments"


USUAL = Keys()


def read_object(text: str, position: int) -> JsonObject:
    """Read the object at `position`, also one that stands in an extra pair of braces."""
    if text.startswith("{", skip_space(text, position + 1)):
        return _doubly_braced(text, position)
    found: dict[str, Member] = {}
    stuck = position
    for read in _READERS:
        kept, found = found, {}
        strict = read is json_value
        try:
            end = members(text, position, read, found, loose=not strict)
        except Unreadable as problem:
            stuck = max(stuck, problem.position)
            found = found if len(found) >= len(kept) else kept
            continue
        return JsonObject(start=position, members=found, end=end, strict=strict, stuck=end)
    return JsonObject(start=position, members=found, end=None, strict=False, stuck=stuck)


def _doubly_braced(text: str, position: int) -> JsonObject:
    inner = skip_space(text, position + 1)
    if text.startswith("{", skip_space(text, inner + 1)):
        return JsonObject(start=position, members={}, end=None, strict=False, stuck=inner)
    inside = read_object(text, inner)
    closer = None if inside.end is None else skip_space(text, inside.end)
    closed = closer is not None and text.startswith("}", closer)
    end = closer + 1 if closer is not None and closed else None
    return JsonObject(start=position, members=inside.members, end=end, strict=False, stuck=inside.stuck)


def read_calls(
    source: Source, position: int, keys: Keys, *, closer: str | None = None, bare: bool = False
) -> JsonCalls | None:
    """Read an array of calls, or objects one after another, at `position`; None where neither stands.

    `closer` is what ends the block around the calls: without one ahead, an object that does not end is
    cut off, not malformed. Nothing marks `bare` JSON as a call, so there an object that cannot be read is
    an attempt only when it names a declared tool and states arguments.
    """
    text = source.text
    array = text.startswith("[", position)
    calls = JsonCalls(start=position, end=position, array=array)
    position = skip_space(text, position + 1) if array else position
    if not text.startswith(("{", "]") if array else "{", position):
        return None
    while text.startswith("{", position):
        item = read_object(text, position)
        calls.stated = calls.stated and _states_arguments(item)
        if item.end is None and bare and not (_name_of(item) in source.schemas and _arguments_of(item)):
            calls.end, calls.error = item.stuck, "invalid-json"
            return calls
        if item.end is None:
            _add_unreadable(source, calls, item, closer)
            return calls
        _add_call(source, calls, item, keys)
        calls.end = item.end
        position = _next_object(text, item.end, "," if array else ",;")
    if array:
        _end_array(source, calls, position)
    return calls


def _next_object(text: str, position: int, separators: str) -> int:
    """Step over one separator where another object follows it."""
    position = skip_space(text, position)
    if text[position : position + 1] in tuple(separators):
        following = skip_space(text, position + 1)
        return following if text.startswith("{", following) else position
    return position


def _end_array(source: Source, calls: JsonCalls, position: int) -> None:
    text = source.text
    if text.startswith(",", position):
        position = skip_space(text, position + 1)
        calls.exact = False
    if text.startswith("]", position):
        calls.end = position + 1
        return
    cut = position == len(text)
    calls.error = calls.error or ("truncated" if cut else "invalid-json")
    calls.exact = calls.exact and cut


def _add_unreadable(source: Source, calls: JsonCalls, item: JsonObject, closer: str | None) -> None:
    closed = balanced_end(source.text, item.start)
    cut = closed is None and (source.cut or closer is None or source.text.find(closer, item.start) < 0)
    calls.end = len(source.text) if closed is None else closed
    calls.error = calls.error or ("truncated" if cut else "invalid-json")
    _add_failed(source, calls, item, calls.end)


def _add_failed(source: Source, calls: JsonCalls, item: JsonObject, end: int) -> None:
    member = _arguments_of(item)
    offset = member.start if member else item.start
    attempt = source.failed(_name_of(item) or "", start=item.start, end=end, offset=offset)
    calls.attempts.append(attempt)


def _add_call(source: Source, calls: JsonCalls, item: JsonObject, keys: Keys) -> None:
    name, member = _name_of(item), _arguments_of(item)
    arguments = _as_arguments(member)
    exact = item.strict and keys.name in item.members and keys.arguments in item.members
    calls.exact = calls.exact and exact
    if name is None or arguments is None:
        calls.error = calls.error or "invalid-call"
        _add_failed(source, calls, item, item.end or item.start)
        return
    as_written = item.strict and member is not None and member.value is arguments
    calls.exact = calls.exact and as_written
    raw = source.text[member.start : member.end] if as_written and member else None
    offset = member.start if member else item.start
    calls.attempts.append(source.read(name, arguments, offset, raw))


def _name_of(item: JsonObject) -> str | None:
    for key in _NAMES:
        member = item.members.get(key)
        if member and member.end is not None and isinstance(member.value, str):
            return member.value
    return None


def _arguments_of(item: JsonObject) -> Member | None:
    return next((item.members[key] for key in _ARGUMENTS if key in item.members), None)


def _states_arguments(item: JsonObject) -> bool:
    member = _arguments_of(item)
    return member is not None and (member.end is None or member.value is not None)


def _as_arguments(member: Member | None) -> dict[str, Any] | None:
    """Return the arguments of a readable call: absent and null mean none, text is decoded once."""
    value = None if member is None else member.value
    if value is None:
        return {}
    if isinstance(value, str):
        value = _decoded(value)
    return value if isinstance(value, dict) else None


def _decoded(text: str) -> Any:
    start = skip_space(text, 0)
    for read in _READERS:
        try:
            value, end = read(text, start)
        except Unreadable:
            continue
        if skip_space(text, end) == len(text):
            return value
    return None


def read_arguments(source: Source, name: str, position: int, start: int) -> JsonCalls:
    """Read the call of a syntax that names the tool first and gives its arguments as a JSON object."""
    text = source.text
    calls = JsonCalls(start=position, end=position, array=False)
    if not text.startswith("{", position):
        calls.error = "truncated" if position == len(text) else "invalid-json"
        calls.attempts.append(source.failed(name, start=start, end=position, offset=position))
        return calls
    item = read_object(text, position)
    if item.end is None:
        closed = balanced_end(text, position)
        calls.end = len(text) if closed is None else closed
        calls.error = "truncated" if closed is None else "invalid-json"
        calls.attempts.append(source.failed(name, start=start, end=calls.end, offset=position))
        return calls
    arguments = {key: member.value for key, member in item.members.items()}
    raw = text[position : item.end] if item.strict else None
    calls.end, calls.exact = item.end, item.strict
    calls.attempts.append(source.read(name, arguments, position, raw))
    return calls
