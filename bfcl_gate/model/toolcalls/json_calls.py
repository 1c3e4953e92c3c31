"""Calls written as JSON objects: read strictly where possible, else with the slips of lenient mode."""

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from bfcl_gate.model.toolcalls.literals import literal
from bfcl_gate.model.toolcalls.records import Attempt, Block, Problem, Source
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
_FENCE = re.compile(r"`{3}[\w-]*[ \t]*\n?")
_LONGEST_OPENER = 300  # characters within which the opener of a call, name included, is complete
_READERS: tuple[Reader, ...] = (json_value, literal)


@dataclass(slots=True, kw_only=True)
class JsonObject:
    """An object as far as it could be read: `end` None when it could not, `strict` when it is plain JSON."""

    start: int
    members: dict[str, Member]
    end: int | None
    strict: bool


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


def read_object(text: str, position: int) -> JsonObject:
    """Read the object at `position`, also one that stands in an extra pair of braces."""
    if text.startswith("{", skip_space(text, position + 1)):
        return _doubly_braced(text, position)
    found: dict[str, Member] = {}
    for read in _READERS:
        kept, found = found, {}
        strict = read is json_value
        try:
            end = members(text, position, read, found, loose=not strict)
        except Unreadable:
            found = found if len(found) >= len(kept) else kept
            continue
        return JsonObject(start=position, members=found, end=end, strict=strict)
    return JsonObject(start=position, members=found, end=None, strict=False)


def _doubly_braced(text: str, position: int) -> JsonObject:
    inner = skip_space(text, position + 1)
    if text.startswith("{", skip_space(text, inner + 1)):
        return JsonObject(start=position, members={}, end=None, strict=False)
    inside = read_object(text, inner)
    closer = None if inside.end is None else skip_space(text, inside.end)
    closed = closer is not None and text.startswith("}", closer)
    end = closer + 1 if closer is not None and closed else None
    return JsonObject(start=position, members=inside.members, end=end, strict=False)


def read_calls(source: Source, position: int, keys: Keys, *, closer: str | None = None) -> JsonCalls | None:
    """Read an array of calls, or objects one after another, at `position`; None where neither stands.

    `closer` is what ends the block around the calls: without one ahead, an object that does not end is
    cut off, not malformed.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Markers around JSON calls: one object, one array of them, or objects one after another."""

    opener: re.Pattern[str]
    closer: str | None
    shape: Literal["object", "array", "objects"]
    keys: Keys = Keys()


def framed_calls(frame: Frame, source: Source, start: int) -> list[Block]:
    """Return the framed blocks from `start` on; an opener without JSON behind it is prose."""
    blocks: list[Block] = []
    while opener := frame.opener.search(source.text, start):
        block = _framed(frame, source, opener)
        start = opener.end() if block is None else block.end
        if block is not None:
            blocks.append(block)
    return blocks


def earliest(*readings: list[Block]) -> list[Block]:
    """Return the reading whose first block begins first: a form of calls inside another's block is text."""
    found = (blocks for blocks in readings if blocks)
    return min(found, key=lambda blocks: blocks[0].start, default=[])


def cut_opener(source: Source, start: int, end: int, *, inside: bool = False) -> Block | None:
    """Return a block without any call where the token limit came right behind its opening mark.

    With `inside` the limit may also have come inside the rest of the opener: a tag or a name.
    """
    rest = source.text[end : end + _LONGEST_OPENER].strip()
    begun = inside and (rest.startswith("<") or not any(map(str.isspace, rest)))
    near = len(source.text) - end < _LONGEST_OPENER
    if not source.cut or not near or (rest and not begun):
        return None
    return Block(start=start, end=len(source.text), attempts=(), native=True, error="truncated")


def _framed(frame: Frame, source: Source, opener: re.Match[str]) -> Block | None:
    text = source.text
    position = skip_space(text, opener.end())
    fence = _FENCE.match(text, position)
    if fence:
        position = skip_space(text, fence.end())
    calls = read_calls(source, position, frame.keys, closer=frame.closer)
    if calls is None:
        return cut_opener(source, opener.start(), opener.end())
    end = skip_space(text, calls.end)
    if fence and text.startswith("```", end):
        end = skip_space(text, end + 3)
    closed = frame.closer is not None and text.startswith(frame.closer, end)
    shaped = calls.array == (frame.shape == "array") and (frame.shape != "object" or len(calls.attempts) == 1)
    return Block(
        start=opener.start(),
        end=end + len(frame.closer) if frame.closer and closed else end,
        attempts=tuple(calls.attempts),
        native=calls.exact and shaped and not fence and (closed or end == len(text)),
        error=calls.error,
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Markers of calls that name the tool first: `opener` ends before the JSON and has a group `name`.

    `mark` begins every call: where the token limit cuts an opener, it shows that a call was begun. A group
    `exact` of the opener, where it has one, must match in the exact form. `closers` may follow the JSON,
    in order; `closed` tells that the exact form has the first of them or ends the text.
    """

    mark: str | None
    opener: re.Pattern[str]
    closers: tuple[str, ...] = ()
    closed: bool = True


def named_calls(form: Named, source: Source, start: int) -> list[Block]:
    """Return the blocks of such calls from `start` on."""
    text = source.text
    blocks: list[Block] = []
    while opener := form.opener.search(text, start):
        start = opener.end()
        if start == len(text) or text.startswith("{", skip_space(text, start)):
            blocks.append(_named(form, source, opener))
            start = blocks[-1].end
    begun = -1 if form.mark is None else text.find(form.mark, start)
    block = (
        cut_opener(source, begun, begun + len(form.mark), inside=True) if form.mark and begun >= 0 else None
    )
    return [*blocks, block] if block else blocks


def _named(form: Named, source: Source, opener: re.Match[str]) -> Block:
    text = source.text
    calls = read_arguments(source, opener.group("name"), skip_space(text, opener.end()), opener.start())
    ends = [calls.end]
    for closer in form.closers:
        position = skip_space(text, ends[-1])
        if text.startswith(closer, position):
            ends.append(position + len(closer))
    whole = len(ends) > 1 or not form.closed or skip_space(text, calls.end) == len(text)
    return Block(
        start=opener.start(),
        end=ends[-1],
        attempts=tuple(calls.attempts),
        native=calls.exact and whole and opener.groupdict().get("exact", "") is not None,
        error=calls.error,
    )
