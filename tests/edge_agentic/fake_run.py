"""A small run on a fake clock: two trajectories, five turns, numbers that can be checked by eye."""

from pathlib import Path
from typing import Any

from bfcl_gate.journal import Journal
from bfcl_gate.run_folder import write_json
from edge_agentic.report.document import build_result, write_result
from edge_agentic.turns import TurnResult
from edge_agentic.validity import check_run

MS = 1_000_000


def turn(**changes: Any) -> TurnResult:
    """A turn of 100 new tokens in 1 s of prefill, then 4 steps of 50 ms; `changes` as TurnResult's fields."""
    start = changes.pop("start_ms", 0) * MS
    prefill, step = changes.pop("prefill_ms", 1000), changes.pop("step_ms", 50)
    tokens = changes.pop("tokens", 5)
    first = start + (10 + prefill) * MS
    token_ns = tuple(first + i * step * MS for i in range(tokens))
    values: dict[str, Any] = {
        "trajectory_id": "a",
        "turn": 1,
        "position": 0,
        "decode": "forced",
        "input_tokens": 100,
        "possible_tokens": 0,
        "reused_tokens": 0,
        "evaluated_tokens": 100,
        "output_tokens": tokens,
        "submitted_ns": start,
        "rendered_ns": start + 10 * MS,
        "first_token_ns": token_ns[0] if token_ns else None,
        "token_ns": token_ns,
        "completed_ns": (token_ns[-1] if token_ns else start) + MS,
        "text": None,
        "tool_calls": None,
        "native": None,
        "finish_reason": "forced",
        "error": None,
        "agreement": None,
        "token_agreement": 0.8,
        "agreed_tokens": 4,
        "answer_extends": True,
    }
    return TurnResult(**{**values, **changes})


def turns(slower: float = 1) -> tuple[TurnResult, ...]:
    """Two trajectories of three and two turns; the last turn reuses less than it could.

    `slower` makes every decode step that many times as long.
    """
    step = int(50 * slower)
    follow = {"possible_tokens": 104, "reused_tokens": 104, "evaluated_tokens": 96, "input_tokens": 200}
    return (
        turn(step_ms=step),
        turn(turn=3, position=1, start_ms=2000, prefill_ms=960, step_ms=step, **follow),
        turn(
            turn=5,
            position=2,
            start_ms=4000,
            prefill_ms=960,
            step_ms=step + 10,
            **{**follow, "agreed_tokens": 2},
        ),
        turn(trajectory_id="b", position=3, start_ms=6000, step_ms=step + 20),
        turn(
            trajectory_id="b",
            turn=3,
            position=4,
            start_ms=8000,
            prefill_ms=1960,
            step_ms=step,
            **{**follow, "reused_tokens": 4, "evaluated_tokens": 196},
        ),
    )


def manifest() -> dict[str, Any]:
    """run.json as the benchmark writes it."""
    return {
        "schema_version": 1,
        "tool_version": "0.1.0",
        "created_at": "2026-01-01T00:00:00Z",
        "profile": "quick",
        "ruleset": "quick",
        "engine_id": "e" * 64,
        "config_id": "c" * 64,
        "model": {"name": "tiny", "sha256": "0123456789abcdef" * 4, "bytes": 1_000_000},
        "engine": {"kind": "local", "ctx": 512, "kv_type": "f16", "threads": 2, "gpu_layers": 0},
        "identity": {
            "trace_sha256": "f" * 64,
            "ruleset": "quick",
            "decode": "forced",
            "reasoning": "keep",
            "tool_delay": "none",
            "max_tokens": 64,
        },
        "strict": False,
        "trace": {"name": "smoke", "sha256": "f" * 64, "trajectories": 2, "turns": 5},
        "environment": {
            "cpu": {"model": "Example CPU", "usable": 2},
            "memory": {"total_bytes": 8 * 2**30},
            "system": {"os": "Example Linux 1"},
        },
        "options": {"concurrency": 1, "max_tokens": 64, "limit": None},
        "planned": {"turns": 5, "trajectories": 2},
        "reduced": True,
    }


def snapshots() -> list[dict[str, Any]]:
    """One session in which other programs used a quarter of the processors."""
    before = {"cpu": {"busy_s": 0.0, "total_s": 0.0, "own_s": 0.0}, "suspended_s": 0.0}
    after = {"cpu": {"busy_s": 15.0, "total_s": 20.0, "own_s": 10.0}, "suspended_s": 0.0}
    return [{"before": before, "after": after}]


def gate(*, passed: bool = True) -> dict[str, Any]:
    """The verdict of a screening gate over eight samples."""
    right = 6 if passed else 2
    accuracies = {"overall_accuracy": right / 8, "normalized_accuracy": right / 8}
    return {
        "passed": passed,
        "screening": True,
        "reference": "reference tiny",
        "line": {"source": "table", "overall": 0.679, "normalized": 0.679},
        "rules": "mlperf",
        "tool_schemas": "mlperf",
        "calls": "lenient",
        "samples": 8,
        **accuracies,
        "overall_interval": [0.4093, 0.9285] if passed else [0.0715, 0.5907],
        "native": {"overall_accuracy": 0.125, "normalized_accuracy": 0.125},
        "lenient": accuracies,
        "categories": {"live": {"samples": 8, "correct": right, "accuracy": right / 8}},
        "subsets": {
            "live_simple": {"samples": 4, "correct": right // 2, "accuracy": right / 8},
            "live_multiple": {"samples": 4, "correct": right // 2, "accuracy": right / 8},
        },
        "checks": [{"name": "overall", "passed": passed, "detail": f"{right} of 8, line 67.90 %"}],
        "notes": ["A smaller drop can pass unseen."],
    }


def result(*, passed: bool = True, slower: float = 1) -> dict[str, Any]:
    """The document of the run."""
    made = turns(slower)
    checks = check_run(manifest(), made, snapshots=snapshots())
    return build_result(manifest(), made, gate(passed=passed), checks, snapshots=snapshots())


def write_run(
    folder: Path,
    *,
    passed: bool = True,
    finished: bool = True,
    answered: int = 5,
    slower: float = 1,
    **facts: Any,
) -> Path:
    """Lay out the run directory; an unfinished one has its first `answered` turns and no result.

    `facts` replace parts of the manifest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "run.json", {**manifest(), **facts})
    with Journal(folder / "turns.jsonl") as journal:
        journal.append({"_type": "header", "config_id": "c" * 64})
        for one in turns(slower)[:answered]:
            journal.append(one.to_row())
    if finished:
        right = gate(passed=passed)["categories"]["live"]["correct"]
        with Journal(folder / "gate.jsonl") as journal:
            journal.append({"_type": "header"})
            journal.extend({"id": f"live_simple_{n}", "correct": n < right} for n in range(8))
        write_result(folder / "result.json", result(passed=passed, slower=slower))
    return folder
