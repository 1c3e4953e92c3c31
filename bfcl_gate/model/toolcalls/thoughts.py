"""Where an answer thinks: spans that are reasoning, neither content nor calls."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from bfcl_gate.model.toolcalls.records import Block, Source
from bfcl_gate.model.toolcalls.scan import skip_space

_CLOSERS = {
    "<think>": "</think>",
    "<mm:think>": "</mm:think>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|channel>thought": "<channel|>",
    "<|START_THINKING|>": "<|END_THINKING|>",
}
_OPENER = re.compile("|".join(map(re.escape, _CLOSERS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """text[start:end] is the thought with its tags, text[inner_start:inner_end] what it says."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    closed: bool = True


def thoughts(source: Source, blocks: Sequence[Block]) -> list[Thought]:
    """Return the thoughts of an answer in order; `blocks` are the calls found when tags are ignored.

    A thought is open from the start where the generation prompt ends by opening one. The first
    closing tag that is not inside a readable call ends it; without one the first call does. Further on
    only a thought that is closed counts.
    """
    text = source.text
    first = _leading(text, source.prefix.rstrip(), blocks)
    found = [first] if first else []
    position = first.end if first else 0
    unclosed: set[str] = set()
    while opener := _OPENER.search(text, position):
        position = opener.end()
        closer = _CLOSERS[opener.group()]
        if closer in unclosed or _covering(blocks, opener.start()):
            continue
        close = _outside(text, closer, position, blocks)
        if close < 0:
            unclosed.add(closer)
        else:
            end = close + len(closer)
            found.append(Thought(start=opener.start(), end=end, inner_start=position, inner_end=close))
            position = end
    return found


def _leading(text: str, prefix: str, blocks: Sequence[Block]) -> Thought | None:
    begin = skip_space(text, 0)
    for opener, closer in _CLOSERS.items():
        if text.startswith(opener, begin):
            return _from_start(text, begin + len(opener), closer, blocks)
        if prefix.endswith(opener):
            return _from_start(text, 0, closer, blocks)
    return _unopened(text, blocks)


def _from_start(text: str, inner: int, closer: str, blocks: Sequence[Block]) -> Thought:
    close = _outside(text, closer, inner, blocks)
    if close >= 0:
        return Thought(start=0, end=close + len(closer), inner_start=inner, inner_end=close)
    end = next((block.start for block in blocks if block.start >= inner), len(text))
    return Thought(start=0, end=end, inner_start=inner, inner_end=end, closed=False)


def _unopened(text: str, blocks: Sequence[Block]) -> Thought | None:
    """A closing tag before any opening one or call: the prompt opened the thought and nobody said so."""
    for opener, closer in _CLOSERS.items():
        close = text.find(closer, 0, blocks[0].start if blocks else len(text))
        if close >= 0 and text.find(opener, 0, close) < 0:
            return Thought(start=0, end=close + len(closer), inner_start=0, inner_end=close)
    return None


def _outside(text: str, tag: str, start: int, blocks: Sequence[Block]) -> int:
    """Return the first place of `tag` from `start` on that no readable call covers, else -1."""
    place = text.find(tag, start)
    while place >= 0 and (block := _covering(blocks, place)):
        place = text.find(tag, block.end)
    return place


def _covering(blocks: Sequence[Block], place: int) -> Block | None:
    """Return the readable call around a place of the text."""
    before = bisect_right(blocks, place, key=lambda block: block.start)
    block = blocks[before - 1] if before else None
    return block if block and place < block.end and block.attempts and block.error is None else None
