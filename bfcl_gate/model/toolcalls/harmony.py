"""gpt-oss: an answer is a row of messages, each with a channel and perhaps a recipient in its header.

`analysis` is reasoning, `final` and a `commentary` without recipient are content, a message to
`functions.f` is a call. The first header begins in the generation prompt.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bfcl_gate.model.toolcalls.json_calls import read_arguments
from bfcl_gate.model.toolcalls.records import Block, Source
from bfcl_gate.model.toolcalls.scan import skip_space
from bfcl_gate.model.toolcalls.thoughts import Thought

_BODY = "<|message|>"
_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_LONGEST_HEADER = 400
_HEADER = re.compile(r"\s*(?:<\|start\|>|<\|channel\|>|to=)[^\n]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """text[start:body] is the header, text[body:end] what is said, text[end:after] the end marker."""

    start: int
    body: int
    end: int
    after: int
    channel: str
    recipient: str | None


def find(source: Source, start: int) -> list[Block]:
    """Return the calls from `start` on, and the markup around what is content."""
    blocks: list[Block] = []
    position = start
    for message in _messages(source, start):
        position = message.after
        if message.recipient is not None:
            blocks.append(_call(source, message))
        elif message.channel != "analysis":
            blocks.append(_markup(message.start, message.body))
            blocks.append(_markup(message.end, message.after))
    if source.cut and _HEADER.match(source.text, position, position + _LONGEST_HEADER):
        cut = Block(start=position, end=len(source.text), attempts=(), native=True, error="truncated")
        blocks.append(cut)
    return [block for block in blocks if block.end > block.start]


def thoughts(source: Source) -> list[Thought]:
    """Return the messages on the analysis channel that call nothing."""
    return [
        Thought(
            start=message.start,
            end=message.after,
            inner_start=message.body,
            inner_end=message.end,
            closed=message.after > message.end,
        )
        for message in _messages(source, 0)
        if message.channel == "analysis" and message.recipient is None
    ]


def _messages(source: Source, position: int) -> Iterator[_Message]:
    text = source.text
    while 0 <= (header_end := text.find(_BODY, position)) <= position + _LONGEST_HEADER:
        header = text[position:header_end]
        channel, recipient = _CHANNEL.search(header), _RECIPIENT.search(header)
        if channel is None and recipient is None:
            return
        body = header_end + len(_BODY)
        end, after = _body_end(source, body, is_call=recipient is not None)
        yield _Message(
            start=position,
            body=body,
            end=end,
            after=after,
            channel=channel.group(1) if channel else "",
            recipient=recipient.group(1) if recipient else None,
        )
        position = after


def _body_end(source: Source, body: int, *, is_call: bool) -> tuple[int, int]:
    """Return the end of a message's text and that of its end marker; JSON may hold the markers."""
    text, begin = source.text, body
    if is_call:
        begin = read_arguments(source, "", skip_space(text, body), body).end
    marker = _END.search(text, begin)
    if marker is None:
        return len(text), len(text)
    opens = marker.group() in ("<|start|>", "<|channel|>")
    return marker.start(), marker.start() if opens else marker.end()


def _markup(start: int, end: int) -> Block:
    return Block(start=start, end=end, attempts=(), native=True)


def _call(source: Source, message: _Message) -> Block:
    name = (message.recipient or "").removeprefix("functions.")
    calls = read_arguments(source, name, skip_space(source.text, message.body), message.start)
    whole = skip_space(source.text, calls.end) >= message.end
    return Block(
        start=message.start,
        end=message.after,
        attempts=tuple(calls.attempts),
        native=calls.exact and whole,
        error=calls.error,
    )
