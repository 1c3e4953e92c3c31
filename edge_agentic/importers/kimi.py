"""Kimi CLI's `wire.jsonl`: system prompt, the tool schemas where they are kept, and every step of the loop.

A step is one model call: its parts come as loop events between `step.begin` and `step.end`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from edge_agentic.importers.content import flatten, tokens
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolCall, ToolResult, UserText
from edge_agentic.importers.source import Source, parse_json
from edge_agentic.importers.tool_schemas import openai_tools
from edge_agentic.importers.values import count, name, obj, seconds, text


@dataclass(slots=True, kw_only=True)
class _Wire:
    """What was read of a file so far."""

    frame: Session
    items: list[Item] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read each wire file; compactions begin a session of their own."""
    return [session for source in sources for session in _sessions(source, notes)]


def _sessions(source: Source, notes: Notes) -> Iterator[Session]:
    base = source.path.parent.name if source.stem == "wire" else source.stem
    wire = _Wire(frame=Session(id=base or "wire", items=()))
    number = 1
    for record in source.records:
        value = obj(record.value)
        kind = text(value.get("type"))
        if kind in ("context.apply_compaction", "context.compacted") and wire.items:
            yield replace(wire.frame, items=(*wire.items, *wire.results))
            number += 1
            id_ = f"{base}.c{number}"
            frame = replace(wire.frame, id=id_, parent=wire.frame.id, split_reason="compaction")
            wire = _Wire(frame=frame, items=[UserText(text=text(value.get("summary")), kind="summary")])
        else:
            _record(wire, kind, value, notes)
    yield replace(wire.frame, items=(*wire.items, *wire.results))


def _record(wire: _Wire, kind: str, value: Mapping[str, Any], notes: Notes) -> None:
    if kind == "context.append_message":
        message = obj(value.get("message"))
        _flush(wire)
        wire.items.append(
            UserText(text=flatten(message.get("content"), notes), kind=text(message.get("role")))
        )
    elif kind == "context.append_loop_event":
        _event(wire, obj(value.get("event")), seconds(value.get("time")), notes)
    elif kind == "config.update":
        wire.frame = replace(wire.frame, system=text(value.get("systemPrompt")) or wire.frame.system)
    elif kind == "llm.tools_snapshot":
        wire.frame = replace(wire.frame, tools=_tools(value.get("tools")) or wire.frame.tools)
    elif kind == "llm.request":
        model, limit = text(value.get("model")), count(value.get("maxTokens"))
        wire.frame = replace(
            wire.frame,
            model=wire.frame.model or model or None,
            max_tokens=wire.frame.max_tokens or limit or None,
        )
    else:
        notes.skip(f"record {kind or 'without a type'}")


def _tools(tools: Any) -> tuple[Mapping[str, Any], ...]:
    if isinstance(tools, str):
        try:
            tools = parse_json(tools)
        except ValueError:
            return ()
    return openai_tools(tools)


def _flush(wire: _Wire) -> None:
    """Results are recorded before the end of the step that called for them, and belong behind it."""
    wire.items += wire.results
    wire.results = []


def _event(wire: _Wire, event: Mapping[str, Any], at: float | None, notes: Notes) -> None:
    kind, key = text(event.get("type")), name(event.get("stepUuid")) or name(event.get("uuid"))
    if kind == "step.begin":
        _flush(wire)
    elif kind == "content.part":
        part = obj(event.get("part"))
        thought = text(part.get("think"))
        said = "" if "think" in part else flatten([part], notes)
        wire.items.append(Reply(key=key, text=said, reasoning=thought, ended_s=at))
    elif kind == "tool.call":
        call = ToolCall(
            id=name(event.get("toolCallId")), name=text(event.get("name")), arguments=event.get("args")
        )
        wire.items.append(Reply(key=key, calls=(call,), ended_s=at))
    elif kind == "tool.result":
        shown = flatten(obj(event.get("result")).get("output"), notes)
        wire.results.append(ToolResult(call_id=name(event.get("toolCallId")), text=shown, ended_s=at))
    elif kind == "step.end":
        usage = obj(event.get("usage"))
        wire.items.append(
            Reply(
                key=key,
                input_tokens=tokens(usage, "inputOther", "inputCacheRead", "inputCacheCreation"),
                output_tokens=tokens(usage, "output"),
                finish=text(event.get("finishReason")) or None,
            )
        )
    else:
        notes.skip(f"loop event {kind or 'without a type'}")
