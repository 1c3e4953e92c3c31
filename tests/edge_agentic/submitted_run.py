"""A run directory as `run --profile mlperf-v6.1` leaves it, on a fake clock: 1,007 turns and a full gate of 995."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import fake_run

from bfcl_gate.answers import Answer
from bfcl_gate.journal import Journal
from bfcl_gate.lines import LineOptions, resolve_line
from bfcl_gate.ruleset import MLPERF_V6_1, GatePolicy
from bfcl_gate.run_folder import write_json
from bfcl_gate.verdict import gate_object
from edge_agentic.report.document import build_result, write_result
from edge_agentic.turns import TurnResult
from edge_agentic.validity import check_run

SUBSETS = {
    "irrelevance": 24,
    "live_irrelevance": 88,
    "live_multiple": 105,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_simple": 25,
    "multiple": 124,
    "parallel": 124,
    "parallel_multiple": 124,
    "simple_java": 62,
    "simple_javascript": 31,
    "simple_python": 248,
}
"""Samples a subset, in the order in which MLPerf v6.1 asks them."""

TURNS, TRAJECTORIES = 1007, 20


def manifest(**changes: Any) -> dict[str, Any]:
    """run.json of a run on the local engine; `changes` replace its parts."""
    return {
        **fake_run.manifest(),
        "profile": MLPERF_V6_1.name,
        "ruleset": MLPERF_V6_1.name,
        "strict": True,
        "reduced": False,
        "model": {
            "name": "qwen3.6-27b",
            "file": "Qwen3.6-27B-Q4_K_M.gguf",
            "sha256": MLPERF_V6_1.model_sha256,
            "identity": "verified",
        },
        "engine": {
            "kind": "local",
            "ctx": 32_768,
            "kv_type": "f16",
            "flash_attn": True,
            "threads": 8,
            "gpu_layers": -1,
            "offloaded_layers": 65,
            "layers": 64,
            "devices": ["CUDA0: Example GPU", "CPU: Example CPU"],
            "build": "llama-cpp-python 0.3.36, llama.cpp 1",
            "template_args": {"enable_thinking": False},
        },
        "trace": {
            "name": "agentic_coding_2.5h",
            "sha256": MLPERF_V6_1.trace_sha256,
            "trajectories": TRAJECTORIES,
            "turns": TURNS,
        },
        "environment": {
            "machine": "Example Board",
            "cpu": {"model": "Example CPU", "usable": 8, "physical": 8, "sockets": 2},
            "memory": {"total_bytes": 32 * 2**30},
            "system": {"os": "Example Linux 1", "kernel": "6.1"},
            "packages": {"edge-agentic": "0.1.0"},
            "power": {"jetson_mode": "0 MAXN"},
        },
        "options": {
            "concurrency": 1,
            "max_tokens": 1024,
            "seed": 42,
            "limit": None,
            "tool_delay": "none",
            "reasoning": "keep",
            "gate_result": None,
        },
        "planned": {"turns": TURNS, "trajectories": TRAJECTORIES},
        **changes,
    }


def options(**changes: Any) -> dict[str, Any]:
    """The options of the manifest with some of them changed."""
    return {**manifest()["options"], **changes}


@cache
def turns(count: int = TURNS, spacing_ms: int = 3000) -> tuple[TurnResult, ...]:
    """Turns of TRAJECTORIES conversations, one behind the other; each a little slower in prefill than the last."""
    return tuple(
        fake_run.turn(
            trajectory_id=f"t{n * TRAJECTORIES // count}",
            turn=2 * n + 1,
            position=n,
            decode="natural",
            start_ms=n * spacing_ms,
            prefill_ms=1000 + n,
            finish_reason="stop",
            agreement=0.5,
            token_agreement=None,
            agreed_tokens=None,
            answer_extends=None,
        )
        for n in range(count)
    )


@cache
def answers(
    tenths: int = 9, subsets: tuple[tuple[str, int], ...] = tuple(SUBSETS.items())
) -> tuple[Answer, ...]:
    """Gate answers, of which the given tenths are right natively; all are right leniently."""
    return tuple(
        Answer(
            id=f"{subset}_{n}",
            case=None,
            subset=subset,
            text="text",
            message=None,
            tool_calls=(),
            attempts=(),
            native=True,
            finish_reason="stop",
            error=None,
            input_tokens=100,
            output_tokens=10 + n % 7,
            latency_ns=2_000_000_001,
            correct_native=n % 10 < tenths,
            correct_lenient=True,
            correct=n % 10 < tenths,
            mark_error=None,
            parse_error=None,
        )
        for subset, count in subsets
        for n in range(count)
    )


@cache
def gate(given: tuple[Answer, ...], policy: GatePolicy, least: float | None) -> dict[str, Any]:
    """The verdict on answers: by MLPerf's lines, or by explicit minima where `least` is given."""
    ids = [answer.id for answer in given]
    lines = LineOptions(min_overall=least, min_normalized=least)
    return gate_object(given, ids, policy, resolve_line(lines, ids, policy, None, references=()))


def write_submission(
    folder: Path,
    *,
    replayed: Sequence[TurnResult] | None = None,
    answered: tuple[Answer, ...] | None = None,
    policy: GatePolicy = MLPERF_V6_1.gate,
    least: float | None = None,
    resumed_at: int | None = None,
    **changes: Any,
) -> Path:
    """Lay out the run directory; `changes` replace parts of the manifest, `resumed_at` is a turn before a break."""
    made = turns() if replayed is None else tuple(replayed)
    judged = answers() if answered is None else answered
    facts = manifest(**changes)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "run.json", facts)
    header: Mapping[str, Any] = {"_type": "header", "config_id": "c" * 64}
    rows = [turn.to_row() for turn in made]
    if resumed_at is not None:
        rows.insert(resumed_at, {"_type": "warmup"})
    with Journal(folder / "turns.jsonl") as journal:
        journal.extend([header, {"_type": "warmup"}, *rows])
    with Journal(folder / "gate.jsonl") as journal:
        journal.extend([{"_type": "header"}, *(answer.to_row() for answer in judged)])
    result = build_result(
        facts,
        made,
        gate(judged, policy, least),
        check_run(facts, made, strict=facts["strict"]),
        starts=() if resumed_at is None else (resumed_at,),
    )
    write_result(folder / "result.json", result)
    return folder
