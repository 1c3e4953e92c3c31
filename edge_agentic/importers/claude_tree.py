"""The tree that Claude Code's records form, and the paths through it that were prompts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edge_agentic.importers.values import name, obj, seconds, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One record; `key` is its uuid, or its line where it has none."""

    key: str
    number: int
    value: Mapping[str, Any]


def reply_key(line: Line) -> str | None:
    """Return the key of the model call that a record is part of, None for every other record."""
    if text(line.value.get("type")) != "assistant":
        return None
    message = obj(line.value.get("message"))
    return name(message.get("id")) or name(line.value.get("requestId")) or line.key


def by_agent(lines: Mapping[str, Line]) -> dict[str, list[Line]]:
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


def branches(members: Sequence[Line]) -> list[list[Line]]:
    """Return the path to the newest record, then one path for each branch with replies of its own.

    A record whose parent is not there follows the one before it in the file.
    """
    parents = _parents(members)
    at = {line.key: line for line in members}
    children = {parent for parent in parents.values() if parent}
    leaves = [line for line in members if line.key not in children]
    newest = _newest(members)
    if newest is None:
        return []
    paths = [_path(_end(newest, members, parents), parents, at)]
    seen = {line.key for line in paths[0]}
    replies = {reply_key(line) for line in paths[0]}
    for leaf in leaves:
        own = _until(leaf, parents, at, seen)
        seen |= {line.key for line in own}
        new = {reply_key(line) for line in own if line.value.get("isApiErrorMessage") is not True} - replies
        if new - {None}:
            paths.append(_path(leaf, parents, at))
            replies |= new
    return [_with_siblings(path, members) for path in paths]


def _parents(members: Sequence[Line]) -> dict[str, str | None]:
    known: set[str] = set()
    parents: dict[str, str | None] = {}
    previous: str | None = None
    for line in members:
        named = (text(line.value.get(key)) for key in ("parentUuid", "logicalParentUuid"))
        # Only records that stand before this one: so no cycle can be walked.
        parents[line.key] = next((key for key in named if key in known), previous)
        known.add(line.key)
        previous = line.key
    return parents


def _newest(members: Sequence[Line]) -> Line | None:
    newest, latest = None, float("-inf")
    for line in members:
        at = seconds(line.value.get("timestamp"))
        if text(line.value.get("type")) in ("user", "assistant") and (at is None or at >= latest):
            newest, latest = line, latest if at is None else at
    return newest


def _end(line: Line, members: Iterable[Line], parents: Mapping[str, str | None]) -> Line:
    """Return the last record below this one, which follows it in the file."""
    below = {line.key}
    last = line
    for each in members:
        if parents[each.key] in below:
            below.add(each.key)
            last = each
    return last


def _path(leaf: Line, parents: Mapping[str, str | None], at: Mapping[str, Line]) -> list[Line]:
    return _until(leaf, parents, at, ())


def _until(
    leaf: Line, parents: Mapping[str, str | None], at: Mapping[str, Line], stop: Iterable[str]
) -> list[Line]:
    """Return the lines from the first one that is not in `stop` to the leaf."""
    path: list[Line] = []
    key: str | None = leaf.key
    while key is not None and key not in stop:
        path.append(at[key])
        key = parents[key]
    return path[::-1]


def _with_siblings(path: Sequence[Line], members: Iterable[Line]) -> list[Line]:
    """Add the parts of a reply that lie beside the path: parallel calls branch off within one."""
    keys = {key for line in path if (key := reply_key(line))}
    on_path = {line.key for line in path}
    beside: dict[str | None, list[Line]] = {}
    for line in members:
        if line.key not in on_path and (key := reply_key(line)) in keys:
            beside.setdefault(key, []).append(line)
    whole: list[Line] = []
    for position, line in enumerate(path):
        whole.append(line)
        key = reply_key(line)
        if key in beside and (position + 1 == len(path) or reply_key(path[position + 1]) != key):
            whole += beside.pop(key)
    return whole
