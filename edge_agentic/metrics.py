"""The numbers of a replay, each defined once. Everything derives from stored turns; nothing is measured here.

A reading that does not exist (an endpoint that counts no tokens, an answer of one token) is None and enters
no statistic. Dropped turns (`error` set) take wall time but enter no distribution. `seams` are the
(trajectory_id, turn) pairs that a resume marked: their cache was rebuilt, so they enter no timing at all.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from edge_agentic.distribution import distribution
from edge_agentic.drafts import speculation
from edge_agentic.turns import TurnResult

NS_PER_S = 1_000_000_000

Seams = Collection[tuple[str, int]]


def ttft_s(turn: TurnResult) -> float | None:
    """TTFT = first_token_ns - submitted_ns, in seconds."""
    return None if turn.first_token_ns is None else (turn.first_token_ns - turn.submitted_ns) / NS_PER_S


def tpot_s(turn: TurnResult) -> float | None:
    """TPOT = (token_ns[-1] - token_ns[0]) / (OSL - 1), in seconds; None below two tokens or two arrivals."""
    steps, decode_ns = decode_steps(turn), _decode_ns(turn)
    return None if not steps or decode_ns is None else decode_ns / steps / NS_PER_S


def turn_latency_s(turn: TurnResult) -> float:
    """Turn latency = completed_ns - submitted_ns, in seconds."""
    return (turn.completed_ns - turn.submitted_ns) / NS_PER_S


def prefill_s(turn: TurnResult) -> float | None:
    """Prefill time = first_token_ns - rendered_ns, in seconds: evaluating the new part of the prompt."""
    if turn.first_token_ns is None or turn.rendered_ns is None:
        return None
    return (turn.first_token_ns - turn.rendered_ns) / NS_PER_S


def outside_turn_s(turn: TurnResult) -> float | None:
    """Time outside llama.cpp of one turn = first_token_ns - submitted_ns - library_prefill_ns, in seconds: render,
    tokenise, roll back, fill batches, choose the first token."""
    if turn.first_token_ns is None or turn.library_prefill_ns is None:
        return None
    return (turn.first_token_ns - turn.submitted_ns - turn.library_prefill_ns) / NS_PER_S


def outside_token_s(turn: TurnResult) -> float | None:
    """Time outside llama.cpp of one token = (token_ns[-1] - token_ns[0] - library_decode_ns) / (OSL - 1), in seconds:
    choose a token, read the clock, fill the next batch."""
    steps, decode_ns = decode_steps(turn), _decode_ns(turn)
    if not steps or decode_ns is None or turn.library_decode_ns is None:
        return None
    return (decode_ns - turn.library_decode_ns) / steps / NS_PER_S


def outside(turns: Sequence[TurnResult]) -> dict[str, Any]:
    """What the harness itself costs: the times outside llama.cpp of a turn and of a token, and `prepare_s`, the time
    before submission in which a recorded answer's tokens are made. Empty where no engine told (an endpoint)."""
    if not any(turn.library_prefill_ns is not None for turn in turns):
        return {}
    prepared = (turn.prepare_ns / NS_PER_S for turn in turns if turn.prepare_ns is not None)
    return {
        "turn_s": distribution(map(outside_turn_s, turns)).to_dict(),
        "token_s": distribution(map(outside_token_s, turns)).to_dict(),
        "prepare_s": distribution(prepared).to_dict(),
    }


def decode_steps(turn: TurnResult) -> int | None:
    """Decode steps = OSL - 1: the first token comes out of the prefill."""
    return None if turn.output_tokens is None else max(turn.output_tokens - 1, 0)


def _decode_ns(turn: TurnResult) -> int | None:
    """First to last arrival; None where fewer than two arrivals say nothing about the time between."""
    return turn.token_ns[-1] - turn.token_ns[0] if len(turn.token_ns) > 1 else None


def decode_tokens_per_s(turn: TurnResult) -> float | None:
    """Decode rate of one turn = 1 / TPOT, in tokens per second."""
    return 1 / seconds if (seconds := tpot_s(turn)) else None


