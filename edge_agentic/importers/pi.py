"""Pi sessions (JSON Lines below ~/.pi/agent/sessions). Source: docs/session.md of badlogic/pi-mono.

Entries form a tree by `id` and `parentId`. System prompt and tool schemas are not stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.content import flatten, thinking_text, tokens
from edge_agentic.importers.covered import without_covered
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolCall, ToolResult, UserText
from edge_agentic.importers.source import Source
from edge_agentic.importers.tree import Line, branches
from edge_agentic.importers.values import name, obj, objects, seconds, text

_SUMMARIES = ("branchSummary", "compactionSummary")


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read the main path of each session, its abandoned branches and compactions."""
    return without_covered([session for source in sources for session in _file(source, notes)], notes)


def _file(source: Source, notes: Notes) -> Iterator[Session]:
    values = [obj(record.value) for record in source.records]
    head = next((value for value in values if value.get("type") == "session"), {})
    id_ = name(head.get("id")) or source.stem
    lines: dict[str, Line] = {}
    for number, value in enumerate(values):
        kind = text(value.get("type"))
        key = name(value.get("id")) or f"entry {number}"
        if kind == "session":
            continue
        notes.repair("R20", int(key in lines))
        lines[key] = _line(key, value)
        if kind not in ("message", "compaction", "branch_summary", "custom_message"):
            notes.skip(f"entry {kind or 'without a type'}")
    for number, path in enumerate(branches(list(lines.values())), start=1):
        frame = Session(id=id_, items=())
        if number > 1:
            frame = Session(id=f"{id_}.r{number}", items=(), parent=id_, split_reason="rewind")
        yield from _split(path, frame, notes)


def _line(key: str, value: Mapping[str, Any]) -> Line:
    message = obj(value.get("message"))
    role = text(message.get("role"))
    return Line(
        key=key,
        parents=(text(value.get("parentId")),),
        at_s=seconds(value.get("timestamp")) or seconds(message.get("timestamp")),
        speaks=value.get("type") == "message",
        reply=key if role == "assistant" else None,
        # The agent leaves such replies out of every later prompt.
        failed=role == "assistant" and text(message.get("stopReason")) in ("error", "aborted"),
        value=value,
    )


def _split(path: Sequence[Line], frame: Session, notes: Notes) -> Iterator[Session]:
    """Yield the sessions of one path: a compaction leaves its summary and the entries it kept."""
    items: list[Item] = []
    number, current, start = 1, frame, 0
    for position, line in enumerate(path):
        if line.value.get("type") == "compaction":
            if any(isinstance(item, Reply) for item in items):
                yield replace(current, items=tuple(items))
                number += 1
                id_ = f"{frame.id}.c{number}"
                current = Session(id=id_, items=(), parent=current.id, split_reason="compaction")
            start = _first_kept(line, path, position)
            kept = (item for each in path[start:position] for item in _items(each, Notes()))
            items = [UserText(text=text(line.value.get("summary")), kind="summary"), *kept]
            continue
        model = text(obj(line.value.get("message")).get("model"))
        current = replace(current, model=current.model or model or None)
        items += _items(line, notes)
    yield replace(current, items=tuple(items))


def _first_kept(line: Line, path: Sequence[Line], position: int) -> int:
    """Return where on the path the kept entries begin; older files number the entries."""
    index = line.value.get("firstKeptEntryIndex")
    if isinstance(index, int) and not isinstance(index, bool):
        return min(max(index - 1, 0), position)
    wanted = text(line.value.get("firstKeptEntryId"))
    return next((i for i, each in enumerate(path[:position]) if each.key == wanted), position)


def _items(line: Line, notes: Notes) -> Sequence[Item]:
    value = line.value
    if value.get("type") == "branch_summary":
        return [UserText(text=text(value.get("summary")), kind="summary")]
    if value.get("type") == "custom_message":
        return [UserText(text=flatten(value.get("content"), notes), kind="custom")]
    if value.get("type") != "message":
        return []
    message = obj(value.get("message"))
    role = text(message.get("role"))
    if role == "assistant":
        return [_reply(line, message)]
    if role == "toolResult":
        shown = flatten(message.get("content"), notes)
        return [ToolResult(call_id=name(message.get("toolCallId")), text=shown, ended_s=line.at_s)]
    if role == "bashExecution":
        ran = f"Ran `{text(message.get('command'))}`\n```\n{text(message.get('output'))}\n```"
        notes.remark("Commands that the user ran are put together like Pi does; their wording may differ.")
        return [UserText(text=ran, kind="bash")]
    if role in _SUMMARIES:
        return [UserText(text=text(message.get("summary")), kind="summary")]
    return [UserText(text=flatten(message.get("content"), notes), kind=role or "user")]


def _reply(line: Line, message: Mapping[str, Any]) -> Reply:
    blocks = objects(message.get("content"))
    usage = obj(message.get("usage"))
    return Reply(
        key=line.key,
        text="\n".join(text(block.get("text")) for block in blocks if block.get("type") == "text"),
        reasoning=thinking_text([block for block in blocks if block.get("type") == "thinking"]),
        calls=tuple(
            ToolCall(id=name(block.get("id")), name=text(block.get("name")), arguments=block.get("arguments"))
            for block in blocks
            if block.get("type") == "toolCall"
        ),
        ended_s=line.at_s,
        input_tokens=tokens(usage, "input", "cacheRead", "cacheWrite"),
        output_tokens=tokens(usage, "output"),
        finish=text(message.get("stopReason")) or None,
        failed=line.failed,
    )
