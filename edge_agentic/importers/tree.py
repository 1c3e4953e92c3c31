"""Records that form a tree, as sessions with rewinds and retries do, and the paths that were prompts."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One record: its key, the keys it may hang on (first known one counts) and when it was written.

    `speaks` marks records of a user or the model, `reply` names the model call that a record is part of,
    `failed` an attempt that was thrown away.
    """

    key: str
    parents: tuple[str, ...]
    at_s: float | None
    speaks: bool
    reply: str | None
    failed: bool = False
    value: Mapping[str, Any]


def branches(members: Sequence[Line]) -> list[list[Line]]:
    """Return the path to the newest record, then one path for each branch with replies of its own.

    A record whose parent is not there follows the one before it in the file.
    """
    newest = _newest(members)
    if newest is None:
        return []
    parents = _parents(members)
    at = {line.key: line for line in members}
    children = {parent for parent in parents.values() if parent}
    paths = [_until(_end(newest, members, parents), parents, at, ())]
    seen = {line.key for line in paths[0]}
    replies = {line.reply for line in paths[0]} | {None}
    for leaf in (line for line in members if line.key not in children):
        own = _until(leaf, parents, at, seen)
        seen |= {line.key for line in own}
        new = {line.reply for line in own if not line.failed} - replies
        if new:
            paths.append(_until(leaf, parents, at, ()))
            replies |= new
    return [_with_siblings(path, members) for path in paths]


def _parents(members: Sequence[Line]) -> dict[str, str | None]:
    known: set[str] = set()
    parents: dict[str, str | None] = {}
    previous: str | None = None
    for line in members:
        # Only records that stand before this one: so no cycle can be walked.
        parents[line.key] = next((key for key in line.parents if key in known), previous)
        known.add(line.key)
        previous = line.key
    return parents


def _newest(members: Sequence[Line]) -> Line | None:
    newest, latest = None, float("-inf")
    for line in members:
        if line.speaks and (line.at_s is None or line.at_s >= latest):
            newest, latest = line, latest if line.at_s is None else line.at_s
    return newest


def _end(line: Line, members: Iterable[Line], parents: Mapping[str, str | None]) -> Line:
    """Return the last record below this one in the order of the file."""
    below = {line.key}
    last = line
    for each in members:
        if parents[each.key] in below:
            below.add(each.key)
            last = each
    return last


def _until(
    leaf: Line, parents: Mapping[str, str | None], at: Mapping[str, Line], stop: Container[str]
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
    replies = {line.reply for line in path} - {None}
    on_path = {line.key for line in path}
    beside: dict[str | None, list[Line]] = {}
    for line in members:
        if line.key not in on_path and line.reply in replies:
            beside.setdefault(line.reply, []).append(line)
    whole: list[Line] = []
    for line, following in zip(path, [*path[1:], None], strict=True):
        whole.append(line)
        if line.reply in beside and (following is None or following.reply != line.reply):
            whole += beside.pop(line.reply)
    return whole
