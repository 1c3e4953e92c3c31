"""accuracy/accuracy_results.json: the gate, and beside it how far the replayed answers agreed with the recording."""

from typing import Any

from bfcl_gate.answers import Answer
from bfcl_gate.scoring import Scores
from edge_agentic.distribution import distribution
from edge_agentic.metrics import NS_PER_S
from edge_agentic.mlperf_export.evidence import Evidence
from edge_agentic.mlperf_export.figures import five_digits
from edge_agentic.mlperf_export.summary import lengths

DATASET = "bfcl_v4::function_calling"


def accuracy_results(evidence: Evidence) -> dict[str, Any]:
    """Return the document. The gate stands first: readers take the first entry as the accuracy."""
    return {
        "average_accuracy": evidence.native.overall,
        "accuracy_scores": [_gate_entry(evidence), *_inline_entry(evidence)],
    }


def _gate_entry(evidence: Evidence) -> dict[str, Any]:
    """The native marks; `duration_s` is Σ latency where the samples were asked one after another."""
    answers, scores = evidence.answers, evidence.native
    latencies = [answer.latency_ns for answer in answers if answer.latency_ns is not None]
    alone = len(latencies) == len(answers) and evidence.options.get("concurrency") == 1
    return {
        "dataset_name": DATASET,
        "extractor": "FunctionCallExtractor",
        "ground_truth_column": "ground_truth",
        "score": scores.overall,
        "unit_samples": scores.samples,
        "num_repeats": 1,
        "total_samples": scores.samples,
        **({"duration_s": sum(latencies) / NS_PER_S} if alone else {}),
        "complete": True,
        "dataset_type": "accuracy",
        "breakdown": _breakdown(scores),
        "response_counts": {
            "issued": scores.samples,
            "scored": scores.samples,
            "empty": sum(_empty(answer) for answer in answers),
            "missing": 0,
        },
        "output_sequence_lengths": lengths(distribution(a.output_tokens for a in answers).to_dict()),
    }


def _breakdown(scores: Scores) -> dict[str, Any]:
    """Percentages of five significant figures, which the rules ask for; the reference rounds to two decimals."""
    return {
        "overall_accuracy": _percentage(scores.overall),
        "normalized_single_turn_score": _percentage(scores.normalized),
        "category_scores": {category.name: _percentage(category.accuracy) for category in scores.categories},
        "subset_scores": {subset.name: _percentage(subset.accuracy) for subset in scores.subsets},
        "unscored_subsets": {},
        "total_samples": scores.samples,
        "issued_samples": scores.samples,
    }


def _empty(answer: Answer) -> bool:
    """Whether nothing came back, as of a failed request, or neither text nor a call."""
    return answer.error is not None or not ((answer.text or "").strip() or answer.attempts)


def _inline_entry(evidence: Evidence) -> list[dict[str, Any]]:
    """The reference's inline checker; no threshold hangs on it. Absent where the recording was decoded (forced)."""
    agreement = evidence.performance["agreement"]
    if agreement["iou"] is None:
        return []
    issued = evidence.performance["turns"]["issued"]
    return [
        {
            "dataset_name": "performance",
            "score": agreement["iou"],
            "unit_samples": issued,
            "num_repeats": 1,
            "total_samples": issued,
            "complete": agreement["missing"] == 0,
            "dataset_type": "performance",
        }
    ]


def _percentage(fraction: float | None) -> float | None:
    return None if fraction is None else float(five_digits(100 * fraction))