def pooled_prefill_tokens_per_s(turns: Iterable[TurnResult]) -> float | None:
    """Prefill rate = Σ evaluated_tokens / Σ (first_token_ns - rendered_ns): reused tokens do not count."""
    known = [
        (turn.evaluated_tokens, seconds)
        for turn in turns
        if turn.evaluated_tokens is not None and (seconds := prefill_s(turn)) is not None
    ]
    return _ratio(sum(tokens for tokens, _ in known), sum(seconds for _, seconds in known))


def pooled_decode_tokens_per_s(turns: Iterable[TurnResult]) -> float | None:
    """Decode rate = Σ (OSL - 1) / Σ (token_ns[-1] - token_ns[0])."""
    known = [
        (steps, ns)
        for turn in turns
        if (steps := decode_steps(turn)) is not None and (ns := _decode_ns(turn)) is not None
    ]
    return _ratio(sum(steps for steps, _ in known), sum(ns for _, ns in known) / NS_PER_S)


def duration_s(sessions: Iterable[Sequence[TurnResult]]) -> float | None:
    """Wall time = last completed_ns - first submitted_ns, tool delays included; summed over the sessions of a
    resumed run, because the break between two sessions is no work and a reboot restarts the clock."""
    spans = [
        max(t.completed_ns for t in turns) - min(t.submitted_ns for t in turns) for turns in sessions if turns
    ]
    return sum(spans) / NS_PER_S if spans else None


def trajectory_durations_s(sessions: Sequence[Sequence[TurnResult]], seams: Seams = ()) -> list[float]:
    """Trajectory duration = its last completed_ns - its first submitted_ns, in seconds.

    A trajectory that lost a turn, or was interrupted and resumed, has none.
    """
    broken = {trajectory for trajectory, _ in seams}
    spans: dict[str, list[float]] = {}
    for turns in sessions:
        by_trajectory: dict[str, list[TurnResult]] = {}
        for turn in turns:
            by_trajectory.setdefault(turn.trajectory_id, []).append(turn)
        for name, own in by_trajectory.items():
            if any(turn.error is not None for turn in own):
                broken.add(name)
            spans.setdefault(name, []).append(duration_s([own]) or 0.0)
    return [parts[0] for name, parts in spans.items() if name not in broken and len(parts) == 1]


def prefix_reuse(turns: Iterable[TurnResult]) -> dict[str, Any]:
    """Prefix reuse: ratio = Σ reused_tokens / Σ possible_tokens, over the turns where both are known.

    `misses` counts turns that reused less than was possible: all of them, those that began from nothing, the tokens
    evaluated again, and the turns whose prompt the cache held further than it could be taken back to. Where no
    possible count exists (an endpoint) only the reused sum is given.
    """
    turns = tuple(turns)
    reused = [t.reused_tokens for t in turns if t.reused_tokens is not None]
    known = [
        (t.possible_tokens, t.reused_tokens)
        for t in turns
        if t.possible_tokens is not None and t.reused_tokens is not None
    ]
    if not known:
        total = sum(reused) if reused else None
        return {"possible_tokens": None, "reused_tokens": total, "ratio": None, "misses": {}}
    short = [(possible, used) for possible, used in known if used < possible]
    possible_sum, reused_sum = sum(p for p, _ in known), sum(u for _, u in known)
    return {
        "possible_tokens": possible_sum,
        "reused_tokens": reused_sum,
        "ratio": _ratio(reused_sum, possible_sum),
        "misses": {
            "turns": len(short),
            "from_nothing": sum(used == 0 for _, used in short),
            "tokens": sum(possible - used for possible, used in short),
            **_not_taken_back(turns),
        },
    }


def _not_taken_back(turns: Iterable[TurnResult]) -> dict[str, int]:
    found = [t for t in turns if None not in (t.held_tokens, t.reused_tokens)]
    number = sum((turn.held_tokens or 0) > (turn.reused_tokens or 0) for turn in found)
    return {"not_taken_back": number} if number else {}


