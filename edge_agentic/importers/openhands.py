"""OpenHands: the event stream of version 0 (also in evaluation outputs) and the events of the version 1 SDK.

Sources: openhands/events of All-Hands-AI/OpenHands, openhands/sdk/event of OpenHands/software-agent-sdk.
Both hold system prompt and tool schemas.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.chat_messages import read_reply, usage_of
from edge_agentic.importers.content import flatten, thinking_text
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolCall, ToolResult, UserText
from edge_agentic.importers.source import Source
from edge_agentic.importers.tool_schemas import openai_tools
from edge_agentic.importers.values import name, obj, objects, seconds, text

Event = Mapping[str, Any]
_SKIPPED = (
    "recall",
    "agent_state_changed",
    "null",
    "change_agent_state",
    "condensation",
    "condensation_request",
)


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read one session from each list of events; a folder of single events is one session."""
    sessions: list[Session] = []
    folders: dict[str, list[Event]] = {}
    for source in sources:
        values = [record.value for record in source.records]
        if source.is_document and isinstance(values[0], dict) and text(values[0].get("kind")):
            folders.setdefault(source.path.parent.parent.name or "events", []).append(values[0])
        elif any("history" in value for value in objects(values)):
            for value in objects(values):
                id_ = name(value.get("instance_id")) or source.stem
                sessions += _sessions(id_, objects(value.get("history")), notes)
        else:
            events = objects(values[0]) if isinstance(values[0], list) else objects(values)
            sessions += _sessions(source.stem, events, notes)
    for folder, events in folders.items():
        sessions += _sessions(folder, events, notes)
    return sessions


def _sessions(id_: str, events: Sequence[Event], notes: Notes) -> Iterator[Session]:
    """Yield the chat of one event stream; a condensation begins a session of its own."""
    read_event = _v1 if any(text(event.get("kind")) for event in events) else _v0
    frame = Session(id=id_, items=())
    items: list[Item] = []
    count = 1
    seen: set[str] = set()
    for event in events:
        system, tools = _system(event)
        frame = replace(frame, system=frame.system or system, tools=frame.tools or tools)
        if _condenses(event) and any(isinstance(item, Reply) for item in items):
            yield replace(frame, items=tuple(items))
            count += 1
            frame = replace(frame, id=f"{id_}.c{count}", parent=frame.id, split_reason="compaction")
            first = next((item for item in items if isinstance(item, UserText)), None)
            summary = text(event.get("summary")) or text(obj(event.get("args")).get("summary"))
            items = [each for each in (first, UserText(text=summary, kind="summary")) if each]
            notes.remark(
                "After a condensation the first text of the user and the summary are put together again."
            )
        items += read_event(event, seen, notes)
    yield replace(frame, items=tuple(items))


def _system(event: Event) -> tuple[str | None, tuple[Mapping[str, Any], ...]]:
    if event.get("action") == "system":
        args = obj(event.get("args"))
        return text(args.get("content")) or None, openai_tools(args.get("tools"))
    if event.get("kind") == "SystemPromptEvent":
        prompt = flatten(event.get("system_prompt"), Notes())
        return prompt or None, openai_tools(event.get("tools"))
    return None, ()


def _condenses(event: Event) -> bool:
    return event.get("kind") == "Condensation" or event.get("action") == "condensation"


def _v0(event: Event, seen: set[str], notes: Notes) -> list[Item]:
    """Read an event of version 0: text, reasoning and arguments are those of the model's own reply."""
    kind = text(event.get("action")) or text(event.get("observation"))
    if kind == "system" or kind in _SKIPPED:
        notes.skip(f"event {kind}")
        return []
    metadata, at = obj(event.get("tool_call_metadata")), seconds(event.get("timestamp"))
    if event.get("observation"):
        if metadata:
            call = name(metadata.get("tool_call_id"))
            return [ToolResult(call_id=call, text=text(event.get("content")), ended_s=at)]
        notes.repair("R6")
        return [UserText(text=text(event.get("content")), kind="observation")]
    if metadata:
        return _v0_reply(obj(metadata.get("model_response")), at, seen, notes)
    args = obj(event.get("args"))
    said = text(args.get("content")) or text(args.get("thought"))
    if text(event.get("source")) == "agent":
        return [Reply(text=said, ended_s=at)]
    return [UserText(text=said)]


def _v0_reply(response: Event, at: float | None, seen: set[str], notes: Notes) -> list[Item]:
    """Parallel calls are several events with the same reply, of which the first one is taken."""
    key = name(response.get("id"))
    if key is not None and key in seen:
        return []
    seen.add(key or "")
    choice = (objects(response.get("choices")) or [{}])[0]
    spent, made = usage_of(response)
    reply = read_reply(obj(choice.get("message")), notes)
    finish = text(choice.get("finish_reason")) or None
    return [replace(reply, key=key, ended_s=at, input_tokens=spent, output_tokens=made, finish=finish)]


def _v1(event: Event, seen: set[str], notes: Notes) -> list[Item]:
    """Read an event of the SDK: actions of one reply share `llm_response_id`."""
    kind, at = text(event.get("kind")), seconds(event.get("timestamp"))
    if kind == "MessageEvent":
        message = obj(event.get("llm_message"))
        if text(message.get("role")) == "assistant":
            return [replace(read_reply(message, notes), ended_s=at)]
        extended = flatten(event.get("extended_content"), notes)
        said = flatten(message.get("content"), notes)
        return [UserText(text="\n".join(each for each in (said, extended) if each))]
    if kind == "ActionEvent":
        return [_action(event, at, notes)]
    if kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        observation = obj(event.get("observation"))
        shown = flatten(observation.get("content"), notes) if observation else ""
        shown = shown or text(event.get("error")) or text(event.get("rejection_reason"))
        return [ToolResult(call_id=name(event.get("tool_call_id")), text=shown, ended_s=at)]
    notes.skip(f"event {kind or 'without a kind'}")
    return []


def _action(event: Event, at: float | None, notes: Notes) -> Reply:
    fields = obj(event.get("tool_call"))
    function = obj(fields.get("function")) or fields
    call = ToolCall(
        id=name(event.get("tool_call_id")) or name(fields.get("id")),
        name=text(function.get("name")) or text(event.get("tool_name")),
        arguments=function.get("arguments"),
    )
    return Reply(
        key=name(event.get("llm_response_id")),
        text=flatten(event.get("thought"), notes),
        reasoning=text(event.get("reasoning_content")) or thinking_text(event.get("thinking_blocks")),
        calls=(call,),
        ended_s=at,
    )
