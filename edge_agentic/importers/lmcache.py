"""LMCache agent traces: {timestamp, session_id, input, output}, all messages of a prompt in one text.

Roles cannot be told apart, so what is new in a prompt is user text; tools and system prompt are not stored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from edge_agentic.importers.exchanges import Exchange, chain
from edge_agentic.importers.normal import Item, Notes, Reply, Session, UserText
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import name, obj, seconds, text

_OPEN = 64
"""Prompts that a new one is compared with, newest first."""


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read the rows of each session in the order of their times."""
    sessions = []
    for source in sources:
        by_session: dict[str, list[Mapping[str, Any]]] = {}
        for record in source.records:
            value = obj(record.value)
            by_session.setdefault(name(value.get("session_id")) or source.stem, []).append(value)
        for id_, rows in by_session.items():
            rows.sort(key=lambda row: seconds(row.get("timestamp")) or 0.0)
            sessions += chain(_exchanges(rows), id_, notes)
    notes.remark(
        "Roles, tools and system prompts are not recorded; all that is new in a prompt is user text."
    )
    return sessions


def _exchanges(rows: Iterable[Mapping[str, Any]]) -> Iterator[Exchange]:
    """Cut each prompt where an earlier one of the session ends."""
    earlier: list[tuple[str, tuple[Item, ...]]] = []
    for row in rows:
        prompt, answer = text(row.get("input")), text(row.get("output"))
        before, items = next((e for e in reversed(earlier) if prompt.startswith(e[0])), ("", ()))
        if rest := prompt[len(before) :]:
            items = (*items, UserText(text=rest))
        reply = Reply(text=answer)
        yield Exchange(items=items, reply=reply)
        earlier = [*earlier[-_OPEN:], (prompt, (*items, reply))]
