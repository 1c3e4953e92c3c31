"""Llama 4 and Llama 3.2's prompt style: a Python list of calls as the whole answer, or in python tags."""

import re

from bfcl_gate.model.toolcalls.python_calls import PythonCalls, read_list
from bfcl_gate.model.toolcalls.records import Block, Source
from bfcl_gate.model.toolcalls.scan import skip_space

_LLAMA4 = ("<|python_start|>", "<|python_end|>")


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on: tagged ones anywhere, a bare list at the beginning only."""
    bare = _bare(source, skip_space(source.text, start))
    return [bare] if bare else tagged_lists(source, start, *_LLAMA4)


def tagged_lists(source: Source, start: int, opener: str, closer: str) -> list[Block]:
    """Return the lists of calls between two markers."""
    text = source.text
    blocks: list[Block] = []
    for tag in re.compile(re.escape(opener)).finditer(text, start):
        if blocks and tag.start() < blocks[-1].end:
            continue
        calls = read_list(source, skip_space(text, tag.end()))
        if calls is None and source.cut and not text[tag.end() :].strip(" \n["):
            blocks.append(_block(tag.start(), len(text), PythonCalls(end=len(text), error="truncated")))
        elif calls is not None:
            end = skip_space(text, calls.end)
            closed = text.startswith(closer, end)
            exact = closed or end == len(text)
            blocks.append(_block(tag.start(), end + len(closer) if closed else end, calls, exact=exact))
    return blocks


def _bare(source: Source, start: int) -> Block | None:
    calls = read_list(source, start)
    if calls is None or (calls.error and not any(attempt.declared for attempt in calls.attempts)):
        return None
    whole = skip_space(source.text, calls.end) == len(source.text)
    return _block(start, calls.end, calls, exact=whole) if whole or calls.attempts[0].declared else None


def _block(start: int, end: int, calls: PythonCalls, *, exact: bool = True) -> Block:
    return Block(start=start, end=end, attempts=tuple(calls.attempts), native=exact, error=calls.error)
