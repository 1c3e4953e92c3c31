"""Sessions that another one repeats: resumed and forked sessions begin with a copy of their parent."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolResult, UserText


def compared(item: Item) -> tuple[Any, ...]:
    """Return what two equal items have in common: texts and calls, not ids, times or reasoning."""
    if isinstance(item, UserText):
        return ("user", item.text)
    if isinstance(item, ToolResult):
        return ("tool", item.text)
    return ("reply", item.text, tuple((call.name, _flat(call.arguments)) for call in item.calls))


def _flat(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else repr(arguments)


def beginnings(items: Sequence[Item], seed: str = "") -> list[bytes]:
    """Return a digest of every beginning of the items; [0] is that of none."""
    state = hashlib.sha256(seed.encode("utf-8", "replace"))
    digests = [state.digest()]
    for item in items:
        state.update(repr(compared(item)).encode("utf-8", "replace"))
        digests.append(state.digest())
    return digests


def without_covered(sessions: Sequence[Session], notes: Notes) -> list[Session]:
    """Leave out each session whose items are the beginning of another's (R20); links go to that one."""
    digests = [beginnings(session.items) for session in sessions]
    by_beginning: dict[bytes, int] = {}
    for i in sorted(range(len(sessions)), key=lambda i: -len(digests[i])):
        for digest in digests[i]:
            by_beginning.setdefault(digest, i)
    covering = {i: by_beginning[digests[i][-1]] for i in range(len(sessions)) if _has_reply(sessions[i])}
    moved = {sessions[i].id: sessions[j].id for i, j in covering.items() if i != j}
    notes.repair("R20", len(moved))
    return list(_kept(sessions, moved))


def _has_reply(session: Session) -> bool:
    return any(isinstance(item, Reply) for item in session.items)


def _kept(sessions: Sequence[Session], moved: dict[str, str]) -> Iterator[Session]:
    for session in sessions:
        if session.id not in moved:
            yield replace(session, parent=moved.get(session.parent or "", session.parent))
