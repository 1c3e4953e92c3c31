"""What a load of trajectories was served: rates of sessions, jobs and tokens, and goodput. All from stored turns.

A session is a trajectory while it runs, a job a trajectory that was finished whole.
"""

from collections.abc import Collection, Sequence
from typing import Any

from edge_agentic.metrics import NS_PER_S, Seams, duration_s, sessions_of, tpot_s, ttft_s, turn_latency_s
from edge_agentic.slo import Slo
from edge_agentic.turns import TurnResult

Parts = Sequence[Sequence[TurnResult]]
"""The turns of a run, one part for each time it was started or resumed."""


def load(
    turns: Sequence[TurnResult], *, seams: Seams = (), starts: Collection[int] = (), slo: Slo | None = None
) -> dict[str, Any]:
    """Return the parts `throughput` and, with objectives, `goodput` of the `performance` object.

    `seams` and `starts` as `edge_agentic.metrics.performance` takes them.
    """
    parts = sessions_of(turns, seams, starts)
    found = {"throughput": throughput(parts, seams)}
    return found if slo is None else {**found, "goodput": goodput(parts, slo)}


def throughput(parts: Parts, seams: Seams = ()) -> dict[str, Any]:
    """Rates over the wall time of the replay; what is not known is None.

    turns_per_s = answered turns / wall time; jobs_per_h = trajectories answered whole / wall time;
    evaluated_tokens_per_s = Σ evaluated_tokens / wall time (reused ones cost nothing and do not count). `session` is
    what one trajectory gets while it runs: Σ output tokens and Σ turns / Σ (its last completion - its first
    submission). `full_load` leaves out the end of a run, where trajectories are too few to keep the server busy.
    """
    wall_s = duration_s(parts)
    answered = [turn for part in parts for turn in part if turn.error is None]
    spans = [span for part in parts for span in _spans(part).values()]
    whole_s = sum(last - first for first, last in spans) / NS_PER_S
    return {
        "turns_per_s": _rate(len(answered), wall_s),
        "jobs_per_h": _rate(3600 * _jobs(parts, seams), wall_s),
        "evaluated_tokens_per_s": _rate(_sum(t.evaluated_tokens for t in answered), wall_s),
        "session": {
            "output_tokens_per_s": _rate(_sum(t.output_tokens for t in answered), whole_s),
            "turns_per_min": _rate(60 * len(answered), whole_s),
        },
        "full_load": _full_load(parts),
    }


def _jobs(parts: Parts, seams: Seams) -> int:
    """Count the trajectories of which every turn was answered, in one go."""
    pieces: dict[str, int] = {}
    failed = {trajectory for trajectory, _ in seams}
    for part in parts:
        for name in {turn.trajectory_id for turn in part}:
            pieces[name] = pieces.get(name, 0) + 1
        failed |= {turn.trajectory_id for turn in part if turn.error is not None}
    return sum(count == 1 and name not in failed for name, count in pieces.items())


def _spans(part: Sequence[TurnResult]) -> dict[str, tuple[int, int]]:
    """Return first submission and last completion of each trajectory, in ns."""
    spans: dict[str, tuple[int, int]] = {}
    for turn in part:
        first, last = spans.get(turn.trajectory_id, (turn.submitted_ns, turn.completed_ns))
        spans[turn.trajectory_id] = min(first, turn.submitted_ns), max(last, turn.completed_ns)
    return spans


def _full_load(parts: Parts) -> dict[str, Any]:
    """The rates until the first trajectory ends after the last one began (MLPerf's end of performance tracking)."""
    total_ns, served = 0, []
    for part in parts:
        spans = _spans(part)
        if not spans:
            continue
        begin, last_begin = min(f for f, _ in spans.values()), max(f for f, _ in spans.values())
        # Turns that were given up unasked took no time: a part of nothing else has none to tell.
        end = min((last for _, last in spans.values() if last > last_begin), default=last_begin)
        total_ns += end - begin
        served += [turn for turn in part if turn.error is None and turn.completed_ns <= end]
    seconds = total_ns / NS_PER_S
    return {
        "duration_s": seconds or None,
        "turns": len(served),
        "turns_per_s": _rate(len(served), seconds),
        "output_tokens_per_s": _rate(_sum(turn.output_tokens for turn in served), seconds),
    }


def goodput(parts: Parts, slo: Slo) -> dict[str, Any]:
    """The turns that met every objective: `share` of all issued ones (a dropped turn met none), and per second.

    An answer without a first token (an empty one at an endpoint) is judged by its completion instead; one of a single
    token has no TPOT to miss. `missed` counts the turns that missed each objective, `dropped` those never answered.
    """
    turns = [turn for part in parts for turn in part]
    answered = [turn for turn in turns if turn.error is None]
    missed = {
        name: sum(_misses(turn, name, most) for turn in answered) for name, most in slo.to_dict().items()
    }
    good = sum(not any(_misses(turn, *objective) for objective in slo.to_dict().items()) for turn in answered)
    return {
        "slo": slo.to_dict(),
        "turns": good,
        "share": _rate(good, len(turns)),
        "turns_per_s": _rate(good, duration_s(parts)),
        "missed": missed,
        "dropped": len(turns) - len(answered),
    }


def _misses(turn: TurnResult, objective: str, most_s: float) -> bool:
    latency = turn_latency_s(turn)
    if objective == "ttft_s":
        first = ttft_s(turn)
        return (latency if first is None else first) > most_s
    return ((tpot_s(turn) or 0.0) if objective == "tpot_s" else latency) > most_s


def _sum(counts: Any) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _rate(amount: float | None, whole: float | None) -> float | None:
    return None if amount is None or not whole else amount / whole
