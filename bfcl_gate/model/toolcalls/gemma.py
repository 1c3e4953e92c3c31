"""Gemma 4 and FunctionGemma: `call:f{a:1,b:<mark>text<mark>}` between markers, keys without quotes.

What stands between two string marks is taken as it is: it may hold commas and braces, and no escapes.
"""

import re
from dataclasses import dataclass
from typing import Any

from bfcl_gate.model.toolcalls.frames import cut_opener, earliest
from bfcl_gate.model.toolcalls.literals import literal
from bfcl_gate.model.toolcalls.records import Attempt, Block, Problem, Source
from bfcl_gate.model.toolcalls.scan import (
    MAX_DEPTH,
    CutOff,
    Member,
    Unreadable,
    members,
    next_item,
    skip_space,
    stuck,
)

_NAME = re.compile(r"call:([^\s{}]{1,200})\s{0,8}(?=\{)")
_KEY = re.compile(r"[^\s:{}\[\],<>\"']{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marks:
    opener: str
    closer: str
    string: str


_GEMMA4 = _Marks(opener="<|tool_call>", closer="<tool_call|>", string='<|"|>')
_FUNCTION_GEMMA = _Marks(opener="<start_function_call>", closer="<end_function_call>", string="<escape>")


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    return earliest(_find(_GEMMA4, source, start), _find(_FUNCTION_GEMMA, source, start))


def _find(marks: _Marks, source: Source, start: int) -> list[Block]:
    text = source.text
    blocks: list[Block] = []
    while (start := text.find(marks.opener, start)) >= 0:
        opened = start + len(marks.opener)
        name = _NAME.match(text, opened)
        block = _block(marks, source, start, name) if name else None
        block = block or cut_opener(source, start, opened, inside=True)
        start = block.end if block else opened
        if block:
            blocks.append(block)
    return blocks


def _block(marks: _Marks, source: Source, start: int, name: re.Match[str]) -> Block:
    text, offset = source.text, name.end()
    error: Problem | None = None
    attempt: Attempt
    try:
        arguments, end = _value(marks, text, offset, 0)
        attempt = source.read(name.group(1), arguments, offset)
    except Unreadable as problem:
        close = -1 if isinstance(problem, CutOff) else text.find(marks.closer, offset)
        error = "truncated" if close < 0 else "invalid-call"
        end = len(text) if close < 0 else close
        attempt = source.failed(name.group(1), start=name.start(), end=end, offset=offset)
    end = skip_space(text, end)
    closed = text.startswith(marks.closer, end)
    whole = closed or end == len(text)
    end += len(marks.closer) if closed else 0
    return Block(start=start, end=end, attempts=(attempt,), native=whole, error=error)


def _value(marks: _Marks, text: str, position: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise Unreadable(position)
    if text.startswith(marks.string, position):
        return _string(marks, text, position)
    if text.startswith("{", position):
        found: dict[str, Member] = {}
        end = members(
            text,
            position,
            lambda inner, at: _value(marks, inner, at, depth + 1),
            found,
            read_key=lambda inner, at: _key(marks, inner, at),
        )
        return {key: member.value for key, member in found.items()}, end
    if text.startswith("[", position):
        return _sequence(marks, text, position, depth)
    return literal(text, position, depth)


def _sequence(marks: _Marks, text: str, position: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    position = skip_space(text, position + 1)
    while not text.startswith("]", position):
        item, position = _value(marks, text, position, depth + 1)
        items.append(item)
        position = next_item(text, position, "]", loose=False)
    return items, position + 1


def _string(marks: _Marks, text: str, position: int) -> tuple[str, int]:
    begin = position + len(marks.string)
    end = text.find(marks.string, begin)
    if end < 0:
        raise CutOff(position)
    return text[begin:end], end + len(marks.string)


def _key(marks: _Marks, text: str, position: int) -> tuple[Any, int]:
    if text.startswith((marks.string, '"', "'"), position):
        return _value(marks, text, position, MAX_DEPTH)
    key = _KEY.match(text, position)
    if key is None:
        raise stuck(text, position)
    return key.group(), key.end()
