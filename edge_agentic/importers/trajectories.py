"""Sessions to named, linked trajectories."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edge_agentic.importers.clean import clean
from edge_agentic.importers.normal import Notes, Session
from edge_agentic.importers.rows import Limits, Row, build_rows

_UNSAFE = re.compile(r"[^!-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A trajectory as it will be written: its id, the session it is from, and its rows."""

    id: str
    session: Session
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user chose; `system` and `tools` stand in where a recording holds none."""

    limits: Limits
    system: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    strip_ansi: bool = False
    min_turns: int = 1


def name_and_link(
    sessions: Sequence[Session], options: Options, notes: Notes, origin: str, taken: set[str]
) -> list[Named]:
    """Return the trajectories of one source with all their rows and extra keys.

    A session without a whole turn is left out and counted; `origin` is the format's name,
    `taken` the ids of other formats' trajectories, to which the new ones are added.
    """
    names = _names([session.id for session in sessions], taken)
    built: list[Named] = []
    for session, name in zip(sessions, names, strict=True):
        filled = _filled(session, options, notes)
        own = Notes()
        rows = build_rows(filled, options.limits, own)
        if len(rows) < 2 * options.min_turns:
            notes.skip("conversation without a reply" if not rows else "conversation below --min-turns")
            continue
        own.repair("R13", int(session.split_reason is not None))
        rows = [clean(row, own, strip_ansi=options.strip_ansi) for row in rows]
        notes.repairs += own.repairs
        for text in own.remarks:
            notes.remark(text)
        built.append(Named(id=name, session=session, rows=tuple(rows)))
    by_session = {each.session.id: each for each in reversed(built)}
    return [_finished(each, by_session, origin) for each in built]


def _filled(session: Session, options: Options, notes: Notes) -> Session:
    if session.synthetic:
        if options.system or options.tools:
            notes.remark("--system and --tools are not used: a trace of lengths has them in its lengths.")
        return session
    return replace(session, system=session.system or options.system, tools=session.tools or options.tools)


def _names(ids: Sequence[str], taken: set[str]) -> list[str]:
    """Return ids that the MLPerf loader takes as text, each once."""
    names = []
    for recorded in ids:
        base = _UNSAFE.sub("_", recorded)[:200].strip("_") or "trace"
        base = f"s{base}" if _numeric(base) else base
        name, n = base, 2
        while name in taken:
            name, n = f"{base}.{n}", n + 1
        taken.add(name)
        names.append(name)
    return names


def _numeric(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _finished(named: Named, others: Mapping[str, Named], origin: str) -> Named:
    """Number the rows and add where they are from and what they belong to."""
    extra: Row = {"source": {"format": origin}}
    session = named.session
    if session.split_reason:
        extra["split_reason"] = session.split_reason
    parent = others.get(session.parent or "")
    if parent is not None and parent.id != named.id:
        extra["parent_conversation_id"] = parent.id
        extra["fork_turn"] = _fork_turn(named, parent)
    rows = [
        {"conversation_id": named.id, "turn": number, **row} for number, row in enumerate(named.rows, start=1)
    ]
    rows[0] |= {key: value for key, value in extra.items() if value is not None}
    return replace(named, rows=tuple(rows))


def _fork_turn(named: Named, parent: Named) -> int | None:
    """Return the last row of the parent that lies before this trajectory began."""
    if named.session.split_reason == "compaction":
        return len(parent.rows)
    if named.session.split_reason == "subagent":
        spawn = named.session.spawn_call
        made = (n for n, row in enumerate(parent.rows, start=1) if spawn and spawn in _call_ids(row))
        return next(made, None)
    same = 0
    for mine, theirs in zip(named.rows, parent.rows, strict=False):
        if _said(mine) != _said(theirs):
            break
        same += 1
    return same


def _call_ids(row: Row) -> list[str]:
    return [call["id"] for call in row.get("tool_calls", ())]


def _said(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(key) for key in ("role", "content", "tool_calls", "tool_results"))
