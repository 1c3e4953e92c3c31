"""The verdict of a gate: answers and a line in, the `gate` object of result.json out."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bfcl_gate.answers import Answer, marks_of
from bfcl_gate.decision import Check, decide, failing_count, is_screening, passes
from bfcl_gate.lines import Line, LineOptions, resolve_line
from bfcl_gate.notes import notes_on
from bfcl_gate.preflight import PreflightReport
from bfcl_gate.readings import MODES
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.scoring import Scores, score
from bfcl_gate.significance import compare_marks, false_fail_probability, visible_accuracy

UNPASSABLE = (
    "simple_java_36",
    "simple_java_65",
    "live_simple_106-63-0",
    "live_simple_112-68-0",
    "live_multiple_862-181-3",
    "live_multiple_964-207-0",
)
"""Entries whose accepted answers contradict their own function, so that no call passes."""

CREDITED_WHEN_FAILED = ("irrelevance", "live_irrelevance")
"""Subsets on which MLPerf's scorer takes a failed request for a right refusal to call."""


def judge_answers(
    answers: Sequence[Answer],
    policy: GatePolicy,
    lines: LineOptions,
    model_sha256: str | None,
    ids: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the gate object of a run's answers.

    `ids` are all samples of the gate, in order, where a run stopped as soon as its verdict was certain.
    Raises InputError where the line cannot be resolved.
    """
    planned = [answer.id for answer in answers] if ids is None else ids
    return gate_object(answers, planned, policy, resolve_line(lines, planned, policy, model_sha256))


def gate_object(
    answers: Sequence[Answer], ids: Sequence[str], policy: GatePolicy, line: Line | None
) -> dict[str, Any]:
    """Return the gate object of answers to the first of `ids`; without a line nothing is judged."""
    screening = line is not None and is_screening(policy.sample, line)
    missing = ids[len(answers) :]
    marks = [(answer.id, answer.correct) for answer in answers]
    checks = None if line is None else decide(marks, missing, line, screening=screening)
    scores = {mode: score(marks_of(answers, mode)) for mode in MODES}
    gate = {
        "passed": None if checks is None else passes(checks),
        "screening": screening,
        "partial": bool(missing),
        "sample": policy.sample_name,
        "reference": None if line is None else line.reference,
        "line": None if line is None else line_object(line),
        "rules": policy.rules,
        "tool_schemas": policy.tool_schemas,
        "calls": policy.calls,
        "parallel": policy.parallel,
        "share_prefix": policy.share_prefix,
        "samples": len(answers),
        "planned_samples": len(ids),
        **_accuracies(scores[policy.calls]),
        **{mode: _accuracies(scores[mode]) for mode in MODES},
        "checks": [asdict(check) for check in checks or ()],
        **_counts(answers),
        "chance": None if line is None else _chance(scores[policy.calls], ids, missing, line, screening),
        "comparison": None if line is None or line.marks is None else compare_marks(line.marks, dict(marks)),
    }
    return {**gate, "notes": notes_on(gate, line)}


def judge_preflight(
    report: PreflightReport, policy: GatePolicy, planned: int, *, screening: bool
) -> dict[str, Any]:
    """Return the gate object of a run that ended before the first of its `planned` samples: not passed."""
    nothing: dict[str, Any] = {
        "overall_accuracy": None,
        "overall_interval": None,
        "normalized_accuracy": None,
        "normalized_interval": None,
        "categories": {},
        "subsets": {},
    }
    check = Check(
        name="preflight", passed=False, detail=f"no answer of five attempts a tool call; {report.cause}"
    )
    return {
        "passed": False,
        "screening": screening,
        "partial": True,
        "sample": policy.sample_name,
        "reference": None,
        "line": None,
        "rules": policy.rules,
        "tool_schemas": policy.tool_schemas,
        "calls": policy.calls,
        "parallel": policy.parallel,
        "share_prefix": policy.share_prefix,
        "samples": 0,
        "planned_samples": planned,
        **nothing,
        **dict.fromkeys(MODES, nothing),
        "checks": [asdict(check)],
        "preflight": {"cause": report.cause, "raw": report.raw},
        "notes": [f"One raw answer of the preflight: {json.dumps(report.raw, ensure_ascii=False)}"],
    }


def line_object(line: Line) -> dict[str, Any]:
    """Return what result.json keeps of a line."""
    names = ("source", "overall", "normalized", "reference_overall", "note")
    return {name: getattr(line, name) for name in names}


def _accuracies(scores: Scores) -> dict[str, Any]:
    return {
        "overall_accuracy": scores.overall,
        "overall_interval": list(scores.overall_interval),
        "normalized_accuracy": scores.normalized,
        "normalized_interval": _bounds(scores.normalized_interval),
        "categories": {
            c.name: {
                "samples": c.samples,
                "correct": c.correct,
                "accuracy": c.accuracy,
                "interval": list(c.interval),
            }
            for c in scores.categories
        },
        "subsets": {
            s.name: {
                "samples": s.samples,
                "correct": s.correct,
                "accuracy": s.accuracy,
                "interval": list(s.interval),
            }
            for s in scores.subsets
        },
    }


def _bounds(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _counts(answers: Sequence[Answer]) -> dict[str, Any]:
    failed = [answer for answer in answers if answer.error is not None]
    answered = [answer for answer in answers if answer.error is None]
    return {
        "failed_requests": len(failed),
        "failed_requests_the_reference_credits": sum(a.subset in CREDITED_WHEN_FAILED for a in failed),
        "token_limit_answers": sum(answer.finish_reason == "length" for answer in answered),
        "empty_answers": sum(not (a.text or "").strip() and not a.attempts for a in answered),
        "malformed_answers": sum(len(a.attempts) > len(a.tool_calls) for a in answered),
        "unscorable_answers": sum((a.mark_error or "").startswith("gate_error:") for a in answered),
        "unpassable_samples": [answer.id for answer in answers if answer.id in UNPASSABLE],
    }


def _chance(
    scores: Scores, ids: Sequence[str], missing: Sequence[str], line: Line, screening: bool
) -> dict[str, Any]:
    failing = failing_count(ids, line, screening=screening)
    visible = visible_accuracy(len(ids), failing)
    counts = [(subset.correct, subset.samples) for subset in scores.subsets]
    reference = line.reference_overall
    return {
        "false_fail_probability": None if missing else false_fail_probability(counts, failing),
        "visible_accuracy": visible,
        "visible_drop": None if visible is None or reference is None else reference - visible,
    }