def shielded(turns: Iterable[TurnResult]) -> dict[str, int]:
    """Prompts whose content spelt the text of a control token, and how often; empty where none did or nobody knows."""
    counts = [turn.shielded for turn in turns if turn.shielded]
    return {"prompts": len(counts), "texts": sum(counts)} if counts else {}


def agreement(turns: Iterable[TurnResult]) -> dict[str, Any]:
    """Agreement with the recording. iou = mean of the turns' multiset IoU over every scored turn, a dropped
    one counting 0; token_agreement = Σ agreed_tokens / Σ output_tokens of forced turns."""
    turns = tuple(turns)
    scored = [turn for turn in turns if turn.agreement is not None]
    forced = [
        (t.agreed_tokens, t.output_tokens)
        for t in turns
        if t.agreed_tokens is not None and t.output_tokens is not None
    ]
    return {
        "iou": _ratio(sum(turn.agreement or 0.0 for turn in scored), len(scored)),
        "token_agreement": _ratio(sum(agreed for agreed, _ in forced), sum(out for _, out in forced)),
        "scored": len(scored),
        "missing": sum(turn.error is not None for turn in scored),
    }


def mlperf_output_tokens(turn: TurnResult) -> int | None:
    """MLPerf's OSL = tokens of the answer's text, so without the end-of-generation token that we count."""
    if turn.output_tokens is None:
        return None
    return turn.output_tokens - (turn.finish_reason != "length" and turn.output_tokens > 0)


def _first_piece_ns(turn: TurnResult) -> int | None:
    """MLPerf's first piece: of text, reasoning or a call. A server may show its first token before that."""
    return turn.first_token_ns if turn.first_piece_ns is None else turn.first_piece_ns


def mlperf_ttft_ms(turn: TurnResult) -> float | None:
    """MLPerf's TTFT = first piece - submitted_ns, in ms."""
    first_ns = _first_piece_ns(turn)
    return None if first_ns is None else (first_ns - turn.submitted_ns) / 1e6


def mlperf_tpot_ms(turn: TurnResult) -> float | None:
    """MLPerf's TPOT = (completed_ns - first piece) / tokens after the first piece, in ms; else None."""
    tokens, first_ns = mlperf_output_tokens(turn), _first_piece_ns(turn)
    if first_ns is None or tokens is None or tokens < 2:
        return None
    return (turn.completed_ns - first_ns) / (tokens - 1) / 1e6


def mlperf(turns: Sequence[TurnResult], wall_s: float | None) -> dict[str, Any]:
    """MLPerf's own variants: failed turns keep their latency, QPS = all turns / wall time, TPS = Σ OSL / wall
    time, TPOT by its formula, times in ms, percentiles of method "lower".

    Turns given up before they were issued (no time between submission and completion) are left out: the
    reference would count them as fast.
    """
    turns = [turn for turn in turns if turn.completed_ns > turn.submitted_ns]
    answered = [turn for turn in turns if turn.error is None]
    tokens = [n for turn in answered if (n := mlperf_output_tokens(turn)) is not None]
    return {
        "qps": _ratio(len(turns), wall_s),
        "tps": _ratio(sum(tokens), wall_s) if tokens else None,
        "latency_ms": distribution((turn_latency_s(t) * 1e3 for t in turns), certify=True).to_dict(),
        "ttft_ms": distribution(map(mlperf_ttft_ms, turns), certify=True).to_dict(),
        "tpot_ms": distribution(map(mlperf_tpot_ms, answered), certify=True).to_dict(),
        "output_tokens": distribution(tokens).to_dict(),
    }


