"""Syntaxes that mark their JSON calls: with tags around them (Frame), or behind the tool's name (Named)."""

import re
from dataclasses import dataclass
from typing import Literal

from bfcl_gate.model.toolcalls.json_calls import USUAL, Keys, read_arguments, read_calls
from bfcl_gate.model.toolcalls.records import Block, Source
from bfcl_gate.model.toolcalls.scan import skip_space

_FENCE = re.compile(r"`{3}[\w-]*[ \t]*\n?")
_LONGEST_OPENER = 300  # characters within which the opener of a call, name included, is complete


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Markers around JSON calls: one object, one array of them, or any number in either form."""

    opener: re.Pattern[str]
    closer: str | None
    shape: Literal["object", "array", "any"]
    keys: Keys = USUAL


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
    exact = opener.groupdict().get("exact", "") is not None or opener.end() == len(text)
    return Block(
        start=opener.start(),
        end=ends[-1],
        attempts=tuple(calls.attempts),
        native=calls.exact and whole and exact,
        error=calls.error,
    )
