"""Two stored gates side by side, sample by sample, natively and leniently."""

from collections.abc import Mapping, Sequence
from typing import Any

from bfcl_gate.answers import marks_of
from bfcl_gate.errors import InputError
from bfcl_gate.gate_file import StoredGate
from bfcl_gate.readings import MODES
from bfcl_gate.scoring import score
from bfcl_gate.significance import compare_marks


def compare_gates(first: StoredGate, second: StoredGate) -> dict[str, Any]:
    """Return {rules, tool_schemas, samples, only_first, only_second, native{}, lenient{}}.

    Each mode holds the accuracies of both on the shared ids, what flipped from first to second, and
    McNemar's exact p. Raises InputError for gates of other rules or tool schemas and for no shared id.
    """
    rules, tool_schemas = _same_ground(first, second)
    ids = [[answer.id for answer in stored.answers] for stored in (first, second)]
    shared = set(ids[0]) & set(ids[1])
    if not shared:
        raise InputError(f"{first.path} and {second.path} share no sample, so there is nothing to compare.")
    return {
        "rules": rules,
        "tool_schemas": tool_schemas,
        "samples": len(shared),
        "only_first": len(set(ids[0]) - shared),
        "only_second": len(set(ids[1]) - shared),
        **{mode: _mode(first, second, shared, mode) for mode in MODES},
    }


def _same_ground(first: StoredGate, second: StoredGate) -> tuple[str, str]:
    grounds = []
    for stored in (first, second):
        if stored.header is None:
            raise InputError(
                f"{stored.path}: has no header, so its rules are unknown; expected a bfcl-gate run."
            )
        grounds.append((str(stored.header.get("rules")), str(stored.header.get("tool_schemas"))))
    if grounds[0] != grounds[1]:
        raise InputError(
            f"{first.path} was judged under rules {grounds[0][0]} and tool schemas {grounds[0][1]}, {second.path} "
            f"under rules {grounds[1][0]} and tool schemas {grounds[1][1]}; such marks are not comparable. Judge "
            "one of them again with bfcl-gate score --rules, or run it with the same --tool-schemas."
        )
    return grounds[0]


def _mode(first: StoredGate, second: StoredGate, shared: set[str], mode: str) -> dict[str, Any]:
    marks = [[m for m in marks_of(stored.answers, mode) if m[0] in shared] for stored in (first, second)]
    return {
        "first": _figures(marks[0]),
        "second": _figures(marks[1]),
        **compare_marks(dict(marks[0]), dict(marks[1])),
    }


def _figures(marks: Sequence[tuple[str, bool]]) -> Mapping[str, Any]:
    scores = score(marks)
    return {
        "overall_accuracy": scores.overall,
        "overall_interval": list(scores.overall_interval),
        "normalized_accuracy": scores.normalized,
        "normalized_interval": None
        if scores.normalized_interval is None
        else list(scores.normalized_interval),
        "subsets": {subset.name: subset.accuracy for subset in scores.subsets},
    }