def server(turns: Iterable[TurnResult]) -> dict[str, Any]:
    """What a server measured itself, pooled: prefill rate = Σ evaluated_tokens / Σ server_prefill_ns, decode rate =
    Σ (OSL - 1) / Σ server_decode_ns, and speculative decoding's Σ accepted / Σ drafted tokens. `shared_tokens` are the
    reused tokens of trajectories' first turns: what its cache kept from others.

    Its decode rate holds where a server collects tool calls and sends them late. Empty where a server tells nothing.
    """
    prefill, decode, drafts = [], [], []
    first: dict[str, int | None] = {}
    for turn in turns:
        if turn.possible_tokens is None:
            first.setdefault(turn.trajectory_id, turn.reused_tokens)
        if turn.server_prefill_ns and turn.evaluated_tokens is not None:
            prefill.append((turn.evaluated_tokens, turn.server_prefill_ns))
        if turn.server_decode_ns and (steps := decode_steps(turn)):
            decode.append((steps, turn.server_decode_ns))
        if turn.drafted_tokens and turn.accepted_tokens is not None and turn.passes is None:
            drafts.append((turn.accepted_tokens, turn.drafted_tokens))
    shared = [reused for reused in first.values() if reused is not None]
    found = {
        "prefill_tokens_per_s": _pooled(prefill, NS_PER_S),
        "decode_tokens_per_s": _pooled(decode, NS_PER_S),
        "draft_acceptance": _pooled(drafts),
        "shared_tokens": sum(shared) if shared else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _pooled(pairs: Sequence[tuple[int, int]], unit: int = 1) -> float | None:
    return _ratio(sum(part for part, _ in pairs), sum(whole for _, whole in pairs) / unit)


def performance(
    turns: Sequence[TurnResult], *, seams: Seams = (), starts: Collection[int] = ()
) -> dict[str, Any]:
    """Return the `performance` object of result.json, without `roofline` and `energy` (measured elsewhere).

    `starts` are the indices in `turns` at which a resumed run began again.
    """
    sessions = sessions_of(turns, seams, starts)
    timed = [turn for session in sessions for turn in session]
    answered = [turn for turn in timed if turn.error is None]
    wall_s = duration_s(sessions)
    outputs = [turn.output_tokens for turn in answered if turn.output_tokens is not None]
    dropped = sum(turn.error is not None for turn in turns)
    return {
        "decode": turns[0].decode if turns else None,
        "turns": {"issued": len(turns), "completed": len(turns) - dropped, "dropped": dropped},
        "duration_s": wall_s,
        "ttft_s": distribution(map(ttft_s, answered), certify=True).to_dict(),
        "tpot_s": distribution(map(tpot_s, answered), certify=True).to_dict(),
        "turn_latency_s": distribution(map(turn_latency_s, answered), certify=True).to_dict(),
        "trajectory_duration_s": distribution(trajectory_durations_s(sessions, seams)).to_dict(),
        "input_tokens": distribution(turn.input_tokens for turn in answered).to_dict(),
        "output_tokens": distribution(outputs).to_dict(),
        "prefill_tokens_per_s": pooled_prefill_tokens_per_s(answered),
        "decode_tokens_per_s": pooled_decode_tokens_per_s(answered),
        "output_tokens_per_s": _ratio(sum(outputs), wall_s) if outputs else None,
        "prefix_reuse": prefix_reuse(answered),
        "agreement": agreement(turns),
        "mlperf": mlperf(timed, wall_s),
        **({"server": stated} if (stated := server(answered)) else {}),
        **({"outside": own} if (own := outside(answered)) else {}),
        **({"speculation": drafts} if (drafts := speculation(answered)) else {}),
        **({"shielded": found} if (found := shielded(answered)) else {}),
    }


def sessions_of(
    turns: Sequence[TurnResult], seams: Seams = (), starts: Collection[int] = ()
) -> list[list[TurnResult]]:
    """Return the timed turns of each time a run was started or resumed, without its seams."""
    cuts = sorted({0, *starts, len(turns)})
    parts = [turns[begin:end] for begin, end in pairwise(cuts)]
    return [[t for t in part if (t.trajectory_id, t.turn) not in seams] for part in parts]


def _ratio(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None
