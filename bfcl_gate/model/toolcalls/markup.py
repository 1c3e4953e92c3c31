"""Calls whose arguments stand as text between tags, one element each: the shared reader of such syntaxes."""

import re
from dataclasses import dataclass, field
from typing import Any

from bfcl_gate.model.toolcalls.coercion import coerce
from bfcl_gate.model.toolcalls.frames import cut_opener
from bfcl_gate.model.toolcalls.records import Attempt, Block, Problem, Source
from bfcl_gate.model.toolcalls.scan import skip_space


@dataclass(frozen=True, slots=True, kw_only=True)
class Markup:
    """The tags of a syntax. `call` and `argument` have a group `name`, `argument` perhaps one `string`.

    `block` and `block_end` go around the calls. A value ends at the closing tag that another argument or
    `call_end` follows, so it may hold the tag in running text.
    """

    block: str
    block_end: str
    call: re.Pattern[str]
    call_end: str
    argument: re.Pattern[str]
    argument_end: str


@dataclass(slots=True, kw_only=True)
class _Progress:
    """What was read of a block so far."""

    end: int
    exact: bool = True
    error: Problem | None = None
    attempts: list[Attempt] = field(default_factory=list)


def marked_calls(markup: Markup, source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on; a block tag without a call's tag behind it is prose."""
    text = source.text
    blocks: list[Block] = []
    while (start := text.find(markup.block, start)) >= 0:
        block = _block(markup, source, start)
        start = start + len(markup.block) if block is None else block.end
        if block is not None:
            blocks.append(block)
    return blocks


def _block(markup: Markup, source: Source, start: int) -> Block | None:
    text = source.text
    progress = _Progress(end=skip_space(text, start + len(markup.block)))
    while progress.error is None and (opened := markup.call.match(text, progress.end)):
        _read_call(markup, source, opened, progress)
        progress.end = skip_space(text, progress.end)
    if not progress.attempts:
        return cut_opener(source, start, start + len(markup.block), inside=True)
    if progress.error is None:
        closed = text.startswith(markup.block_end, progress.end)
        progress.exact = progress.exact and (closed or progress.end == len(text))
        progress.end += len(markup.block_end) if closed else 0
    return _as_block(start, progress)


def _as_block(start: int, progress: _Progress) -> Block:
    attempts = tuple(progress.attempts)
    return Block(
        start=start, end=progress.end, attempts=attempts, native=progress.exact, error=progress.error
    )


def _read_call(markup: Markup, source: Source, opened: re.Match[str], progress: _Progress) -> None:
    text, name = source.text, opened.group("name")
    schemas = source.schemas.get(name, {})
    arguments: dict[str, Any] = {}
    progress.end = offset = skip_space(text, opened.end())
    while argument := markup.argument.match(text, progress.end):
        close = _value_end(markup, text, argument.end())
        if close is None:
            progress.end = len(text)
            break
        value, typed = _typed(text[argument.end() : close], argument, schemas)
        arguments[argument.group("name")] = value
        progress.exact = progress.exact and typed
        progress.end = skip_space(text, close + len(markup.argument_end))
    if text.startswith(markup.call_end, progress.end):
        progress.attempts.append(source.read(name, arguments, offset))
        progress.end += len(markup.call_end)
        return
    progress.error = "truncated" if source.cut or progress.end == len(text) else "invalid-call"
    progress.end = len(text) if progress.error == "truncated" else progress.end
    progress.attempts.append(source.failed(name, start=opened.start(), end=progress.end, offset=offset))


def _value_end(markup: Markup, text: str, position: int) -> int | None:
    while (position := text.find(markup.argument_end, position)) >= 0:
        following = skip_space(text, position + len(markup.argument_end))
        if text.startswith(markup.call_end, following) or markup.argument.match(text, following):
            return position
        position += len(markup.argument_end)
    return None


def _typed(text: str, argument: re.Match[str], schemas: Any) -> tuple[Any, bool]:
    """Type a value by what its tag states about it, else by its tool's schema."""
    stated = argument.groupdict().get("string")
    if stated == "true":
        return text, True
    return coerce(text, {} if stated else schemas.get(argument.group("name")))
