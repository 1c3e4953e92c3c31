"""Accuracy per subset, and the same as text. Nothing is judged: multi-turn is no part of the gate."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from bfcl_gate.multi_turn.data import SUBSETS
from bfcl_gate.multi_turn.entries import Played
from bfcl_gate.multi_turn.runner import Policy
from bfcl_gate.scoring import wilson_interval
from bfcl_gate.words import count

ENTRIES = 200
"""Conversations of each subset."""


def multi_turn_object(rows: Sequence[Played], policy: Policy) -> dict[str, Any]:
    """Return what result.json holds of a run.

    `multi_turn_accuracy`, the leaderboard's figure, is the mean of the four subsets; None unless all are whole.
    """
    subsets = {name: _subset([row for row in rows if row.subset == name]) for name in SUBSETS}
    played = {name: found for name, found in subsets.items() if found["samples"]}
    whole = len(rows) == ENTRIES * len(SUBSETS)
    return {
        "calls": policy.calls,
        "max_tokens": policy.max_tokens,
        "samples": len(rows),
        "subsets": played,
        "multi_turn_accuracy": fmean(found["accuracy"] for found in played.values()) if whole else None,
        "errors": dict(sorted(Counter(row.error for row in rows if row.error is not None).items())),
    }


def multi_turn_text(found: Mapping[str, Any]) -> str:
    """Return the report of a multi-turn object, ending in a newline."""
    lines = [
        f"BFCL v4 multi-turn: {count(found['samples'], 'conversation')}, {found['calls']} calls; shown, not judged",
        "",
    ]
    for name, subset in found["subsets"].items():
        low, high = (100 * bound for bound in subset["interval"])
        part = "" if subset["samples"] == ENTRIES else f"  first {subset['samples']} of {ENTRIES}"
        right = f"{subset['correct']}/{subset['samples']}"
        lines.append(
            f"{name:<13} {100 * subset['accuracy']:6.2f}% [{low:5.1f}, {high:5.1f}]  {right:>7}{part}"
        )
    if found["multi_turn_accuracy"] is not None:
        lines.append(f"{'mean':<13} {100 * found['multi_turn_accuracy']:6.2f}%")
    if found["errors"]:
        lines += ["", "What the first wrong turn failed on:"]
        lines += [f"  {count:>4}  {error}" for error, count in found["errors"].items()]
    return "\n".join(lines) + "\n"


def _subset(rows: Sequence[Played]) -> dict[str, Any]:
    correct = sum(row.correct for row in rows)
    return {
        "samples": len(rows),
        "correct": correct,
        "accuracy": correct / len(rows) if rows else None,
        "interval": list(wilson_interval(correct, len(rows))) if rows else None,
    }
