"""turns.jsonl while a run writes it: header, warm-up, primings, seams and one row a turn."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.identity import require_same
from bfcl_gate.journal import Journal, read_journal
from bfcl_gate.model.engine import TimedResponse
from edge_agentic.replay import Event, TurnKey

HEADER = "header"


class TurnJournal:
    """The journal of a replay. `done` holds the turns an earlier session finished, `failed` the trajectories it lost.

    Raises InputError where the file was made under another config_id, naming the differing fields.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        rows = list(read_journal(path)) if path.exists() else []
        turns = [row for row in rows if "_type" not in row]
        self.done = frozenset(_key(row, path) for row in turns)
        self.failed = frozenset(_key(row, path)[0] for row in turns if row.get("error") is not None)
        if rows:
            _require_header(path, rows[0], identity)
        self._journal = Journal(path)
        if not rows:
            self._journal.append({"_type": HEADER, **identity})

    def keep(self, event: Event) -> None:
        """Write what happened; on disk when this returns. Only the row of a turn has the key `turn`."""
        if event.result is not None:
            self._journal.append(event.result.to_row())
            return
        place = {"trajectory_id": event.plan.turn.trajectory_id, "at_turn": event.plan.turn.number}
        self._journal.append({"_type": event.kind, **place, **_readings(event.response)})

    def keep_warm_up(self, response: TimedResponse) -> None:
        """Write the readings of the warm-up, which enters no statistic."""
        self._journal.append({"_type": "warmup", **_readings(response)})

    def __enter__(self) -> "TurnJournal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()


def _key(row: Mapping[str, Any], path: Path) -> TurnKey:
    trajectory_id, turn = row.get("trajectory_id"), row.get("turn")
    if not (isinstance(trajectory_id, str) and type(turn) is int):
        raise InputError(
            f"{path}: holds a row without trajectory_id and turn; expected the turns of a run. The file was altered: "
            "restore it, or choose another --output."
        )
    return trajectory_id, turn


def _require_header(path: Path, header: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    if header.get("_type") != HEADER:
        raise InputError(f"{path}:1: expected the header of a turn journal; choose another --output.")
    require_same(str(path), {k: v for k, v in header.items() if k != "_type"}, identity)


def _readings(response: TimedResponse | None) -> dict[str, Any]:
    if response is None:
        return {}
    names = (
        "input_tokens",
        "reused_tokens",
        "evaluated_tokens",
        "output_tokens",
        "submitted_ns",
        "rendered_ns",
    )
    row = asdict(response)
    return {
        **{name: row[name] for name in names},
        "token_ns": list(response.token_ns),
        "completed_ns": response.completed_ns,
    }
