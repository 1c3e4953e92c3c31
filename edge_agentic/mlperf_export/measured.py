"""The parts of the README that tell what was measured, and on what."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bfcl_gate.ruleset import LINE_FACTOR, MLPERF_FIGURES
from bfcl_gate.words import count
from edge_agentic.mlperf_export.evidence import Evidence
from edge_agentic.mlperf_export.figures import five_digits, markdown


def result_lines(evidence: Evidence) -> Iterator[str]:
    """Yield the table of what was measured, five significant figures each."""
    performance, scores = evidence.performance, evidence.native
    mlperf, turns = performance["mlperf"], performance["turns"]
    yield "| what | value | definition |"
    yield "|---|---|---|"
    yield _row("mean latency", mlperf["latency_ms"]["mean"], "ms", "the result: completion - submission")
    for name, key in (("latency", "latency_ms"), ("TTFT", "ttft_ms"), ("TPOT", "tpot_ms")):
        for percentile in ("90", "99"):
            certified = mlperf[key]["certified"][percentile]
            yield _row(
                f"{name} p{percentile}", certified, "ms", "early stopping: at most, with 99 % confidence"
            )
    yield f"| turns | {turns['issued']} issued, {turns['completed']} answered, {turns['dropped']} failed | |"
    yield _row("duration", performance["duration_s"], "s", "first submission to last completion")
    for name, accuracy, figure in (
        ("overall", scores.overall, MLPERF_FIGURES.overall_percent),
        ("normalised", scores.normalized, MLPERF_FIGURES.normalized_percent),
    ):
        told = f"{count(scores.samples, 'sample')}, native calls; MLPerf's line {LINE_FACTOR * figure:.4f} %"
        yield _row(f"{name} accuracy", _percent(accuracy), "%", told)
    for found in scores.categories:
        yield _row(f"{found.name} accuracy", _percent(found.accuracy), "%", count(found.samples, "sample"))
    if performance["agreement"]["iou"] is not None:
        yield _row("agreement", performance["agreement"]["iou"], "", "inline checker, no threshold")


def _row(name: str, value: float | None, unit: str, definition: str) -> str:
    shown = "undefined: too few values" if value is None else f"{five_digits(value)} {unit}".strip()
    return f"| {name} | {shown} | {definition} |"


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


ENGINE_FACTS = (
    "kind",
    "build",
    "ctx",
    "kv_type",
    "flash_attn",
    "n_batch",
    "n_ubatch",
    "threads",
    "gpu_layers",
    "offloaded_layers",
    "layers",
    "reuse",
    "speculative",
)


def run_lines(evidence: Evidence) -> Iterator[str]:
    """Yield what answered, what was replayed, and what a reader has to know of how."""
    result, gate = evidence.result, evidence.gate
    model, engine, trace = result["model"], result["engine"], result["trace"]
    proof = {"verified": "identity verified by this hash"}.get(
        str(model.get("identity")), "identity as stated, not proved"
    )
    yield f"- model: {_facts(model, 'name', 'file', 'sha256')} ({proof})"
    yield f"- engine: {_facts(engine, *ENGINE_FACTS)}"
    yield f"- template arguments: {markdown(json.dumps(engine.get('template_args', {})))}"
    yield f"- trace: {_facts(trace, 'name', 'sha256', 'trajectories', 'turns')}"
    yield (
        f"- gate of the run: passed by {gate['calls']} calls under {gate['rules']} rules, line of "
        f"{markdown(gate['reference'])}"
    )
    yield f"- cache: {_cache(evidence)}"
    yield (
        f"- before the first timed turn: five gate questions and {count(evidence.warm_ups, 'untimed prompt')}; the "
        "reference has no such step"
    )
    for check in result["validity"]:
        if not check["passed"]:
            yield f"- rule {markdown(check['name'])} ({check['level']}) not kept: {markdown(check['detail'])}"


def _facts(facts: Mapping[str, Any], *names: str) -> str:
    """Return plain facts on one line, hashes in full."""
    return markdown(", ".join(f"{name} {facts[name]}" for name in names if facts.get(name) is not None))


def _cache(evidence: Evidence) -> str:
    reused = evidence.performance["prefix_reuse"]["reused_tokens"]
    if evidence.local:
        return f"{reused} prompt tokens were kept from the turn before; each trajectory began from nothing"
    shared = evidence.performance.get("server", {}).get("shared_tokens")
    return (
        f"the server's own; as it tells, {_known(reused)} prompt tokens came from it, {_known(shared)} of them in "
        "trajectories' first turns"
    )


def _known(tokens: int | None) -> str:
    return "an unknown number of" if tokens is None else str(tokens)
