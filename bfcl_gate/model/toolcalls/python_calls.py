"""Calls written as Python calls with keyword arguments; the values are literals, nothing is evaluated."""

import re
from dataclasses import dataclass, field
from typing import Any

from bfcl_gate.model.toolcalls.literals import literal
from bfcl_gate.model.toolcalls.records import Attempt, Problem, Source
from bfcl_gate.model.toolcalls.scan import (
    CutOff,
    Unreadable,
    balanced_end,
    expect,
    next_item,
    skip_space,
    stuck,
)

_CALL = re.compile(r"([A-Za-z_][\w.-]{0,200})\(")
_KEYWORD = re.compile(r"([A-Za-z_]\w{0,200})\s{0,8}=(?!=)")


@dataclass(slots=True, kw_only=True)
class PythonCalls:
    """The calls of one list, or a single call, as far as they could be read."""

    end: int
    error: Problem | None = None
    attempts: list[Attempt] = field(default_factory=list)


def read_call(source: Source, position: int, *, bare: bool = False) -> PythonCalls | None:
    """Read the single call at `position`; None where none begins there, if `bare` none of a declared tool."""
    opened = _CALL.match(source.text, position)
    if opened is None or (bare and opened.group(1) not in source.schemas):
        return None
    calls = PythonCalls(end=position)
    try:
        calls.end = _append_call(source, opened, calls)
    except Unreadable as problem:
        _end_unreadable(source, position, calls, problem)
    return calls


def read_list(source: Source, position: int, *, bare: bool = False) -> PythonCalls | None:
    """Read the list of calls at `position`; None where none begins there, if `bare` none of a declared tool."""
    text = source.text
    at = skip_space(text, position + 1)
    first = _CALL.match(text, at) if text.startswith("[", position) else None
    if first is None or (bare and first.group(1) not in source.schemas):
        return None
    calls = PythonCalls(end=position)
    try:
        while not text.startswith("]", at):
            opened = _CALL.match(text, at)
            if opened is None:
                raise stuck(text, at)
            at = next_item(text, _append_call(source, opened, calls), "]", loose=True)
        calls.end = at + 1
    except Unreadable as problem:
        _end_unreadable(source, position, calls, problem)
    return calls


def _append_call(source: Source, opened: re.Match[str], calls: PythonCalls) -> int:
    """Read one call into `calls`, as a failed attempt when it cannot be read; return its end."""
    name, start = opened.group(1), opened.end()
    try:
        arguments, end = _arguments(source.text, start)
    except Unreadable as problem:
        closed = balanced_end(source.text, start - 1, python=True)
        end = len(source.text) if closed is None or isinstance(problem, CutOff) else closed
        calls.attempts.append(source.failed(name, start=opened.start(), end=end, offset=start))
        raise
    calls.attempts.append(source.read(name, arguments, start))
    return end


def _arguments(text: str, position: int) -> tuple[dict[str, Any], int]:
    arguments: dict[str, Any] = {}
    position = skip_space(text, position)
    while not text.startswith(")", position):
        keyword = _KEYWORD.match(text, position)
        if keyword is None:
            raise stuck(text, position)
        value, position = literal(text, skip_space(text, keyword.end()))
        arguments[keyword.group(1)] = value
        position = next_item(text, position, ")", loose=True)
    return arguments, expect(text, position, ")")


def _end_unreadable(source: Source, position: int, calls: PythonCalls, problem: Unreadable) -> None:
    closed = None if isinstance(problem, CutOff) else balanced_end(source.text, position, python=True)
    calls.error = "truncated" if isinstance(problem, CutOff) or closed is None else "invalid-call"
    calls.end = len(source.text) if closed is None else closed
