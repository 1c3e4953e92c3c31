"""Claude Code sessions (JSON Lines below ~/.claude/projects) and `--output-format stream-json`.

There is no public specification. A record holds one content block of a reply, or one tool result; records
form a tree by `parentUuid`. System prompt, tool schemas and most reminders are not stored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers import anthropic_messages
from edge_agentic.importers.chat_messages import usage_of
from edge_agentic.importers.covered import without_covered
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolResult, UserText
from edge_agentic.importers.source import Source
from edge_agentic.importers.tree import Line, branches
from edge_agentic.importers.values import arr, name, obj, objects, seconds, text


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read the main chat of each file, its abandoned branches, compactions and sub-agents."""
    sessions = [session for source in sources for session in _file(source, notes)]
    return without_covered(sessions, notes)


def _file(source: Source, notes: Notes) -> Iterator[Session]:
    lines = _lines(source, notes)
    groups = _by_agent(lines)
    main = _main_name(source, groups)
    spawned = _spawns(lines)
    for agent, members in groups.items():
        results = _results(members, notes)
        for number, path in enumerate(branches(members), start=1):
            prompt = _first_text(path)
            call = spawned.get(agent) or spawned.get(prompt)
            yield from _split(path, results, _frame(agent, number, main, call), notes)


def _frame(agent: str, number: int, main: str, call: str | None) -> Session:
    """Return the id of one path and what it belongs to; the first path is no branch."""
    base = f"{main}.agent-{agent}" if agent else main
    if number > 1:
        return Session(id=f"{base}.r{number}", items=(), parent=base, split_reason="rewind")
    if agent:
        return Session(id=base, items=(), parent=main, split_reason="subagent", spawn_call=call)
    return Session(id=base, items=())


def _main_name(source: Source, groups: Mapping[str, Sequence[Line]]) -> str:
    """A file of one sub-agent lies in a folder that is named after its session."""
    if "subagents" in source.path.parts[-2:-1] and "" not in groups:
        return source.path.parts[-3]
    return source.stem


def _lines(source: Source, notes: Notes) -> dict[str, Line]:
    """Return the records that can be part of a chat by uuid: first position, last content (R20)."""
    lines: dict[str, Line] = {}
    for record in source.records:
        value = obj(record.value)
        kind = text(value.get("type"))
        if not value:
            notes.repair("R18")
            continue
        if kind == "system" and value.get("subtype") == "init":
            notes.remark(
                "stream-json names the tools, but holds neither their schemas nor the system prompt."
            )
        uuid = name(value.get("uuid"))
        key = uuid or f"line {record.line}"
        if key in lines:
            notes.repair("R20")
            lines[key] = _line(key, value)
            continue
        if kind not in ("user", "assistant"):
            notes.skip(f"record {kind or 'without a type'}")
        if uuid or kind in ("user", "assistant"):
            lines[key] = _line(key, value)
    return lines


def _line(key: str, value: Mapping[str, Any]) -> Line:
    kind, message = text(value.get("type")), obj(value.get("message"))
    reply = None
    if kind == "assistant":
        reply = name(message.get("id")) or name(value.get("requestId")) or key
    return Line(
        key=key,
        parents=(text(value.get("parentUuid")), text(value.get("logicalParentUuid"))),
        at_s=seconds(value.get("timestamp")),
        speaks=kind in ("user", "assistant"),
        reply=reply,
        failed=value.get("isApiErrorMessage") is True,
        value=value,
    )


def _by_agent(lines: Mapping[str, Line]) -> dict[str, list[Line]]:
    """Return the records of the main chat ("") and of each sub-agent, in file order."""
    agents: dict[str, str] = {}
    groups: dict[str, list[Line]] = {}
    for line in lines.values():
        agent = agents[line.key] = _agent(line, agents)
        groups.setdefault(agent, []).append(line)
    return groups


def _agent(line: Line, agents: Mapping[str, str]) -> str:
    """A sub-agent without an id is named by the first record of its chain."""
    if call := text(line.value.get("parent_tool_use_id")):
        return call
    if line.value.get("isSidechain") is not True:
        return ""
    parent = agents.get(text(line.value.get("parentUuid")), "")
    return text(line.value.get("agentId")) or parent or line.key[:8]


