"""ATIF trajectories (Agent Trajectory Interchange Format), versions 1.0 to 1.8, read leniently.

Source: RFC 0001 of harbor-framework/harbor. Harbor converts the logs of some thirty agents to it. Times of
a step are not defined as start or end, so no waits are taken from them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.content import flatten, tokens
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolCall, ToolResult, UserText
from edge_agentic.importers.source import Source
from edge_agentic.importers.tool_schemas import openai_tools
from edge_agentic.importers.values import name, obj, objects, text

_KNOWN = re.compile(r"ATIF-v1\.[0-8]\Z")


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read each trajectory; continuations and sub-agents are linked where their files are named."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for source in sources:
        for record in source.records:
            document = obj(record.value)
            found.append((source.path.name, document))
            found += [("", each) for each in objects(document.get("subagent_trajectories"))]
    steps = [step for _, document in found for step in objects(document.get("steps"))]
    if copied := sum(step.get("is_copied_context") is True for step in steps):
        notes.remark(
            f"{copied} steps are context copied from an earlier trajectory; their turns are asked again."
        )
    ids = _ids([document for _, document in found], [file for file, _ in found])
    links = _links(found, ids)
    return [
        session
        for (_, document), id_ in zip(found, ids, strict=True)
        for session in _sessions(document, replace(links.get(id_, Session(id=id_, items=())), id=id_), notes)
    ]


def _ids(documents: Sequence[Mapping[str, Any]], files: Sequence[str]) -> list[str]:
    """A trajectory is named by its own id, by its session's where that is unique here, else by its file."""
    sessions = [text(document.get("session_id")) for document in documents]
    named = []
    for document, session, file in zip(documents, sessions, files, strict=True):
        own = session if sessions.count(session) == 1 else ""
        stem = file.removesuffix(".json").removesuffix(".jsonl")
        named.append(text(document.get("trajectory_id")) or own or stem or session or "trajectory")
    return [each if named.count(each) == 1 else f"{each}-{n}" for n, each in enumerate(named, start=1)]


def _links(found: Sequence[tuple[str, Mapping[str, Any]]], ids: Sequence[str]) -> dict[str, Session]:
    """Return a frame with the parent for each trajectory that another one names."""
    frames: dict[str, Session] = {}
    for (parent_file, document), parent in zip(found, ids, strict=True):
        for reference, call, reason in _references(document):
            for (file, child), id_ in zip(found, ids, strict=True):
                known = {
                    text(child.get("trajectory_id")),
                    text(child.get("session_id")),
                    *_names(parent_file, file),
                }
                if id_ != parent and known.intersection(reference) - {""}:
                    frames[id_] = Session(
                        id=id_, items=(), parent=parent, split_reason=reason, spawn_call=call
                    )
    return frames


def _names(parent_file: str, file: str) -> tuple[str, ...]:
    """Return how a file beside the parent's may be referred to; both may bear the name of their run in front."""
    if not file:
        return ()
    run = parent_file.removesuffix("trajectory.json")
    return (file, file[len(run) :]) if run != parent_file and file.startswith(run) else (file,)


def _references(document: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str | None, Any]]:
    if continued := text(document.get("continued_trajectory_ref")):
        yield (continued.rsplit("/", 1)[-1],), None, "compaction"
    for step in objects(document.get("steps")):
        for result in objects(obj(step.get("observation")).get("results")):
            for reference in objects(result.get("subagent_trajectory_ref")):
                keys = ("trajectory_id", "session_id", "trajectory_path")
                named = tuple(text(reference.get(key)).rsplit("/", 1)[-1] for key in keys)
                yield named, name(result.get("source_call_id")), "subagent"


def _sessions(document: Mapping[str, Any], frame: Session, notes: Notes) -> Iterator[Session]:
    agent = obj(document.get("agent"))
    version = text(document.get("schema_version"))
    if not _KNOWN.match(version):
        notes.remark(
            f"The version {version or '(none)'} is not one of ATIF-v1.0 to 1.8; it is read like those."
        )
    frame = replace(
        frame, tools=openai_tools(agent.get("tool_definitions")), model=text(agent.get("model_name")) or None
    )
    steps = objects(document.get("steps"))
    items: list[Item] = []
    count, base = 1, frame.id
    for step in steps:
        if text(step.get("source")) == "system" and items and _hands_over(step):
            yield replace(frame, items=tuple(items))
            count += 1
            frame = replace(frame, id=f"{base}.c{count}", parent=frame.id, split_reason="compaction")
            items = []
        elif text(step.get("source")) == "system" and frame.system is None and not items:
            frame = replace(frame, system=flatten(step.get("message"), notes) or None)
        else:
            items += _step(step, not items, notes)
    if items:
        yield replace(frame, items=tuple(items))


def _hands_over(step: Mapping[str, Any]) -> bool:
    """Whether a system step says that sub-agents have written the context anew."""
    results = objects(obj(step.get("observation")).get("results"))
    return any(result.get("subagent_trajectory_ref") for result in results)


def _step(step: Mapping[str, Any], leads: bool, notes: Notes) -> Sequence[Item]:
    source, message = text(step.get("source")), flatten(step.get("message"), notes)
    if source == "user":
        return [UserText(text=message)]
    if source == "system" and leads:
        return [UserText(text=message, kind="system")]
    if source != "agent":
        # In the middle of a chat this is news of the harness, which the model is not told.
        notes.skip(f"{source or 'nameless'} step in the middle")
        return []
    if step.get("llm_call_count") not in (None, 1):
        notes.remark(
            "Some steps stand for several model calls or none (llm_call_count); each is one turn here."
        )
    return [_reply(step, message), *_observed(step, notes)]


def _reply(step: Mapping[str, Any], message: str) -> Reply:
    calls = tuple(
        ToolCall(
            id=name(call.get("tool_call_id")),
            name=text(call.get("function_name")),
            arguments=call.get("arguments"),
        )
        for call in objects(step.get("tool_calls"))
    )
    metrics = obj(step.get("metrics"))
    return Reply(
        text=message,
        reasoning=text(step.get("reasoning_content")),
        calls=calls,
        input_tokens=tokens(metrics, "prompt_tokens"),
        output_tokens=tokens(metrics, "completion_tokens"),
    )


def _observed(step: Mapping[str, Any], notes: Notes) -> Iterator[Item]:
    results = objects(obj(step.get("observation")).get("results"))
    for result in results:
        content = flatten(result.get("content"), notes)
        if step.get("tool_calls"):
            yield ToolResult(call_id=name(result.get("source_call_id")), text=content)
        elif content:
            notes.repair("R6")
            yield UserText(text=content, kind="observation")
