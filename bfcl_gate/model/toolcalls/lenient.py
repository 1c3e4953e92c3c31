"""Calls in no syntax's form: in a fence, in an invented tag, or bare.

JSON is a call only when it names a declared tool and states its arguments (much JSON has a `name`), Python
only when it is a call of a declared tool with keyword arguments.
"""

import re
from typing import NamedTuple

from bfcl_gate.model.toolcalls.json_calls import USUAL, JsonCalls, read_calls
from bfcl_gate.model.toolcalls.python_calls import PythonCalls, read_call, read_list
from bfcl_gate.model.toolcalls.records import Block, Source
from bfcl_gate.model.toolcalls.scan import skip_space

_CANDIDATE = re.compile(
    r"(?P<fence>`{3,})[\w-]*\s*|(?P<tag><\|?[A-Za-z_][\w:.-]*\|?>)\s*|\n[ \t]*(?=\{|\[\s*[{A-Za-z_])"
)
_END_TAG = re.compile(r"<(?:/\|?|\|/?)[\w:.-]{1,60}\|?>")  # small models do not always close what they opened
_PRINT = re.compile(r"print\(\s*")
_MAX_FAILURES = 50  # places that look like a call and are not; each may cost a look at the rest of the text


class _Candidate(NamedTuple):
    """A place where a call may begin; `opener` is the fence with its language or the tag, "" for none."""

    start: int
    payload: int
    opener: str


def find(source: Source, start: int) -> list[Block]:
    """Return the blocks from `start` on."""
    text = source.text
    blocks: list[Block] = []
    failures = 0
    candidate: _Candidate | None = _here(text, start)
    while candidate and failures < _MAX_FAILURES:
        calls = _read(source, candidate)
        if calls and _is_call(calls):
            blocks.append(_block(text, candidate, calls))
            candidate = _next(text, blocks[-1].end, beside=True)
            continue
        failures += calls is not None and calls.error is not None
        candidate = _next(text, max(candidate.payload, calls.end if calls else 0))
    return blocks


def _here(text: str, position: int) -> _Candidate:
    begin = skip_space(text, position)
    return _Candidate(begin, begin, "")


def _next(text: str, position: int, *, beside: bool = False) -> _Candidate | None:
    """Return the next place from `position` on; with `beside` also JSON that follows at once."""
    here = _here(text, position)
    if beside and text.startswith(("{", "["), here.payload):
        return here
    match = _CANDIDATE.search(text, position)
    return _Candidate(match.start(), match.end(), match.group().strip()) if match else None


def _read(source: Source, candidate: _Candidate) -> JsonCalls | PythonCalls | None:
    text, position = source.text, candidate.payload
    if text.startswith(("{", "["), position):
        closer = None if not candidate.opener else "```" if candidate.opener.startswith("`") else "</"
        calls = read_calls(source, position, USUAL, closer=closer, bare=True)
        return calls or read_list(source, position, bare=True)
    if candidate.opener.startswith("`") and "tool_code" not in candidate.opener:
        return None  # a code block that merely uses a tool's name is an example, not a call
    if printed := _PRINT.match(text, position):
        return _printed(source, printed)
    call = read_call(source, position, bare=True)
    whole = call is not None and skip_space(text, call.end) == len(text)
    return call if candidate.opener or whole else None


def _printed(source: Source, printed: re.Match[str]) -> PythonCalls | None:
    call = read_call(source, printed.end(), bare=True)
    if call and call.error is None and source.text.startswith(")", skip_space(source.text, call.end)):
        call.end = skip_space(source.text, call.end) + 1
    return call


def _is_call(calls: JsonCalls | PythonCalls) -> bool:
    if not calls.attempts or not all(attempt.declared for attempt in calls.attempts):
        return False
    return not isinstance(calls, JsonCalls) or (calls.stated and calls.error != "invalid-call")


def _block(text: str, candidate: _Candidate, calls: JsonCalls | PythonCalls) -> Block:
    end = skip_space(text, calls.end)
    if candidate.opener.startswith("`"):
        end += 3 if text.startswith("```", end) else 0
    elif candidate.opener and (tag := _END_TAG.match(text, end)):
        end = tag.end()
    attempts = tuple(calls.attempts)
    return Block(start=candidate.start, end=end, attempts=attempts, native=False, error=calls.error)
