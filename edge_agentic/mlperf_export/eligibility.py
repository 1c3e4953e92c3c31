"""What a run lacks of a submission: of the closed division, of the open one, or of both.

The checker itself asks for less: it judges neither the accuracy nor failed turns nor elapsed time of this benchmark, so
a run it lets pass is not yet one that keeps the rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfcl_gate.answers import marks_of
from bfcl_gate.decision import checks_of
from bfcl_gate.errors import InputError
from bfcl_gate.lines import LineOptions, resolve_line
from bfcl_gate.ruleset import MLPERF_V6_1
from edge_agentic.mlperf_export.evidence import Evidence

CLOSED, OPEN = "closed", "open"
DIVISIONS = (CLOSED, OPEN)
EXAMPLE = "example"

GATE_SAMPLES = 995
"""The accuracy samples that the checker asks for: `dataset-size` of qwen3.6-27b."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """One thing that a division asks for and the run has not. Those of `open` are asked for in both divisions."""

    division: str
    detail: str


def shortfalls(evidence: Evidence) -> tuple[Shortfall, ...]:
    """Return all that keeps a run from being a submission of the closed division, in the order of importance."""
    in_both = (*_run(evidence), *_workload(evidence), *_gate(evidence))
    return (
        *(Shortfall(division=OPEN, detail=detail) for detail in in_both),
        *(Shortfall(division=CLOSED, detail=detail) for detail in _closed(evidence)),
    )


def kind_of(found: tuple[Shortfall, ...], division: str | None, any_run: bool, folder: Path) -> str:
    """Return what the tree is: a `closed` or `open` submission, or an `example`.

    `division` is None where none was named. Raises InputError for an unknown one, and in one paragraph for a run that
    is no submission of it.
    """
    if division is not None and division not in DIVISIONS:
        raise InputError(
            f"--division {division!r} is unknown; expected one of {', '.join(DIVISIONS)}. Runs of this tool are not of "
            "the network division."
        )
    if any_run and division == CLOSED:
        raise InputError(
            "--any-run makes an example of the layout, which stands in the open division; a closed one would state "
            "what is not so. Leave --any-run or --division closed out."
        )
    if any_run:
        return EXAMPLE
    asked = division or CLOSED
    lacking = [one.detail for one in found if asked == CLOSED or one.division == OPEN]
    if lacking:
        raise InputError(_refusal(folder, asked, lacking, found))
    return asked


def division_of(kind: str) -> str:
    """Return the division whose folder a tree stands in: an example stands in the open one."""
    return CLOSED if kind == CLOSED else OPEN


def _refusal(folder: Path, division: str, lacking: list[str], found: tuple[Shortfall, ...]) -> str:
    others = f" --division {OPEN} takes it as it is, with these differences stated."
    way = others if division == CLOSED and all(one.division == CLOSED for one in found) else ""
    return (
        f"{folder}: this run is no submission of MLPerf Inference v6.1, {division} division: {'; '.join(lacking)}. "
        f"Expected a valid run of the whole official trace with its own full gate of {GATE_SAMPLES} samples, made by "
        f"`edge-agentic run --profile {MLPERF_V6_1.name}`.{way} To see the layout, --any-run writes an example of any "
        "finished run with a passed gate, whose README says that it is none."
    )


def _run(evidence: Evidence) -> Iterator[str]:
    result = evidence.result
    if not result["valid"]:
        broken = [check["name"] for check in result["validity"] if not check["passed"]]
        yield f"the run is invalid ({', '.join(broken)})"
    if evidence.replay.seams or evidence.replay.starts:
        yield "the replay was interrupted and taken up again, so its turns are not one uninterrupted measurement"
    if evidence.performance["turns"]["dropped"]:
        yield f"{evidence.performance['turns']['dropped']} turns brought no complete answer"


def _workload(evidence: Evidence) -> Iterator[str]:
    result, options = evidence.result, evidence.options
    if result["trace"].get("sha256") != MLPERF_V6_1.trace_sha256:
        yield f"it replayed another trace ({result['trace'].get('name')}) than the official one"
    elif evidence.performance["turns"]["issued"] != result["trace"].get("turns"):
        yield f"it replayed {evidence.performance['turns']['issued']} of {result['trace'].get('turns')} turns"
    asked: Mapping[str, Any] = {
        "decoding": (evidence.performance["decode"], MLPERF_V6_1.decode),
        "--max-tokens": (options.get("max_tokens"), MLPERF_V6_1.gate.max_tokens),
        "--seed": (options.get("seed"), MLPERF_V6_1.seed),
        "--concurrency": (options.get("concurrency"), MLPERF_V6_1.concurrency),
        "--tool-delay": (options.get("tool_delay"), "none"),
        "--reasoning": (options.get("reasoning"), "keep"),
    }
    for name, (given, expected) in asked.items():
        if given != expected:
            yield f"{name} was {given}, not {expected}"


def _gate(evidence: Evidence) -> Iterator[str]:
    gate = evidence.gate
    if gate["screening"] or gate.get("partial") or gate["samples"] != GATE_SAMPLES:
        whole = "a screening gate" if gate["screening"] else "a gate"
        yield f"its accuracy comes from {whole} of {gate['samples']} samples, not from the full {GATE_SAMPLES}"
    for name in ("rules", "tool_schemas"):
        if gate[name] != getattr(MLPERF_V6_1.gate, name):
            yield f"the gate's {name.replace('_', ' ')} were {gate[name]}, not {getattr(MLPERF_V6_1.gate, name)}"


def _closed(evidence: Evidence) -> Iterator[str]:
    result, gate = evidence.result, evidence.gate
    if result["ruleset"] != MLPERF_V6_1.name:
        yield f"it was made under the profile {result['ruleset']}, not {MLPERF_V6_1.name}"
    sha256 = result["model"].get("sha256")
    if sha256 is not None and sha256 != MLPERF_V6_1.model_sha256:
        yield f"its model is {result['model'].get('name')}, not the reference's Qwen3.6-27B"
    if gate["calls"] != MLPERF_V6_1.gate.calls:
        yield f"the gate judged {gate['calls']} calls, not {MLPERF_V6_1.gate.calls} ones"
    yield from _below_line(evidence)
    yield from _too_long(evidence)


def _below_line(evidence: Evidence) -> Iterator[str]:
    """The gate's own line may have been another one (--min-overall, --baseline); a submission is held to MLPerf's."""
    marks = marks_of(evidence.answers, MLPERF_V6_1.gate.calls)
    line = resolve_line(LineOptions(), [name for name, _ in marks], MLPERF_V6_1.gate, None, references=())
    for check in checks_of(marks, line, screening=False):
        if not check.passed:
            yield f"the {check.name} of its native calls is {check.detail}"


def _too_long(evidence: Evidence) -> Iterator[str]:
    """The reference gives up a turn and ends a replay at these limits, so what is longer is nothing it would report."""
    longest_s, limit_s = evidence.performance["turn_latency_s"]["max"], MLPERF_V6_1.turn_timeout_s
    if longest_s is not None and limit_s is not None and longest_s > limit_s:
        yield f"its longest turn took {longest_s:.0f} s, beyond the reference's deadline of {limit_s} s"
    duration_s, cap_s = evidence.performance["duration_s"], MLPERF_V6_1.replay_limit_s
    if duration_s is not None and cap_s is not None and duration_s > cap_s:
        yield f"its replay took {duration_s:.0f} s, beyond the reference's cap of {cap_s} s"
