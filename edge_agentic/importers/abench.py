"""abench sessions (abench-session-jsonl-v1): one session a line, each turn with what is new in its prompt.

Replies are flat text with the calls rendered in it, so tool messages are user text. The recorded gaps
before a turn hold the generation of the turn before, so no waits are taken from them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from edge_agentic.importers.chat_messages import read_message
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolResult, UserText
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import count, name, obj, objects, text


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read each line as one session."""
    return [
        _session(obj(record.value), f"{source.stem}.{record.line}", notes)
        for source in sources
        for record in source.records
    ]


def _session(value: Mapping[str, Any], fallback: str, notes: Notes) -> Session:
    items: list[Item] = []
    for turn in objects(value.get("turns")):
        for message in objects(turn.get("input_delta")):
            items += [_as_text(item, notes) for item in read_message(message, notes)]
        items.append(
            Reply(
                text=text(turn.get("assistant_text")),
                input_tokens=count(turn.get("input_tokens")) or None,
                output_tokens=count(turn.get("output_tokens")) or None,
            )
        )
    return Session(
        id=name(value.get("session_id")) or fallback,
        items=tuple(items),
        system=text(value.get("system_prompt")) or None,
        model=text(obj(value.get("source")).get("model")) or None,
    )


def _as_text(item: Item, notes: Notes) -> Item:
    if isinstance(item, ToolResult):
        notes.repair("R6")
        return UserText(text=item.text, kind="observation")
    return item
