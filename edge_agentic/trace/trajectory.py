"""Trajectories and turns, and the exact request of each turn.

A turn is asked on the recorded history: system prompt, all recorded rows before it, then its own
message(s). So every prompt is fixed before the run (MLPerf Inference v6.1, edge-agentic).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bfcl_gate.model.chat import ChatRequest, Message, Tool
from edge_agentic.trace.rows import Row
from edge_agentic.trace.rules import conversation_id

_MESSAGE_KEYS = ("role", "content", "name", "tool_calls", "reasoning_content")
_INHERITED = ("tools", "max_new_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request of a trajectory and its recorded answer.

    `number` is the trace's turn number of the client row, `recorded_row` that of the answer, `line` the
    client row's line in the file. `conversation` holds every message of the trajectory and is shared by
    its turns; the first `prompt_end` of them are this turn's prompt. `recorded` is None where the trace
    has no answer, `delay_s` (the recorded wait before this request) and `max_tokens` where it says nothing.
    """

    trajectory_id: str
    number: int
    line: int
    conversation: tuple[Message, ...] = field(repr=False)
    prompt_end: int
    tools: tuple[Tool, ...] = field(repr=False)
    recorded: Message | None = field(repr=False)
    recorded_row: int | None
    delay_s: float | None
    max_tokens: int | None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The OpenAI messages of this turn's request, in order."""
        return self.conversation[: self.prompt_end]

    def request(self, *, max_tokens: int = 1024, forced: bool = False) -> ChatRequest:
        """Return the request as an engine takes it; the row's own limit goes before `max_tokens`."""
        return ChatRequest(
            messages=self.messages,
            tools=self.tools,
            max_tokens=self.max_tokens or max_tokens,
            recorded=self.recorded,
            forced=forced,
            session=self.trajectory_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One recorded conversation: its turns in order. `line` is where it starts in the file."""

    id: str
    line: int
    turns: tuple[Turn, ...]


def build_trajectory(members: Sequence[Row]) -> Trajectory:
    """Build a trajectory from its valid rows in turn order."""
    conversation, ends = _conversation(members)
    # The reference takes the defaults from the user row that stands first in the file.
    first = min((row for row in members if row.value["role"] == "user"), key=lambda row: row.line)
    defaults = {key: first.value[key] for key in _INHERITED if first.value.get(key) is not None}
    turns = tuple(
        _turn(row, following, conversation, end, defaults)
        for row, following, end in zip(members, [*members[1:], None], ends, strict=True)
        if row.value["role"] != "assistant"
    )
    return Trajectory(id=conversation_id(members[0]), line=min(row.line for row in members), turns=turns)


def _conversation(members: Sequence[Row]) -> tuple[tuple[Message, ...], list[int]]:
    """Return all messages, and for each row how many of them there are up to and with it."""
    system = next((row.value["system"] for row in members if row.value.get("system")), None)
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    ends = []
    for row in members:
        messages += _messages(row.value)
        ends.append(len(messages))
    return tuple(messages), ends


def _messages(row: Mapping[str, Any]) -> list[Message]:
    """Return what one row puts into the history; null fields are left out as in the reference."""
    if row.get("tool_results"):
        return [
            {"role": "tool", "tool_call_id": result["tool_call_id"], "content": result["content"]}
            for result in row["tool_results"]
        ]
    return [{key: row[key] for key in _MESSAGE_KEYS if row.get(key) is not None}]


def _turn(
    row: Row, following: Row | None, conversation: tuple[Message, ...], end: int, defaults: Mapping[str, Any]
) -> Turn:
    own = {**defaults, **{key: value for key, value in row.value.items() if value is not None}}
    answered = following is not None and following.value["role"] == "assistant"
    delay = own.get("delay_seconds")
    return Turn(
        trajectory_id=conversation_id(row),
        number=int(own["turn"]),
        line=row.line,
        conversation=conversation,
        prompt_end=end,
        tools=tuple(own.get("tools", ())),
        recorded=conversation[end] if answered else None,
        recorded_row=int(following.value["turn"]) if following is not None and answered else None,
        delay_s=None if delay is None else max(0.0, float(delay)),
        max_tokens=_limit(own),
    )


def _limit(row: Mapping[str, Any]) -> int | None:
    """Return the row's longest answer in tokens; the order of the names is the reference's."""
    limits = (row.get(key) for key in ("max_new_tokens", "max_completion_tokens", "max_tokens"))
    return next((int(limit) for limit in limits if limit), None)
