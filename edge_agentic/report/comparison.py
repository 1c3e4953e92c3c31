"""Two runs side by side: the same turns, paired, with the uncertainty that so few trajectories leave."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.identity import differing
from edge_agentic import metrics
from edge_agentic.report.stored import StoredRun
from edge_agentic.turns import TurnResult

RESAMPLES = 2000
WORK = ("ruleset", "trace_sha256", "decode", "reasoning", "tool_delay")

TurnPair = tuple[TurnResult, TurnResult]
Amounts = tuple[float, float]
"""What one turn adds to a measure: seconds, and what they are divided by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One time of both runs in seconds, pooled over the common turns, and B's time as a multiple of A's.

    `interval` is the 95 % bootstrap interval of the ratio over trajectories, None below two of them.
    """

    name: str
    a_s: float
    b_s: float
    ratio: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two comparable runs. `median_turn_ratio` is the median of B's turn latency / A's, turn by turn. `answers` counts
    the turns whose own answers both runs tell, `other_answers` those of them whose texts differ."""

    measures: tuple[Measure, ...]
    turns: int
    trajectories: int
    b_faster: int
    a_faster: int
    median_turn_ratio: float
    answers: int
    other_answers: int
    differences: tuple[str, ...]
    invalid: tuple[str, ...]


