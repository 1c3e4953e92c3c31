"""Codex CLI rollouts (JSON Lines below ~/.codex/sessions).

Source: the protocol types of openai/codex. A rollout holds Responses items one by one. The system prompt is
stored (`base_instructions`), tool schemas are not, and reasoning is encrypted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from edge_agentic.importers.codex_calls import Calls
from edge_agentic.importers.covered import without_covered
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolResult, UserText
from edge_agentic.importers.responses_items import read_item
from edge_agentic.importers.source import Source, parse_json
from edge_agentic.importers.tool_schemas import openai_tools
from edge_agentic.importers.values import count, name, number, obj, objects, seconds, text

_WALL_TIME = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds$", re.MULTILINE)
_CONTEXT = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<skill>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<subagent_notification>",
)
_BARE = ("message", "reasoning", "function_call", "function_call_output", "local_shell_call")


@dataclass(slots=True, kw_only=True)
class _Rollout:
    """What was read of a file so far."""

    frame: Session
    calls: Calls
    items: list[Item] = field(default_factory=list)
    done: list[Session] = field(default_factory=list)
    rewound: list[Session] = field(default_factory=list)
    named: bool = False


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read each rollout; compactions begin a session of their own, copies of a parent are left out."""
    sessions = [session for source in sources for session in _file(source, notes)]
    return without_covered(sessions, notes)


def _file(source: Source, notes: Notes) -> list[Session]:
    values = [obj(record.value) for record in source.records]
    rollout = _Rollout(frame=Session(id=source.stem, items=()), calls=Calls(values))
    for value in values:
        _record(rollout, value, notes)
    return [*rollout.done, replace(rollout.frame, items=tuple(rollout.items)), *rollout.rewound]


def _record(rollout: _Rollout, value: Mapping[str, Any], notes: Notes) -> None:
    kind, payload = text(value.get("type")), obj(value.get("payload"))
    if kind == "response_item":
        _response_item(rollout, payload, seconds(value.get("timestamp")), notes)
    elif kind == "session_meta":
        _meta(rollout, payload)
    elif kind == "event_msg" and payload.get("type") == "token_count":
        rollout.items += rollout.calls.counted(obj(payload.get("info")))
    elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
        _roll_back(rollout, count(payload.get("num_turns")) or 0)
    elif kind == "turn_context":
        rollout.frame = replace(
            rollout.frame, model=rollout.frame.model or text(payload.get("model")) or None
        )
    elif kind == "compacted":
        _compact(rollout, payload, notes)
    elif kind in _BARE:
        _response_item(rollout, value, None, notes)
    elif not kind and "id" in value:
        _meta(rollout, value)
    else:
        inner = text(payload.get("type"))
        notes.skip(f"record {kind or 'without a type'}{f' {inner}' if inner else ''}")


def _roll_back(rollout: _Rollout, turns: int) -> None:
    """Cut off the user's last turns, as Codex does for its later prompts; what was left is a branch (R13)."""
    begins = [at for at, item in enumerate(rollout.items) if _begins_turn(item)]
    if not turns or not begins:
        return
    frame = rollout.frame
    branch = f"{frame.id}.r{len(rollout.rewound) + 2}"
    rollout.rewound.append(
        replace(frame, id=branch, items=tuple(rollout.items), parent=frame.id, split_reason="rewind")
    )
    rollout.items = rollout.items[: begins[-min(turns, len(begins))]]
    rollout.calls.other()


def _begins_turn(item: Item) -> bool:
    """Whether a user asked here; Codex itself puts its instructions and its environment in as a user's texts."""
    return isinstance(item, UserText) and item.kind == "user" and not item.text.lstrip().startswith(_CONTEXT)


def _meta(rollout: _Rollout, payload: Mapping[str, Any]) -> None:
    """Take the first session_meta: a fork copies its parent's behind its own."""
    if rollout.named:
        return
    rollout.named = True
    system = text(obj(payload.get("base_instructions")).get("text")) or text(payload.get("instructions"))
    spawn = obj(obj(obj(payload.get("source")).get("subagent")).get("thread_spawn"))
    parent = name(spawn.get("parent_thread_id")) or name(payload.get("forked_from_id"))
    rollout.frame = replace(
        rollout.frame,
        id=name(payload.get("id")) or rollout.frame.id,
        system=system or None,
        tools=openai_tools(payload.get("dynamic_tools")),
        parent=parent,
        split_reason=None if not parent else "subagent" if spawn else "fork",
    )


def _response_item(rollout: _Rollout, payload: Mapping[str, Any], at: float | None, notes: Notes) -> None:
    for item in read_item(payload, notes):
        if isinstance(item, Reply):
            rollout.items.append(replace(item, key=rollout.calls.part(), ended_s=at))
        elif isinstance(item, ToolResult):
            rollout.calls.result()
            rollout.items.append(_timed(item, None if rollout.calls.counts_first else at))
        else:
            rollout.calls.other()
            rollout.items.append(item)


def _timed(item: ToolResult, at: float | None) -> ToolResult:
    """Give a result its time: the seconds the tool states, else the stamp of the record."""
    document: Any = None
    if item.text.startswith("{"):
        try:
            document = parse_json(item.text)
        except ValueError:
            document = None
    ran = number(obj(obj(document).get("metadata")).get("duration_seconds"))
    if match := _WALL_TIME.search(item.text[:2000]):
        ran = float(match[1])
    return replace(item, wait_s=ran) if ran is not None else replace(item, ended_s=at)


def _compact(rollout: _Rollout, payload: Mapping[str, Any], notes: Notes) -> None:
    """Close the session; the next one begins with what the compaction left."""
    parent = replace(rollout.frame, items=tuple(rollout.items))
    rollout.calls.other()
    history = objects(payload.get("replacement_history"))
    if history:
        kept: list[Item] = [item for each in history for item in read_item(each, notes)]
    else:
        notes.remark(
            "A compaction does not say what it left; the user's texts and the summary are put together again."
        )
        kept = [item for item in rollout.items if isinstance(item, UserText)]
        kept.append(UserText(text=text(payload.get("message")), kind="summary"))
    if not any(isinstance(item, Reply) for item in parent.items):
        rollout.items = kept
        return
    rollout.done.append(parent)
    base = rollout.done[0].id
    rollout.frame = replace(
        parent, id=f"{base}.c{len(rollout.done) + 1}", items=(), parent=parent.id, split_reason="compaction"
    )
    rollout.items = kept
