"""Llama 3.1 to 3.3: one JSON object with `parameters` as the whole answer, perhaps behind `<|python_tag|>`.

Behind the tag a built-in tool is called as `name.call(key="value")`.
"""

from bfcl_gate.model.toolcalls.json_calls import Keys, read_calls
from bfcl_gate.model.toolcalls.python_calls import read_call
from bfcl_gate.model.toolcalls.records import Block, Source
from bfcl_gate.model.toolcalls.scan import skip_space

_KEYS = Keys(arguments="parameters")
_TAG = "<|python_tag|>"


def find(source: Source, start: int) -> list[Block]:
    """Return the call block: behind the tag wherever it stands, else at the beginning only."""
    text = source.text
    begin = skip_space(text, start)
    tag = text.find(_TAG, start)
    if tag > begin and text.startswith("{", begin):
        tag = -1
    payload = begin if tag < 0 else skip_space(text, tag + len(_TAG))
    block = _json(source, begin if tag < 0 else tag, payload, tagged=tag >= 0)
    if block is None and tag >= 0:
        block = _built_in(source, tag, payload)
    return [block] if block else []


def _json(source: Source, start: int, payload: int, *, tagged: bool) -> Block | None:
    calls = read_calls(source, payload, _KEYS)
    if calls is None or not calls.attempts or not calls.stated:
        return None
    whole = skip_space(source.text, calls.end) == len(source.text)
    exact = calls.exact and whole and not calls.array and len(calls.attempts) == 1
    declared = all(attempt.declared for attempt in calls.attempts)
    if not declared and not tagged and (calls.error or not exact):
        return None
    return Block(start=start, end=calls.end, attempts=tuple(calls.attempts), native=exact, error=calls.error)


def _built_in(source: Source, start: int, payload: int) -> Block | None:
    calls = read_call(source, payload)
    if calls is None or not calls.attempts[0].name.endswith(".call"):
        return None
    attempt = calls.attempts[0]
    name = attempt.name.removesuffix(".call")
    if attempt.arguments is None:
        renamed = source.failed(name, start=payload, end=calls.end, offset=attempt.offset)
    else:
        renamed = source.read(name, attempt.arguments, attempt.offset)
    return Block(start=start, end=calls.end, attempts=(renamed,), native=True, error=calls.error)
