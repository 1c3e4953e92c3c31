"""The beginnings of two prompts side by side: where they part, and how far they would agree but for volatile text."""

import json
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

from bfcl_gate.model.chat import ChatRequest
from edge_agentic.trace_stats.volatile_forms import Piece, pieces_of


class Head(NamedTuple):
    """What stands first in a prompt: system prompt, tools as JSON, the user's first text; "" where there is none."""

    system: str
    tools: str
    user: str


PARTS = ("system prompt", "tools", "first user text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first volatile text in which two heads differ.

    It is of `kind` and begins at character `position` of `part`; `was` and `now` are the two texts. Without
    volatile text `possible` characters of the heads would agree, as they are `actual`. `healed` is the second head
    with the first one's volatile texts, as far as they would agree.
    """

    part: str
    kind: str
    position: int
    was: str
    now: str
    possible: int
    actual: int
    healed: Head


def head_of(request: ChatRequest) -> Head:
    """Return the head of a request."""
    system = next((m["content"] for m in request.messages if m["role"] == "system"), "")
    user = next((m["content"] for m in request.messages if m["role"] == "user"), "")
    tools = json.dumps(list(request.tools), ensure_ascii=False) if request.tools else ""
    return Head(system, tools, user)


def with_head(request: ChatRequest, head: Head) -> ChatRequest:
    """Return the request with another head of the same parts."""
    texts = {"system": head.system, "user": head.user}
    messages = []
    for message in request.messages:
        text = texts.pop(message["role"], None)
        messages.append(message if text is None else {**message, "content": text})
    return replace(
        request, messages=tuple(messages), tools=tuple(json.loads(head.tools)) if head.tools else ()
    )


def compare(first: Head, second: Head) -> Difference | None:
    """Return where volatile text makes two heads differ, None where they differ otherwise or not at all."""
    possible = 0
    found: tuple[int, int, Piece, Piece] | None = None
    healed = list(second)
    for place, (ours, theirs) in enumerate(zip(first, second, strict=True)):
        alike = _compare_texts(ours, theirs)
        possible += alike.characters
        healed[place] = alike.healed
        if alike.difference and not found:
            found = (place, *alike.difference)
        if not alike.whole:
            break
    if found is None:
        return None
    place, position, was, now = found
    return Difference(
        part=PARTS[place],
        kind=now.kind or "",
        position=position,
        was=was.text,
        now=now.text,
        possible=possible,
        actual=sum(map(len, second[:place])) + position + _agreement(was.text, now.text),
        healed=Head(*healed),
    )


class _Alike(NamedTuple):
    """How far two texts agree, volatile text apart: `characters` of the second, or all of both (`whole`).

    `difference` is the place of the first volatile texts that differ, and the two; `healed` the second text with the
    first one's.
    """

    characters: int
    whole: bool
    difference: tuple[int, Piece, Piece] | None
    healed: str


def _compare_texts(first: str, second: str) -> _Alike:
    if first == second:
        return _Alike(len(second), True, None, second)
    at = 0
    difference: tuple[int, Piece, Piece] | None = None
    healed: list[str] = []
    whole = True
    for ours, theirs in zip_longest(pieces_of(first), pieces_of(second), fillvalue=Piece(None, "")):
        if theirs.kind is not None and ours.kind == theirs.kind:
            if ours.text != theirs.text and difference is None:
                difference = (at, ours, theirs)
            at += len(theirs.text)
            healed.append(ours.text)
            continue
        agreed = _agreement(ours.text, theirs.text)
        at += agreed
        healed.append(theirs.text[:agreed])
        if agreed < max(len(ours.text), len(theirs.text)):
            whole = False
            break
    return _Alike(at, whole, difference, "".join(healed) + second[at:])


def _agreement(first: str, second: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))
