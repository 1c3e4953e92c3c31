"""Calls and results: which belongs to which, under ids that are unique in their trajectory."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edge_agentic.importers.normal import Notes, ToolCall, ToolResult
from edge_agentic.importers.source import parse_json

NO_RESULT = "[no result recorded]"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call of the last reply: the id it was recorded with, and the one it has in the rows."""

    recorded_id: str | None
    id: str


class Ids:
    """Ids of one trajectory: the recorded one as long as it is new there, else another (R7)."""

    def __init__(self, notes: Notes) -> None:
        self._seen: set[str] = set()
        self._next = 1
        self._notes = notes

    def unique(self, recorded: str | None) -> str:
        """Return `recorded` if it can be used, else `call_N`."""
        chosen = recorded
        if not chosen or chosen in self._seen:
            self._notes.repair("R7")
            while f"call_{self._next}" in self._seen:
                self._next += 1
            chosen = f"call_{self._next}"
        self._seen.add(chosen)
        return chosen


def pair(
    calls: Sequence[OpenCall], results: Sequence[ToolResult], notes: Notes
) -> list[tuple[OpenCall, ToolResult]]:
    """Return each call with its result: by id first, then by order where an id is missing on one side.

    A call without a result gets a fixed text (R4), a result without a call is left out (R5).
    """
    found: dict[int, ToolResult] = {}
    left = []
    for result in results:
        at = next(
            (i for i in _free(calls, found) if result.call_id and calls[i].recorded_id == result.call_id),
            None,
        )
        if at is None:
            left.append(result)
        else:
            found[at] = result
    for result in left:
        at = next((i for i in _free(calls, found) if not (result.call_id and calls[i].recorded_id)), None)
        if at is None:
            notes.repair("R5")
        else:
            found[at] = result
    missing = [i for i in range(len(calls)) if i not in found]
    notes.repair("R4", len(missing))
    return [
        (call, found.get(i) or ToolResult(call_id=call.recorded_id, text=NO_RESULT))
        for i, call in enumerate(calls)
    ]


def _free(calls: Sequence[OpenCall], found: dict[int, ToolResult]) -> list[int]:
    return [i for i in range(len(calls)) if i not in found]


def call_row(call: ToolCall, new_id: str, notes: Notes) -> dict[str, Any]:
    """Return a call as the rows hold it, its arguments as the JSON text of an object."""
    if not call.name:
        notes.repair("R8")
    return {
        "id": new_id,
        "type": "function",
        "function": {"name": call.name or "unknown", "arguments": arguments_text(call.arguments, notes)},
    }


def arguments_text(arguments: Any, notes: Notes) -> str:
    """Return the JSON text of an object; text that is one stays as it is, byte for byte (else R8)."""
    if isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    if isinstance(arguments, str):
        value = _parsed(arguments)
        if isinstance(value, dict):
            return arguments
        if isinstance(value, str) and isinstance(_parsed(value), dict):
            notes.repair("R8")
            return value
    notes.repair("R8")
    if arguments is None or arguments == "":
        return "{}"
    return json.dumps({"_raw": arguments}, ensure_ascii=False)


def _parsed(document: str) -> Any:
    try:
        return parse_json(document)
    except ValueError:
        return None
