"""What each character of an answer is: framing, argument or free text.

Arguments are the values of a call's arguments; free text is content and reasoning. All the rest is framing: markup,
names, keys, brackets, the end of the answer. A model has little choice in framing, so what drafts get right there
says nothing of the rest.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bfcl_gate.model.chat import Tool
from bfcl_gate.model.toolcalls.endings import content_end
from bfcl_gate.model.toolcalls.parse import spans_of
from bfcl_gate.model.toolcalls.records import Attempt, Block

FRAMING, ARGUMENT, FREE_TEXT = 0, 1, 2


def parts_of(
    text: str, tools: Sequence[Tool], *, syntax: str = "auto", prefix: str = "", finish: str = "stop"
) -> bytearray:
    """Return one of FRAMING, ARGUMENT, FREE_TEXT for each character of an answer; arguments as `parse_tool_calls`."""
    blocks, thoughts = spans_of(text, tools, syntax=syntax, prefix=prefix, finish=finish)
    parts = bytearray(len(text))  # FRAMING
    taken = sorted([(b.start, b.end) for b in blocks] + [(t.start, t.end) for t in thoughts])
    begins = [0, *(end for _, end in taken), *(t.inner_start for t in thoughts)]
    ends = [*(start for start, _ in taken), content_end(text), *(t.inner_end for t in thoughts)]
    for begin, end in zip(begins, ends, strict=True):
        _fill(parts, *_said(text, begin, end), FREE_TEXT)
    for block in blocks:
        for begin, end in _arguments(text, block):
            _fill(parts, begin, end, ARGUMENT)
    return parts


def _said(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return text[begin:end] without the white space around it, as a stretch of the text."""
    stretch = text[begin : max(begin, end)]
    return end - len(stretch.lstrip()), begin + len(stretch.rstrip())


def _fill(parts: bytearray, begin: int, end: int, part: int) -> None:
    if begin < end:
        parts[begin:end] = bytes([part]) * (end - begin)


def _arguments(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Yield where the values of a block's calls stand; what cannot be read is a value as a whole."""
    ends = [*(attempt.offset for attempt in block.attempts[1:]), block.end]
    for attempt, end in zip(block.attempts, ends, strict=True):
        if attempt.arguments is not None:
            yield from _values(text, attempt, end)
        elif (place := text.find(attempt.raw_arguments, attempt.offset, end)) >= 0:
            yield place, place + len(attempt.raw_arguments)


def _values(text: str, attempt: Attempt, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the values of a readable call stand: each behind its key, in the order of the arguments."""
    position = attempt.offset
    for is_value, leaf in _leaves(attempt.arguments):
        found = _find(text, leaf, position, end)
        if found is not None:
            position = found[1]
            if is_value:
                yield found


def _leaves(value: Any) -> Iterator[tuple[bool, Any]]:
    """Yield the keys (False, key) and the values (True, value) of nested arguments as they are written."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield False, key
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield True, value


def _find(text: str, leaf: Any, begin: int, end: int) -> tuple[int, int] | None:
    """Return where a key or value is written first, in any spelling of the syntaxes."""
    if isinstance(leaf, str):
        spellings = {
            leaf,
            json.dumps(leaf, ensure_ascii=False)[1:-1],
            json.dumps(leaf)[1:-1],
            repr(leaf)[1:-1],
        }
    else:
        spellings = {json.dumps(leaf), repr(leaf)}
    places = [(text.find(way, begin, end), -len(way)) for way in spellings if way]
    place, length = min((found for found in places if found[0] >= 0), default=(-1, 0))
    return None if place < 0 else (place, place - length)
