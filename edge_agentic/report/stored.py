"""A run directory read back: the manifest, the turns, and the result where there is one. Needs no model."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.files import fits
from bfcl_gate.journal import read_journal
from bfcl_gate.model.engine import READINGS
from bfcl_gate.run_folder import JOURNAL, MANIFEST, RESULT, maker_of, read_json
from bfcl_gate.words import count
from edge_agentic.report.document import (
    build_result,
    check_manifest,
    check_result,
    ungated_performance,
)
from edge_agentic.turns import TurnResult
from edge_agentic.validity import check_run

TURNS = "turns.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurns:
    """What turns.jsonl holds. `seams` are the (trajectory_id, turn) that a resume left out of statistics,
    `starts` the indices in `turns` at which a resumed run began again."""

    turns: tuple[TurnResult, ...] = ()
    seams: frozenset[tuple[str, int]] = frozenset()
    starts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run directory. `gate_rows` counts the answered gate samples; `result` is None until it exists."""

    manifest: Mapping[str, Any]
    replay: StoredTurns
    gate_rows: int
    result: Mapping[str, Any] | None


def read_turns(path: Path) -> StoredTurns:
    """Read turns.jsonl; a file that does not exist yet holds no turns.

    Rows with `_type` are not turns: `seam` names the trajectory and turn to leave out, a warm-up after a turn says
    that the run was taken up again there. A priming does not: of several trajectories at once one may be primed
    while another's turns are timed.
    Raises InputError for a row that lacks a field or holds the wrong type.
    """
    turns: list[TurnResult] = []
    seams: set[tuple[str, int]] = set()
    starts: set[int] = set()
    for number, row in enumerate(read_journal(path) if path.exists() else (), start=1):
        if "_type" not in row:
            turns.append(_turn(row, f"{path}:{number}"))
        elif row["_type"] == "seam":
            seams.add(_seam(row, f"{path}:{number}"))
        elif row["_type"] == "warmup" and turns:
            starts.add(len(turns))
    return StoredTurns(
        turns=tuple(turns), seams=frozenset(seams), starts=tuple(sorted(starts - {len(turns)}))
    )


def load_run(folder: Path) -> StoredRun:
    """Read a run directory. Raises InputError where it is none or its result and its journal disagree."""
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: not a run directory (no {MANIFEST}); expected the --output of an `edge-agentic run`."
        )
    manifest = read_manifest(folder / MANIFEST)
    replay = read_turns(folder / TURNS)
    marks = _gate_marks(folder / JOURNAL)
    result = read_json(folder / RESULT) if (folder / RESULT).exists() else None
    if result is not None:
        check_result(result, str(folder / RESULT))
        _require_journals(result, manifest, folder)
        _require_agreement(result, replay, folder)
        _require_gate(result, marks, folder)
    return StoredRun(manifest=manifest, replay=replay, gate_rows=len(marks or ()), result=result)


def _gate_marks(path: Path) -> list[bool] | None:
    """Return the judged mark of every answer in gate.jsonl; None where the run asked no gate of its own."""
    if not path.exists():
        return None
    return [row.get("correct") is True for row in read_journal(path) if "_type" not in row]


def _require_journals(result: Mapping[str, Any], manifest: Mapping[str, Any], folder: Path) -> None:
    """Raise InputError where a journal that the result was computed from is not there."""
    gate = result["gate"]
    asked = gate is not None and gate["samples"] and manifest.get("options", {}).get("gate_result") is None
    needed = {TURNS: asked or result["performance"] is not None, JOURNAL: asked}
    for name, is_needed in needed.items():
        if is_needed and not (folder / name).exists():
            raise InputError(
                f"{folder / name}: is missing, so nothing proves the {RESULT} beside it. Restore the file, or run "
                "again in another folder."
            )


def _require_gate(result: Mapping[str, Any], marks: list[bool] | None, folder: Path) -> None:
    """Raise InputError where the gate of a result is not the one its journal holds."""
    gate = result["gate"]
    if marks is None or gate is None or gate["overall_accuracy"] is None:
        return
    stored = (gate["samples"], gate["overall_accuracy"])
    if len(marks) != stored[0] or not isclose(sum(marks) / max(1, len(marks)), stored[1], abs_tol=1e-9):
        raise InputError(
            f"{folder / RESULT}: gate: {count(stored[0], 'sample')}, overall accuracy {stored[1]}, but {JOURNAL} "
            f"holds {count(len(marks), 'answer')}, {sum(marks)} of them right; one file was altered. "
            "Restore it, or run again."
        )


