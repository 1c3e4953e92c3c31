"""performance/result_summary.json: the replay in nanoseconds, from the distributions that the result holds.

Every figure is one of `performance.mlperf`, MLPerf's own definitions, in its unit. The histograms of the reference's
file are left out: nothing reads them, and they are no readings.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from edge_agentic.metrics import NS_PER_S
from edge_agentic.mlperf_export.config import LOAD_PATTERN, Seeds
from edge_agentic.mlperf_export.evidence import Evidence

NS_PER_MS = 1_000_000
FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")


def result_summary(evidence: Evidence, seeds: Seeds) -> dict[str, Any]:
    """Return the document, its times in ns.

    `n_samples_completed` counts whole answers only, where the reference counts failed turns as completed.
    """
    performance, turns = evidence.performance, evidence.performance["turns"]
    mlperf = performance["mlperf"]
    return {
        "version": f"edge-agentic {evidence.result.get('tool_version')}",
        "git_sha": None,
        "test_started_at": min(turn.submitted_ns for turn in evidence.replay.turns),
        "n_samples_issued": turns["issued"],
        "n_samples_completed": turns["completed"],
        "n_samples_failed": turns["dropped"],
        "duration_ns": round(performance["duration_s"] * NS_PER_S),
        "state": "complete",
        "complete": True,
        "ttft": times(mlperf["ttft_ms"], whole=True),
        "tpot": times(mlperf["tpot_ms"], whole=False),
        "latency": times(mlperf["latency_ms"], whole=True),
        "output_sequence_lengths": lengths(mlperf["output_tokens"]),
        "input_sequence_lengths": lengths(performance["input_tokens"]),
        "legacy_loadgen_window_duration_ns": None,
        "qps": mlperf["qps"],
        "tps": mlperf["tps"],
        "finish_reason_counts": _finish_reasons(evidence),
        "run_config": {
            "load_pattern": {
                "type": LOAD_PATTERN,
                "target_qps": None,
                "target_concurrency": evidence.options.get("concurrency"),
            },
            "warmup": {"enabled": evidence.warm_ups > 0, "n_requests": evidence.warm_ups or None},
            "scheduler_random_seed": seeds.scheduler,
            "dataloader_random_seed": seeds.dataloader,
        },
    }


def times(summary: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
    """Return a distribution of milliseconds as the block of nanoseconds that the checker reads.

    `whole` says that each value was an integer of nanoseconds; TPOT, a quotient, is not.
    """
    factor = NS_PER_MS
    block = _block(summary, (lambda ms: round(ms * factor)) if whole else (lambda ms: ms * factor), factor)
    certified = {
        _percentile(name): None if value is None else round(value * factor) if whole else value * factor
        for name, value in reversed(summary["certified"].items())
    }
    return {**block, "early_stopping_percentiles": certified}


def lengths(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return a distribution of token counts as a block; an empty one where nobody counted."""
    return _block(summary, round, 1)


def _block(summary: Mapping[str, Any], reading: Callable[[float], float], factor: int) -> dict[str, Any]:
    """Return total, spread and percentiles: `reading` makes a measured value, `factor` one that was calculated."""
    if not summary["count"]:
        return {}
    total = summary["mean"] * summary["count"]
    return {
        "total": reading(total),
        "min": reading(summary["min"]),
        "max": reading(summary["max"]),
        "median": reading(summary["percentiles"]["50"]),
        "avg": summary["mean"] * factor,
        "std_dev": None if summary["std"] is None else summary["std"] * factor,
        "percentiles": {
            _percentile(name): reading(value) for name, value in reversed(summary["percentiles"].items())
        },
    }


def _percentile(name: str) -> str:
    """Return a percentile's name as the reference writes it: "99.0", "99.9"."""
    return str(float(name))


def _finish_reasons(evidence: Evidence) -> dict[str, int]:
    answered = [turn.finish_reason for turn in evidence.replay.turns if turn.error is None]
    found = Counter(reason if reason in FINISH_REASONS else "other" for reason in answered)
    return {reason: found[reason] for reason in (*FINISH_REASONS, "other")}