def compare(a: StoredRun, b: StoredRun) -> Comparison:
    """Set two runs side by side on the turns both answered.

    Raises InputError where a run has no performance to show (unfinished, gate not passed), where the runs did
    not do the same work, naming the fields that differ, and where they share no turn.
    """
    results = [_performed(run, name) for run, name in ((a, "DIR_A"), (b, "DIR_B"))]
    _require_same_work(work_of(a), work_of(b))
    pairs = _pairs(a, b)
    if not pairs:
        raise InputError(
            "DIR_A and DIR_B have no answered turn in common; expected two runs of the same turns."
        )
    _require_same_prompts(pairs, *results)
    ratios = sorted(metrics.turn_latency_s(two) / metrics.turn_latency_s(one) for one, two in pairs)
    told = [(one.text, two.text) for one, two in pairs if None not in (one.text, two.text)]
    found = (_measure(name, pairs, of) for name, of in MEASURES)
    return Comparison(
        measures=tuple(measure for measure in found if measure is not None),
        turns=len(pairs),
        trajectories=len({one.trajectory_id for one, _ in pairs}),
        b_faster=sum(ratio < 1 for ratio in ratios),
        a_faster=sum(ratio > 1 for ratio in ratios),
        median_turn_ratio=ratios[(len(ratios) - 1) // 2],
        answers=len(told),
        other_answers=sum(one != two for one, two in told),
        differences=tuple(_differences(*results)),
        invalid=tuple(name for name, result in zip("AB", results, strict=True) if not result["valid"]),
    )


def slower_than(comparison: Comparison, percent: float) -> bool:
    """Return whether B's mean turn latency is more than `percent` above A's."""
    return comparison.measures[0].ratio > 1 + percent / 100


def _performed(run: StoredRun, name: str) -> Mapping[str, Any]:
    if run.result is None:
        raise InputError(f"{name}: this run is not finished; continue it with `edge-agentic run --resume`.")
    if run.result["performance"] is None:
        raise InputError(
            f"{name}: the gate of this run did not pass, so its speed is withheld and not compared."
        )
    return run.result


def work_of(run: StoredRun) -> dict[str, Any]:
    """Return what two runs must share so that they did the same work, from the manifest (run.json)."""
    identity, model, options = (run.manifest.get(key, {}) for key in ("identity", "model", "options"))
    work = {name: identity.get(name) for name in WORK}
    work["model"] = model.get("sha256") or model.get("name")
    work["concurrency"] = options.get("concurrency")
    if work["decode"] == "natural":  # a forced answer is as long as the recorded one
        work["max_tokens"] = identity.get("max_tokens")
    return work


def _require_same_work(a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    if found := differing(a, b):
        raise InputError(
            "These runs did not do the same work, so their speeds cannot be compared. Different from "
            f"DIR_A to DIR_B: {'; '.join(found)}. Expected only another device, engine or engine settings."
        )


def _pairs(a: StoredRun, b: StoredRun) -> list[TurnPair]:
    """The turns answered in both runs, in A's order; seams of either run are left out."""
    left_out = a.replay.seams | b.replay.seams
    others = {(t.trajectory_id, t.turn): t for t in b.replay.turns if t.error is None}
    own = [t for t in a.replay.turns if t.error is None and (t.trajectory_id, t.turn) not in left_out]
    pairs = [(t, others[t.trajectory_id, t.turn]) for t in own if (t.trajectory_id, t.turn) in others]
    return [pair for pair in pairs if all(metrics.turn_latency_s(turn) > 0 for turn in pair)]


def _require_same_prompts(pairs: Sequence[TurnPair], a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    """Other token counts of a prompt are another template or tokenizer; servers may count their own way."""
    if "endpoint" in (a["engine"].get("kind"), b["engine"].get("kind")):
        return
    for one, two in pairs:
        if one.input_tokens != two.input_tokens:
            raise InputError(
                f"trajectory {one.trajectory_id}, turn {one.turn}: the prompt has {one.input_tokens} "
                f"tokens in DIR_A and {two.input_tokens} in DIR_B: another template or tokenizer, other work."
            )


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """What may differ and does: that is what the comparison is about."""
    found = []
    for part in ("engine", "options", "environment"):
        one, two = (
            {k: v for k, v in result.get(part, {}).items() if k != "thermal_zones"} for result in (a, b)
        )
        found += differing(one, two, f"{part}.")
    return found


def _latency(turn: TurnResult) -> Amounts | None:
    return metrics.turn_latency_s(turn), 1


def _ttft(turn: TurnResult) -> Amounts | None:
    return None if (taken := metrics.ttft_s(turn)) is None else (taken, 1)


def _tpot(turn: TurnResult) -> Amounts | None:
    taken, steps = metrics.tpot_s(turn), metrics.decode_steps(turn)
    return None if taken is None or not steps else (taken * steps, steps)


def _prefill(turn: TurnResult) -> Amounts | None:
    taken, tokens = metrics.prefill_s(turn), turn.evaluated_tokens
    return None if taken is None or not tokens else (taken, tokens)


MEASURES: tuple[tuple[str, Callable[[TurnResult], Amounts | None]], ...] = (
    ("turn latency, mean", _latency),
    ("TTFT, mean", _ttft),
    ("TPOT, pooled", _tpot),
    ("prefill per evaluated token", _prefill),
)


def _measure(
    name: str, pairs: Sequence[TurnPair], of: Callable[[TurnResult], Amounts | None]
) -> Measure | None:
    by_trajectory: dict[str, list[float]] = {}
    for one, two in pairs:
        first, second = of(one), of(two)
        if first is not None and second is not None:
            sums = by_trajectory.setdefault(one.trajectory_id, [0.0] * 4)
            for i, amount in enumerate((*first, *second)):
                sums[i] += amount
    groups = list(by_trajectory.values())
    if not groups or _ratio(groups) is None:
        return None
    a_s, a_by, b_s, b_by = (sum(group[i] for group in groups) for i in range(4))
    ratio = _ratio(groups) or 0.0
    return Measure(name=name, a_s=a_s / a_by, b_s=b_s / b_by, ratio=ratio, interval=_interval(groups))


def _ratio(groups: Sequence[Sequence[float]]) -> float | None:
    a_s, a_by, b_s, b_by = (sum(group[i] for group in groups) for i in range(4))
    return (b_s / b_by) / (a_s / a_by) if a_s and a_by and b_by else None


def _interval(groups: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Percentile bootstrap over trajectories: turns of one trajectory are not independent of each other."""
    if len(groups) < 2:
        return None
    draw = random.Random(42)
    ratios = sorted(
        ratio for _ in range(RESAMPLES) if (ratio := _ratio(draw.choices(groups, k=len(groups)))) is not None
    )
    return ratios[int(0.025 * (len(ratios) - 1))], ratios[int(0.975 * (len(ratios) - 1))]
