"""The journal of `edge-agentic traces record`: one row for each request that was answered through it.

Rows: `recording` begins a session of the recorder, `exchange` is a request with the reply put together from its
stream, `passed on` counts what was not recorded.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edge_agentic.importers.deltas import Deltas
from edge_agentic.importers.exchanges import Exchange, chain
from edge_agentic.importers.normal import Item, Notes, Session
from edge_agentic.importers.request_log import exchange_of
from edge_agentic.importers.source import Source, parse_json
from edge_agentic.importers.values import count, obj, text

RECORDING = "recording"
JOURNAL_ENDING = ".journal"


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Join the answered requests of each journal that belong together."""
    return [
        session
        for source in sources
        for session in chain(list(_exchanges(source, notes)), source.stem, notes)
    ]


def _exchanges(source: Source, notes: Notes) -> Iterator[Exchange]:
    deltas = Deltas()
    replies: dict[str, tuple[Item, ...]] = {}
    for row in (obj(record.value) for record in source.records):
        kind = text(row.get("_type"))
        if kind == RECORDING:
            deltas = Deltas()
        elif kind == "passed on":
            _remark(obj(row.get("requests")), notes)
        elif kind == "exchange":
            # Restored in any case: later requests build on those that were not answered, too.
            body = deltas.restore(count(row.get("number")) or 0, obj(row.get("request")))
            if found := _exchange(row, body, replies, notes):
                yield found


def _exchange(
    row: Mapping[str, Any], body: str | None, replies: dict[str, tuple[Item, ...]], notes: Notes
) -> Exchange | None:
    """Return an exchange with a whole answer: half of one is no turn, and the agent asks again or gives up."""
    try:
        request = None if body is None else parse_json(body)
    except ValueError:
        request = None
    if request is None:
        notes.repair("R18")  # it is damaged, or what it builds on was
        return None
    status, ended = count(row.get("status")), text(row.get("ended"))
    if row.get("complete") is not True:
        refused = f"HTTP {status}" if status and status != 200 else ended
        refused = "its end is missing" if refused == "whole" else refused
        notes.skip(f"request without a whole answer ({refused})")
        return None
    record = {
        "request": request,
        "response": row.get("response"),
        "startTime": row.get("started_s"),
        "endTime": row.get("ended_s"),
    }
    found = exchange_of(record, replies, notes)
    if found is None or found.reply is None:
        notes.skip("request without messages or without a reply")
        return None
    return found


def _remark(requests: Mapping[str, Any], notes: Notes) -> None:
    told = ", ".join(f"{what} ({number})" for what, number in requests.items())
    if told:
        notes.remark(f"Passed on unrecorded, because they are no turns of a conversation: {told}.")
