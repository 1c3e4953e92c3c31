"""What a finished, gated run proves: its result, its turns and its gate answers, read back and held together."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from bfcl_gate.answers import Answer, marks_of
from bfcl_gate.errors import InputError
from bfcl_gate.gate_file import load_gate
from bfcl_gate.journal import read_journal
from bfcl_gate.run_folder import JOURNAL, RESULT
from bfcl_gate.scoring import Scores, accuracies, score
from bfcl_gate.words import count
from edge_agentic.report.stored import TURNS, StoredRun, StoredTurns, load_run

WARM_UP = "warmup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One run. `performance` and `gate` are those of `result`.

    `native` are the accuracies of the native marks, the only ones the reference's scorer would give, whatever the
    gate judged. `warm_ups` counts the untimed requests before the first turn.
    """

    result: Mapping[str, Any]
    performance: Mapping[str, Any]
    gate: Mapping[str, Any]
    replay: StoredTurns
    answers: tuple[Answer, ...]
    native: Scores
    warm_ups: int

    @property
    def local(self) -> bool:
        """Whether the local engine answered, so that the environment is that of the machine that is timed."""
        kind: object = self.result["engine"].get("kind")
        return kind == "local"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the run, as it stored them."""
        options: Mapping[str, Any] = self.result.get("options", {})
        return options


def read_evidence(folder: Path) -> Evidence:
    """Read a run directory.

    Raises InputError where it is none, where the run was not finished or its gate not passed (its speed is withheld,
    here as everywhere), where its gate was asked elsewhere, and where its files contradict each other.
    """
    run = load_run(folder)
    result = _require_result(run, folder)
    answers = _read_answers(folder, result["gate"])
    return Evidence(
        result=result,
        performance=result["performance"],
        gate=result["gate"],
        replay=run.replay,
        answers=answers,
        native=score(marks_of(answers, "native")),
        warm_ups=sum(row.get("_type") == WARM_UP for row in read_journal(folder / TURNS)),
    )


def _require_result(run: StoredRun, folder: Path) -> Mapping[str, Any]:
    """Return the result of a run that has numbers to export. Raises InputError."""
    if run.result is None:
        raise InputError(
            f"{folder}: this run was not finished ({count(len(run.replay.turns), 'turn')} and "
            f"{count(run.gate_rows, 'gate answer')} are kept); expected one with a {RESULT}. Continue it with "
            f"`edge-agentic run --output {folder} --resume` and the options it was begun with."
        )
    if run.result["performance"] is None:
        raise InputError(
            f"{folder}: the gate of this run did not pass, so its speed is withheld and there is nothing to export; "
            f"expected a run with a passed gate. `edge-agentic report {folder}` shows what was missing."
        )
    if run.result["performance"]["duration_s"] is None:
        raise InputError(
            f"{folder}: no turn of this run was timed, so there is nothing to export. Run again."
        )
    return run.result


def _read_answers(folder: Path, gate: Mapping[str, Any]) -> tuple[Answer, ...]:
    """Return the gate's answers. Raises InputError where they are not here or give other accuracies than stated."""
    if not (folder / JOURNAL).exists():
        raise InputError(
            f"{folder}: the gate of this run was asked in another one (--gate-result), so its answers are not here; "
            "expected both phases in one run, as the reference asks for them. Run again without --gate-result."
        )
    answers = load_gate(folder).answers
    judged = accuracies(marks_of(answers, gate["calls"]))
    stated = (gate["overall_accuracy"], gate["normalized_accuracy"])
    for name, told, found in zip(("overall", "normalized"), stated, judged, strict=True):
        if not (told == found or (None not in (told, found) and isclose(told, found or 0, abs_tol=1e-9))):
            raise InputError(
                f"{folder / RESULT}: field gate.{name}_accuracy is {told}, the marks in {JOURNAL} give {found}; one of "
                "the files was altered. Restore it, or run again."
            )
    return answers
