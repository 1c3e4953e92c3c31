"""Qwen3-Coder, Qwen3.5, Qwen3.6, Nemotron 3, StepFun: every argument is text between its own tags.

`<tool_call>`, `<function=f>`, then per argument a line `<parameter=a>`, the value and a line `</parameter>`.
Only a line of its own ends a value, so values may hold the tags in running text.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bfcl_gate.model.toolcalls.coercion import coerce
from bfcl_gate.model.toolcalls.frames import cut_opener
from bfcl_gate.model.toolcalls.records import Attempt, Block, Problem, Source
from bfcl_gate.model.toolcalls.scan import skip_space

_OPENER = re.compile(r"<tool_call>|<function=")
_FUNCTION = re.compile(r"(<tool_call>\s*)?<function=([^<>\n]+)>")
_PARAMETER = re.compile(r"<parameter=([^<>\n]+)>(\n?)")
_CLOSE_LINE = re.compile(r"(?<=\n)</parameter>[ \t]*(?=\n|\Z)")
_PARAMETER_LINE = re.compile(r"\n<parameter=([^<>\n]+)>(?=\n)")
_STRAY_END = re.compile(r"\n</function>(?=\s*</tool_call>|\s*\Z)|\n</tool_call>(?=\s*\Z)")


@dataclass(slots=True, kw_only=True)
class _Call:
    """One function element while it is read; `closers` are the lines of the text that end a value."""

    closers: Sequence[int]
    start: int
    body: int
    name: str
    end: int
    arguments: dict[str, Any] = field(default_factory=dict)
    exact: bool = True
    error: Problem | None = None


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on; tags without a function's inside behind them are prose."""
    blocks: list[Block] = []
    closers = [close.start() for close in _CLOSE_LINE.finditer(source.text, start)]
    while opener := _OPENER.search(source.text, start):
        block = _block(source, opener.start(), closers)
        start = opener.end() if block is None else block.end
        if block is not None:
            blocks.append(block)
    return blocks


def _block(source: Source, start: int, closers: Sequence[int]) -> Block | None:
    text = source.text
    opener = _FUNCTION.match(text, start)
    if opener is None:
        return cut_opener(source, start, _opened_to(text, start))
    inside = skip_space(text, opener.end())
    if inside < len(text) and not text.startswith(("<parameter=", "</function>", "</tool_call>"), inside):
        return None
    wrapped = opener.group(1) is not None
    name = opener.group(2).strip()
    call = _Call(closers=closers, start=start, body=inside, name=name, end=inside, exact=wrapped)
    _read_parameters(source, call)
    _close(source, call)
    return Block(
        start=start, end=call.end, attempts=(_attempt(source, call),), native=call.exact, error=call.error
    )


def _opened_to(text: str, start: int) -> int:
    """Return the end of a possibly unfinished `<tool_call>`, `<function=name` at `start`."""
    unfinished = re.compile(r"<tool_call>\s*(?:<[^<>\n]*)?|<function=[^<>\n]*").match(text, start)
    return unfinished.end() if unfinished else start


def _attempt(source: Source, call: _Call) -> Attempt:
    if call.error:
        return source.failed(call.name, start=call.start, end=call.end, offset=call.body)
    return source.read(call.name, call.arguments, call.body)


def _read_parameters(source: Source, call: _Call) -> None:
    schemas = source.schemas.get(call.name, {})
    while call.error is None and (opened := _PARAMETER.match(source.text, call.end)):
        name = opened.group(1).strip()
        value = _read_value(source, call, opened, schemas)
        if value is not None:
            call.arguments[name], typed = coerce(value, schemas.get(name))
            call.exact = call.exact and typed
        _swallow_closers(source.text, call)


def _swallow_closers(text: str, call: _Call) -> None:
    """Step to the next tag, over a `</parameter>` that was written twice."""
    call.end = skip_space(text, call.end)
    while text.startswith("</parameter>", call.end):
        call.exact = False
        call.end = skip_space(text, call.end + len("</parameter>"))


def _read_value(source: Source, call: _Call, opened: re.Match[str], schemas: Mapping[str, Any]) -> str | None:
    """Return the value behind an opening tag and move `call.end` behind it; None when it never ends."""
    text, begin = source.text, opened.end()
    if not opened.group(2):
        return _read_inline(text, call, begin)
    close = _next_closer(call.closers, begin)
    stray = _STRAY_END.search(text, begin - 1) if close is None and not source.cut else None
    limit = stray.start() if stray else len(text) if close is None else close
    unseen = schemas.keys() - call.arguments.keys() - {opened.group(1).strip()}
    for line in _PARAMETER_LINE.finditer(text, begin - 1, limit):
        if line.group(1).strip() in unseen:
            return _end_early(text, call, begin, line.start())
    if close is not None:
        call.end = close + len("</parameter>")
        return text[begin : max(begin, close - 1)]
    if stray:
        return _end_early(text, call, begin, stray.start())
    call.end, call.error = len(text), "truncated"
    return None


def _next_closer(closers: Sequence[int], position: int) -> int | None:
    following = bisect_left(closers, position)
    return closers[following] if following < len(closers) else None


def _end_early(text: str, call: _Call, begin: int, end: int) -> str:
    """End a value whose `</parameter>` is missing at the line break before the next tag."""
    call.end, call.exact = end + 1, False
    return text[begin : max(begin, end)]


def _read_inline(text: str, call: _Call, begin: int) -> str | None:
    """Read a value that follows its tag on the same line."""
    close = text.find("</parameter>", begin)
    call.exact = False
    if close < 0:
        call.end, call.error = len(text), "truncated"
        return None
    call.end = close + len("</parameter>")
    return text[begin:close]


def _close(source: Source, call: _Call) -> None:
    """Check what ends the function; without any end it is no call, since arguments may be missing."""
    text = source.text
    if call.error:
        return
    call.end = skip_space(text, call.end)
    ended = text.startswith("</function>", call.end)
    after = skip_space(text, call.end + len("</function>")) if ended else call.end
    wrapped = text.startswith("</tool_call>", after)
    if ended or wrapped:
        call.exact = call.exact and ended and (wrapped or after == len(text))
        call.end = after + len("</tool_call>") if wrapped else after
        return
    call.error = "truncated" if source.cut or _may_go_on(text, call.end) else "invalid-call"
    call.end = len(text) if call.error == "truncated" else call.end


def _may_go_on(text: str, position: int) -> bool:
    """Whether the text ends here or inside the next tag."""
    rest = text[position : position + 200]
    return position + len(rest) == len(text) and "\n" not in rest and ">" not in rest
