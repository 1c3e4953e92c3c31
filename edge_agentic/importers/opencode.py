"""OpenCode sessions: the SQLite database, `opencode export`, the older storage tree, and event streams.

Source: message-v2.ts of anomalyco/opencode. All four hold messages of typed parts; a message may hold
several model calls, each from `step-start` to `step-finish`. System prompt and tool schemas are not stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.content import placeholder, tokens
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolCall, ToolResult, UserText
from edge_agentic.importers.opencode_files import exports_of
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import name, number, obj, objects, text

_SILENT = ("step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry", "compaction")


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read every session of the sources; a child session is a sub-agent of its parent."""
    exports = list(exports_of(sources, notes))
    spawned = _spawns(exports)
    return [session for export in exports for session in _sessions(export, spawned, notes)]


def _spawns(exports: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the calls of the task tool by the session that each began."""
    found = {}
    for export in exports:
        for message in objects(export.get("messages")):
            for part in objects(message.get("parts")):
                metadata = obj(obj(part.get("state")).get("metadata"))
                if child := text(metadata.get("sessionId") or metadata.get("sessionID")):
                    found[child] = text(part.get("callID"))
    return found


def _sessions(export: Mapping[str, Any], spawned: Mapping[str, str], notes: Notes) -> Iterator[Session]:
    info = obj(export.get("info"))
    session = Session(id=name(info.get("id")) or "session", items=())
    if parent := name(info.get("parentID")):
        session = replace(session, parent=parent, split_reason="subagent", spawn_call=spawned.get(session.id))
    items: list[Item] = []
    base, count = session.id, 1
    for message in objects(export.get("messages")):
        if _compacts(message) and items:
            yield replace(session, items=tuple(items))
            count += 1
            session = Session(id=f"{base}.c{count}", items=(), parent=session.id, split_reason="compaction")
            items = []
        model = text(obj(message.get("info")).get("modelID"))
        session = replace(session, model=session.model or model or None)
        items += _message(message, notes)
    yield replace(session, items=tuple(items))


def _compacts(message: Mapping[str, Any]) -> bool:
    """Whether the message is the summary that stands for all before it."""
    return obj(message.get("info")).get("summary") is True


def _message(message: Mapping[str, Any], notes: Notes) -> Sequence[Item]:
    info, parts = obj(message.get("info")), objects(message.get("parts"))
    if text(info.get("role")) == "user":
        return list(_user(parts, notes))
    if text(info.get("role")) != "assistant":
        notes.skip(f"message of role {text(info.get('role')) or '(none)'}")
        return []
    if _compacts(message):
        # The summary is the model's own text, but from here on it is what the prompts begin with.
        return [
            UserText(text=text(part.get("text")), kind="summary")
            for part in parts
            if part.get("type") == "text"
        ]
    _note_cleared(parts, notes)
    error = text(obj(info.get("error")).get("name"))
    failed = bool(error) and error != "MessageAbortedError"
    found = _assistant(info, parts, notes)
    # Of the calls that ended in an error only an aborted one stays in later prompts.
    return [replace(item, failed=failed) if isinstance(item, Reply) else item for item in found]


def _note_cleared(parts: Sequence[Mapping[str, Any]], notes: Notes) -> None:
    if any(obj(obj(part.get("state")).get("time")).get("compacted") for part in parts):
        notes.remark(
            "Some tool outputs were cleared from later prompts of the agent; here they stay, so later prompts "
            "are longer than recorded and reuse more."
        )


def _user(parts: Sequence[Mapping[str, Any]], notes: Notes) -> Iterator[Item]:
    for part in parts:
        kind = text(part.get("type"))
        if kind == "text" and part.get("ignored") is not True:
            yield UserText(text=text(part.get("text")), kind="reminder" if part.get("synthetic") else "user")
        elif kind == "file" and text(part.get("mime")) not in ("text/plain", "application/x-directory"):
            # The text of a plain file is sent as a text part of its own.
            notes.repair("R15")
            yield UserText(text=placeholder("file", part))
        elif kind not in _SILENT:
            notes.skip(f"part {kind or 'without a type'}")


def _assistant(info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], notes: Notes) -> Iterator[Item]:
    """Yield each model call of a message, followed by the results of its tools."""
    key = name(info.get("id")) or "message"
    step, results = 0, list[ToolResult]()
    used = False
    for part in parts:
        kind = text(part.get("type"))
        if kind == "step-start" and used:
            yield from results
            step, results, used = step + 1, [], False
        elif kind in ("text", "reasoning", "tool"):
            if kind != "tool" and results and not _before(part, results):
                # What follows the result of a tool was said by the next call, marked or not.
                yield from results
                step, results = step + 1, []
            used = True
            yield _part(part, kind, f"{key}/{step}")
            results += _result(part) if kind == "tool" else []
        elif kind == "step-finish":
            yield _counted(part, f"{key}/{step}")
        elif kind not in _SILENT:
            notes.skip(f"part {kind or 'without a type'}")
    if not any(part.get("type") == "step-finish" for part in parts) and obj(info.get("tokens")):
        yield _counted({"tokens": info.get("tokens"), "reason": info.get("finish")}, f"{key}/{step}")
    yield from results


def _before(part: Mapping[str, Any], results: Sequence[ToolResult]) -> bool:
    """Whether a part is known to have begun before the tools were done."""
    began = number(obj(part.get("time")).get("start"))
    ended = max((result.ended_s or 0.0 for result in results), default=0.0)
    return began is not None and began / 1000 < ended


def _counted(part: Mapping[str, Any], key: str) -> Reply:
    counts = obj(part.get("tokens"))
    cache = obj(counts.get("cache"))
    spent = tokens(
        {**counts, "read": cache.get("read"), "write": cache.get("write")}, "input", "read", "write"
    )
    made = tokens(counts, "output", "reasoning")
    reason = text(part.get("reason")) or None
    return Reply(key=key, input_tokens=spent or None, output_tokens=made, finish=reason)


def _part(part: Mapping[str, Any], kind: str, key: str) -> Reply:
    if kind == "text":
        return Reply(key=key, text=text(part.get("text")))
    if kind == "reasoning":
        return Reply(key=key, reasoning=text(part.get("text")))
    state = obj(part.get("state"))
    call = ToolCall(id=name(part.get("callID")), name=text(part.get("tool")), arguments=state.get("input"))
    return Reply(key=key, calls=(call,))


def _result(part: Mapping[str, Any]) -> list[ToolResult]:
    """Return the result of a tool that came to its end; an aborted one stays pending or running."""
    state = obj(part.get("state"))
    status = text(state.get("status"))
    if status not in ("completed", "error"):
        return []
    shown = text(state.get("output")) if status == "completed" else f"Error: {text(state.get('error'))}"
    time = obj(state.get("time"))
    started, ended = number(time.get("start")), number(time.get("end"))
    return [
        ToolResult(
            call_id=name(part.get("callID")),
            text=shown,
            started_s=None if started is None else started / 1000,
            ended_s=None if ended is None else ended / 1000,
        )
    ]
