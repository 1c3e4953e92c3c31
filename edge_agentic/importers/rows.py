"""A session to the rows of a trajectory, in the only order the MLPerf loader takes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from edge_agentic.importers.normal import Notes, Reply, Session, ToolResult, UserText
from edge_agentic.importers.pairing import Ids, OpenCall, call_row, pair
from edge_agentic.importers.steps import Step, joined, steps_of

Row = dict[str, Any]
RESUMED = "[session resumed]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the user chose: the longest wait kept in seconds, the output limit written into the rows, and
    whether a reply without a prompt before it is kept behind a fixed text."""

    max_delay_s: float = 10.0
    max_tokens: int = 1024
    keep_head: bool = False


@dataclass(slots=True, kw_only=True)
class _Turn:
    """A client row, the reply to it, and the reply's calls under the ids they have in the rows."""

    client: Row
    reply: Reply
    calls: list[OpenCall]


@dataclass(slots=True, kw_only=True)
class _Chat:
    """The turns so far."""

    notes: Notes
    limits: Limits
    ids: Ids
    turns: list[_Turn] = field(default_factory=list)

    @property
    def open_calls(self) -> list[OpenCall]:
        """The calls that wait for their results."""
        return self.turns[-1].calls if self.turns else []


def build_rows(session: Session, limits: Limits, notes: Notes) -> list[Row]:
    """Return the rows of one session, without conversation_id and turn; none where nothing is left.

    Every repair is counted in `notes` and named in the `repairs` of the row it changed.
    """
    chat = _Chat(notes=notes, limits=limits, ids=Ids(notes))
    steps, tail = steps_of(session.items, notes)
    for step in steps:
        _add(chat, step)
    _end(chat, tail)
    rows = [row for turn in chat.turns for row in (turn.client, _assistant(turn, notes))]
    if rows:
        rows[0] = {**_head(session, limits), **rows[0]}
    return rows


def _head(session: Session, limits: Limits) -> Row:
    """Return the fields that the first user row states for the whole trajectory."""
    head: Row = {"max_new_tokens": limits.max_tokens, "stream": True}
    if session.system:
        head["system"] = session.system
    if session.tools:
        head["tools"] = [dict(tool) for tool in session.tools]
    if session.model:
        head["model"] = session.model
    if session.max_tokens:
        head["recorded_max_tokens"] = session.max_tokens
    return head


def _add(chat: _Chat, step: Step) -> None:
    before = chat.notes.repairs.copy()
    client = _client(chat, step.new)
    if client is None and not chat.turns:
        chat.notes.repair("R11")
        if not chat.limits.keep_head:
            return
        client = {"role": "user", "content": RESUMED}
    calls = [OpenCall(recorded_id=call.id, id=chat.ids.unique(call.id)) for call in step.reply.calls]
    if client is None:
        # Two replies with nothing between them: one row has to hold both.
        chat.notes.repair("R3")
        last = chat.turns[-1]
        last.reply = joined(last.reply, step.reply, "\n\n")
        last.calls += calls
    else:
        if step.reply.limit:
            client["max_new_tokens"] = step.reply.limit
        chat.turns.append(_Turn(client=client, reply=step.reply, calls=calls))
    _name_repairs(chat.turns[-1].client, chat.notes, before)


def _name_repairs(row: Row, notes: Notes, before: Counter[str]) -> None:
    changed = {*row.get("repairs", ()), *(notes.repairs - before)}
    if changed:
        row["repairs"] = sorted(changed)


def _client(chat: _Chat, new: Sequence[UserText | ToolResult]) -> Row | None:
    """Return the user or tool row that asks for the next reply, None where nothing new was put."""
    results = [item for item in new if isinstance(item, ToolResult)]
    texts = [item for item in new if isinstance(item, UserText)]
    if chat.open_calls and new:
        return _tool_row(chat, results, texts)
    chat.notes.repair("R5", len(results))
    if not texts:
        return None
    if len(texts) > 1:
        chat.notes.repair("R1", len(texts) - 1)
    row: Row = {"role": "user", "content": "\n\n".join(item.text for item in texts)}
    waits = [item.wait for item in texts if item.wait is not None]
    return {**row, **_kept(chat, sum(wait for wait, _ in waits), waits[0][1])} if waits else row


def _tool_row(chat: _Chat, results: Sequence[ToolResult], texts: Sequence[UserText]) -> Row:
    pairs = pair(chat.open_calls, results, chat.notes)
    entries = [{"tool_call_id": call.id, "content": result.text} for call, result in pairs]
    row: Row = {"role": "tool", "tool_results": entries}
    if texts:
        # A user row of its own would be one more request, and strict templates refuse it after a tool's.
        chat.notes.repair("R9", len(texts))
        entries[-1]["content"] = "\n\n".join([entries[-1]["content"], *(item.text for item in texts)])
        row["folded"] = [item.kind for item in texts]
    return {**row, **_delay(chat, [result for _, result in pairs])}


def _delay(chat: _Chat, results: Iterable[ToolResult]) -> Row:
    """Return the wait of the agent for its tools, clamped to [0, the cap] (R19)."""
    wait, source = _wait(chat.turns[-1].reply, list(results))
    return {"delay_source": "none"} if wait is None else _kept(chat, wait, source)


def _kept(chat: _Chat, wait: float, source: str) -> Row:
    kept = min(max(0.0, wait), chat.limits.max_delay_s)
    row: Row = {"delay_seconds": round(kept, 6), "delay_source": source}
    if kept != wait:
        chat.notes.repair("R19")
        row["recorded_delay_seconds"] = round(wait, 6)
    return row


def _wait(reply: Reply, results: Sequence[ToolResult]) -> tuple[float | None, str]:
    """Return the wait in seconds and where it is from; the best of what was recorded."""
    ran = [result.wait_s for result in results if result.wait_s is not None]
    if ran:
        return sum(ran), "execution_time"
    ended = [result.ended_s for result in results if result.ended_s is not None]
    started = [result.started_s for result in results if result.started_s is not None]
    if started and ended:
        return max(ended) - min(started), "span"
    if ended and reply.ended_s is not None:
        return max(ended) - reply.ended_s, "timestamps"
    return None, "none"


def _end(chat: _Chat, tail: Sequence[UserText | ToolResult]) -> None:
    """Leave out what no reply followed; the calls of the last reply then have no results, and need none."""
    if tail:
        chat.notes.repair("R10")
    answered = {item.call_id for item in tail if isinstance(item, ToolResult) and item.call_id}
    unnamed = sum(isinstance(item, ToolResult) and not item.call_id for item in tail)
    orphans = sum(call.recorded_id not in answered for call in chat.open_calls) - unnamed
    chat.notes.repair("R4", max(0, orphans))


def _assistant(turn: _Turn, notes: Notes) -> Row:
    reply = turn.reply
    row: Row = {"role": "assistant"}
    if reply.text:
        row["content"] = reply.text
    if reply.reasoning:
        row["reasoning_content"] = reply.reasoning
    before = notes.repairs.copy()
    if reply.calls:
        row["tool_calls"] = [
            call_row(call, new.id, notes) for call, new in zip(reply.calls, turn.calls, strict=True)
        ]
    _name_repairs(row, notes, before)
    extra = {
        "recorded_input_tokens": reply.input_tokens,
        "recorded_output_tokens": reply.output_tokens,
        "recorded_finish_reason": reply.finish,
    }
    return row | {key: value for key, value in extra.items() if value is not None}
