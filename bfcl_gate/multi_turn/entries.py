"""Many conversations: asked in order, each kept on disk before the next, continued where a run stopped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bfcl_gate.download import BFCL_SHA256, fetch_bfcl
from bfcl_gate.errors import InputError
from bfcl_gate.identity import digest, engine_id, require_same
from bfcl_gate.journal import Journal, read_journal
from bfcl_gate.model.engine import Engine, EngineInfo
from bfcl_gate.multi_turn.checker import Failure
from bfcl_gate.multi_turn.data import SUBSETS, Conversation, conversations
from bfcl_gate.multi_turn.runner import Player, Policy
from bfcl_gate.multi_turn.simulation import Simulation

JOURNAL = "multi_turn.jsonl"

VERSION = 1
"""Of runner and checker; a change that can alter a mark raises it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One row of multi_turn.jsonl. `turn` (from 0) is where it went wrong, None when right.

    `result` is what the model said up to there, in bfcl-eval's layout: turns of steps. `steps` counts answers; tokens
    are sums over them, None where one is not known.
    """

    id: str
    subset: str
    correct: bool
    error: str | None
    detail: str | None
    turn: int | None
    steps: int
    input_tokens: int | None
    output_tokens: int | None
    latency_ns: int
    result: tuple[Any, ...]

    def to_row(self) -> dict[str, Any]:
        """Return the journal row."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Played":
        """Build it from its row; unknown keys are ignored.

        Raises KeyError for a missing field, TypeError for one of another type.
        """
        values = {field.name: row[field.name] for field in fields(cls)}
        for name, kind in (("id", str), ("subset", str), ("correct", bool), ("result", list)):
            if not isinstance(values[name], kind):
                raise TypeError(f"{name} is {str(values[name])[:40]!r}")
        return cls(**{**values, "result": tuple(values["result"])})


def chosen(subset: str | None, limit: int | None) -> tuple[Conversation, ...]:
    """Return the first `limit` conversations of one subset, or of each. Raises InputError, SourceError."""
    subsets = SUBSETS if subset is None else (subset,)
    return tuple(found for name in subsets for found in conversations(name)[:limit])


def header(info: EngineInfo, policy: Policy) -> dict[str, Any]:
    """Return the first row of the journal: multi_turn_id and the fields it hashes. Which entries is not among them."""
    hashed = {
        "engine_id": engine_id(info),
        "calls": policy.calls,
        "max_tokens": policy.max_tokens,
        "bfcl_sha256": BFCL_SHA256,
        "runner_version": VERSION,
    }
    return {"_type": "header", "multi_turn_id": digest(hashed), **hashed, "engine": dict(info.identity)}


def ask(engine: Engine, entries: Iterable[Conversation], policy: Policy) -> Iterator[Played]:
    """Play each conversation, its APIs in a fresh process. Raises EngineError when the engine is gone."""
    wheel = fetch_bfcl()
    for entry in entries:
        with Simulation(wheel, entry.classes) as simulation:
            yield played(engine, entry, simulation, policy)


def played(engine: Engine, entry: Conversation, simulation: Simulation, policy: Policy) -> Played:
    """Play one conversation and return its row."""
    player = Player(engine, entry, simulation, policy)
    failure = player.play()
    return _row(entry, player, failure)


def ask_and_keep(
    engine: Engine, entries: Sequence[Conversation], policy: Policy, path: Path
) -> Iterator[Played]:
    """Yield what the journal at `path` holds of `entries`, then play the rest, each on disk before the next.

    Raises InputError where the journal is of another multi_turn_id, naming the fields that differ.
    """
    first = header(engine.info(), policy)
    stored, done = kept(path)
    if stored is not None:
        unhashed = ("multi_turn_id", "engine_id")
        pair = ({k: v for k, v in row.items() if k not in unhashed} for row in (stored, first))
        require_same(str(path), *pair)
    with Journal(path) as journal:
        if stored is None:
            journal.append(first)
        yield from (done[entry.id] for entry in entries if entry.id in done)
        for row in ask(engine, [entry for entry in entries if entry.id not in done], policy):
            journal.append(row.to_row())
            yield row


def kept(path: Path) -> tuple[Mapping[str, Any] | None, dict[str, Played]]:
    """Return the header and the rows of a journal by id; None and none where there is no journal yet."""
    rows = list(read_journal(path)) if path.exists() else []
    if not rows:
        return None, {}
    first, *others = rows
    if first.get("_type") != "header":
        raise InputError(f"{path}:1: expected the header of a multi-turn journal; choose another --output.")
    played = (_played(row, path, number) for number, row in enumerate(others, start=2))
    return first, {row.id: row for row in played}


def _played(row: Mapping[str, Any], path: Path, line: int) -> Played:
    try:
        return Played.from_row(row)
    except KeyError as error:
        problem = f"field {error} is missing"
    except TypeError as error:
        problem = f"field {error}, which is of another type"
    raise InputError(f"{path}:{line}: {problem}; expected a conversation as bfcl-gate writes it.")


def _row(entry: Conversation, player: Player, failure: Failure | None) -> Played:
    return Played(
        id=entry.id,
        subset=entry.subset,
        correct=failure is None,
        error=None if failure is None else failure.error,
        detail=None if failure is None else failure.detail,
        turn=None if failure is None else max(0, len(player.said) - 1),
        steps=len(player.replies),
        input_tokens=_total(reply.input_tokens for reply in player.replies),
        output_tokens=_total(reply.output_tokens for reply in player.replies),
        latency_ns=sum(reply.latency_ns or 0 for reply in player.replies),
        result=tuple(player.said),
    )


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)