def result_of(run: StoredRun) -> dict[str, Any]:
    """Return the run's result; for an interrupted run a partial one without gate and performance."""
    if run.result is not None:
        return dict(run.result)
    replay = run.replay
    strict = bool(run.manifest.get("strict", False))
    checks = check_run(run.manifest, replay.turns, strict=strict, seams=replay.seams)
    partial = build_result(
        run.manifest, replay.turns, None, checks, seams=replay.seams, starts=replay.starts, complete=False
    )
    return {**partial, "progress": {"turns": len(replay.turns), "gate_samples": run.gate_rows}}


def ungated_of(run: StoredRun) -> dict[str, Any] | None:
    """Return what the turns say about speed; None without a single turn."""
    replay = run.replay
    slo = run.manifest.get("options", {}).get("slo")
    return ungated_performance(replay.turns, replay.seams, replay.starts, slo) if replay.turns else None


def read_manifest(path: Path) -> dict[str, Any]:
    """Read run.json. Raises InputError where it is none of `edge-agentic run`, or was altered."""
    manifest = read_json(path)
    maker = maker_of(manifest)
    if maker.startswith("bfcl-gate"):
        again = f"; `bfcl-gate score {path.parent}` shows a gate again" if "gate_id" in manifest else ""
        raise InputError(f"{path.parent}: holds a run of {maker}, which measures no speed{again}.")
    check_manifest(manifest, str(path))
    return manifest


def _seam(row: Mapping[str, Any], where: str) -> tuple[str, int]:
    trajectory_id, turn = row.get("trajectory_id"), row.get("at_turn")
    if not (isinstance(trajectory_id, str) and type(turn) is int):
        raise InputError(
            f"{where}: a seam names no turn; expected trajectory_id and at_turn, as `run` writes them."
        )
    return trajectory_id, turn


_TYPES: dict[str, tuple[type, ...]] = {
    "trajectory_id": (str,),
    "turn": (int,),
    "position": (int,),
    "decode": (str,),
    "submitted_ns": (int,),
    "completed_ns": (int,),
    "token_ns": (list,),
    **dict.fromkeys(
        ("input_tokens", "possible_tokens", "reused_tokens", "evaluated_tokens", "output_tokens"),
        (int, type(None)),
    ),
    **dict.fromkeys(("rendered_ns", "first_token_ns", "agreed_tokens"), (int, type(None))),
    **dict.fromkeys(("text", "finish_reason", "error"), (str, type(None))),
    **dict.fromkeys(("agreement", "token_agreement"), (float, int, type(None))),
    "tool_calls": (list, type(None)),
    "native": (bool, type(None)),
    **dict.fromkeys(READINGS, (int, type(None))),
}
_MAY_BE_ABSENT = {"possible_tokens", "agreed_tokens", *READINGS}


def _turn(row: Mapping[str, Any], where: str) -> TurnResult:
    for name, types in _TYPES.items():
        if name not in row and name not in _MAY_BE_ABSENT:
            raise InputError(
                f"{where}: field {name} is missing; expected a row of {TURNS} as `run` writes it."
            )
        value = row.get(name)
        if not fits(value, types) and (name in row or name not in _MAY_BE_ABSENT):
            kinds = " or ".join(kind.__name__ for kind in types)
            found = f"{str(value)[:20]}…, more than 64 bits" if type(value) in types else type(value).__name__
            raise InputError(f"{where}: field {name} is {found}; expected {kinds}.")
    if not all(fits(ns, (int,)) for ns in row["token_ns"]):
        raise InputError(f"{where}: field token_ns holds something that is no integer of nanoseconds.")
    return TurnResult.from_row({**dict.fromkeys(_MAY_BE_ABSENT), **row})


def _require_agreement(result: Mapping[str, Any], replay: StoredTurns, folder: Path) -> None:
    stored = result["performance"]
    if stored is None:
        return
    slo = result.get("options", {}).get("slo")
    again = ungated_performance(replay.turns, replay.seams, replay.starts, slo)
    again = {key: value for key, value in again.items() if key not in ("roofline", "energy")}
    if (field := _difference(stored, again, "performance")) is not None:
        raise InputError(
            f"{folder / RESULT}: field {field} is not what {TURNS} gives, so one of the files was "
            "altered or belongs to another run; neither can be trusted."
        )


def _difference(stored: Any, again: Any, name: str) -> str | None:
    """Return the name of the first field that differs; numbers may differ by rounding."""
    if isinstance(again, Mapping):
        if not isinstance(stored, Mapping):
            return name
        found = (_difference(stored.get(key), value, f"{name}.{key}") for key, value in again.items())
        return next((field for field in found if field is not None), None)
    if isinstance(again, float) and isinstance(stored, (int, float)):
        return None if isclose(stored, again, rel_tol=1e-9, abs_tol=1e-12) else name
    return None if stored == again else name
