"""Calls in no syntax's form: JSON in a fence, in an invented tag or bare at the start of a line.

Such JSON is a call only when it names a declared tool and states its arguments; much JSON has a `name`.
"""

import re
from typing import NamedTuple

from bfcl_gate.model.toolcalls.json_calls import JsonCalls, Keys, read_calls
from bfcl_gate.model.toolcalls.records import Block, Source
from bfcl_gate.model.toolcalls.scan import skip_space

_CANDIDATE = re.compile(
    r"(?P<fence>`{3,})[\w-]*\s*(?=[\[{])|<(?P<tag>[A-Za-z_][\w:-]*)>\s*(?=[\[{])|\n[ \t]*(?=[\[{])"
)
_MAX_FAILURES = 50  # places that look like a call and are not; each may cost a look at the rest of the text


class _Candidate(NamedTuple):
    """A place where JSON begins; `closer` is what should stand behind it."""

    start: int
    payload: int
    closer: str


def find(source: Source, start: int) -> list[Block]:
    """Return the blocks from `start` on."""
    blocks: list[Block] = []
    failures = 0
    candidate = _at(source.text, start) or _next(source.text, start)
    while candidate and failures < _MAX_FAILURES:
        calls = read_calls(source, candidate.payload, Keys(), closer=candidate.closer or None)
        if calls and _is_call(calls):
            blocks.append(_block(source.text, candidate, calls))
            candidate = _at(source.text, blocks[-1].end) or _next(source.text, blocks[-1].end)
            continue
        failures += calls is not None and calls.error is not None
        whole = calls is not None and calls.error is None
        candidate = _next(source.text, calls.end if calls and whole else candidate.payload)
    return blocks


def _at(text: str, position: int) -> _Candidate | None:
    begin = skip_space(text, position)
    return _Candidate(begin, begin, "") if text.startswith(("{", "["), begin) else None


def _next(text: str, position: int) -> _Candidate | None:
    match = _CANDIDATE.search(text, position)
    if match is None:
        return None
    tag = match.group("tag")
    closer = match.group("fence") or (f"</{tag}>" if tag else "")
    return _Candidate(match.start(), match.end(), closer)


def _is_call(calls: JsonCalls) -> bool:
    if not calls.stated or not calls.attempts or not all(attempt.declared for attempt in calls.attempts):
        return False
    return calls.error in (None, "truncated", "invalid-json")


def _block(text: str, candidate: _Candidate, calls: JsonCalls) -> Block:
    end = skip_space(text, calls.end)
    if candidate.closer and text.startswith(candidate.closer, end):
        end += len(candidate.closer)
    return Block(
        start=candidate.start, end=end, attempts=tuple(calls.attempts), native=False, error=calls.error
    )
