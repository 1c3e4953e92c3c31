"""Which Responses items of a rollout are one model call.

A `token_count` belongs to each call. Up to 0.3x it stands before the call's items, later behind them; there
a tool may run while the reply is still streamed, so that a result lies between two parts of one call.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from edge_agentic.importers.content import tokens
from edge_agentic.importers.normal import Reply
from edge_agentic.importers.values import obj, text


class Calls:
    """Numbers the model calls of one rollout, in the order of its records."""

    def __init__(self, values: Sequence[Mapping[str, Any]]) -> None:
        kinds = [_kind(value) for value in values]
        counted = "token_count" in kinds
        self._without_counts = not counted
        self.counts_first = counted and "part" in kinds and kinds.index("token_count") < kinds.index("part")
        self._number = 0
        self._begun = False
        self._closed = False
        self._last_total: Any = None
        self._pending: Mapping[str, Any] = {}

    def part(self) -> str:
        """Return the key of the call that the next part of a reply belongs to."""
        if self._closed:
            self._number += 1
            self._closed = False
        self._begun = True
        return self._key()

    def result(self) -> None:
        """A tool gave its result; without any counts this is the only sign that a call is over."""
        self._closed = self._closed or self._without_counts

    def other(self) -> None:
        """A text of the user or a compaction ends the call."""
        self._closed = self._closed or self._begun

    def counted(self, info: Mapping[str, Any]) -> list[Reply]:
        """Take a token_count; one that repeats the last is no new call. Returns the counts as a part."""
        usage, total = obj(info.get("last_token_usage")), info.get("total_token_usage")
        if not usage or (total is not None and total == self._last_total):
            return []
        self._last_total = total
        if self.counts_first:
            self._closed = self._begun
            key = self.part()
            self._begun = True
        else:
            key = self._key()
            self._closed = True
        return [
            Reply(
                key=key,
                input_tokens=tokens(usage, "input_tokens"),
                output_tokens=tokens(usage, "output_tokens"),
            )
        ]

    def _key(self) -> str:
        return f"call-{self._number}"


def _kind(value: Mapping[str, Any]) -> str:
    payload = obj(value.get("payload"))
    inner = text(payload.get("type")) or text(value.get("type"))
    if inner == "token_count" and obj(payload.get("info")).get("last_token_usage"):
        return "token_count"
    if payload.get("role") == "assistant" or inner in ("reasoning", "function_call", "custom_tool_call"):
        return "part"
    return ""