def _spawns(lines: Mapping[str, Line]) -> dict[str, str]:
    """Return the calls that began sub-agents, by the sub-agent's id and by the prompt it was given."""
    found: dict[str, str] = {}
    for line in lines.values():
        agent = text(obj(line.value.get("toolUseResult")).get("agentId"))
        for block in objects(obj(line.value.get("message")).get("content")):
            if agent and text(block.get("tool_use_id")):
                found[agent] = text(block.get("tool_use_id"))
            if prompt := text(obj(block.get("input")).get("prompt")):
                found[prompt] = text(block.get("id"))
        if call := text(line.value.get("parent_tool_use_id")):
            found[call] = call
    return found


def _first_text(path: Sequence[Line]) -> str:
    items = (item for line in path[:3] for item in _user_items(line, Notes()))
    return next((item.text for item in items if isinstance(item, UserText)), "")


def _split(
    path: Sequence[Line], results: Mapping[str, ToolResult], frame: Session, notes: Notes
) -> Iterator[Session]:
    """Yield the sessions of one path: a summary of a compaction begins a new one."""
    given: set[str] = set()
    items: list[Item] = []
    number, current = 1, frame
    for line, following in zip(path, [*path[1:], None], strict=True):
        if line.value.get("isCompactSummary") is True and items:
            yield _finished(current, items, path)
            number += 1
            name_ = f"{frame.id}.c{number}"
            current = Session(id=name_, items=(), parent=current.id, split_reason="compaction")
            items = []
        items += _items(line, given, notes)
        key = line.reply
        if key and (following is None or following.reply != key):
            # The results of a call belong behind its last part, wherever in the tree they hang.
            calls = _calls_of(items, key)
            items += [results[call] for call in calls if call in results and call not in given]
            given.update(call for call in calls if call in results)
    yield _finished(current, items, path)


def _calls_of(items: Sequence[Item], key: str) -> list[str]:
    """Return the ids of the calls of the reply at the end of the items, all its parts together."""
    found: list[str] = []
    for item in reversed(items):
        if isinstance(item, Reply):
            if item.key != key:
                break
            found = [*(call.id for call in item.calls if call.id), *found]
    return found


def _finished(frame: Session, items: Sequence[Item], path: Sequence[Line]) -> Session:
    models = (text(obj(line.value.get("message")).get("model")) for line in path)
    model = next((model for model in models if model and model != "<synthetic>"), None)
    return replace(frame, items=tuple(items), model=model)


def _results(members: Iterable[Line], notes: Notes) -> dict[str, ToolResult]:
    """Return all tool results by the call's id: parallel ones hang on different branches of the tree."""
    found: dict[str, ToolResult] = {}
    for line in members:
        for item in _user_items(line, Notes()):
            if isinstance(item, ToolResult) and item.call_id:
                notes.repair("R20", int(item.call_id in found))
                found.setdefault(item.call_id, item)
    return found


def _items(line: Line, given: set[str], notes: Notes) -> Sequence[Item]:
    """Return what one record adds to the prompt; results that already stand behind their call do not."""
    key = line.reply
    if key is None:
        items = _user_items(line, notes)
        return [item for item in items if not (isinstance(item, ToolResult) and item.call_id in given)]
    message = obj(line.value.get("message"))
    spent, made = usage_of(message)
    return anthropic_messages.read_reply(
        message.get("content"),
        notes,
        key=key,
        ended_s=line.at_s,
        input_tokens=spent,
        output_tokens=made,
        finish=text(message.get("stop_reason")) or None,
        failed=line.failed,
    )


def _user_items(line: Line, notes: Notes) -> Sequence[Item]:
    if text(line.value.get("type")) != "user":
        return []
    content = obj(line.value.get("message")).get("content")
    kind = "reminder" if line.value.get("isMeta") is True else "user"
    return [
        replace(item, ended_s=line.at_s) if isinstance(item, ToolResult) else item
        for item in anthropic_messages.read_user(
            content if isinstance(content, str) else arr(content), notes, kind
        )
    ]
