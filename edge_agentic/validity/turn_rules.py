"""Rules that the recorded turns themselves must keep."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bfcl_gate.words import count
from edge_agentic.turns import TurnResult
from edge_agentic.validity.check import INVALID, WARN, Check

CUT_SHARE = 0.05  # more answers than this ended by the token limit: the limit shapes the result
EMPTY_SHARE = 0.20
LEAST_REUSE = 0.95
LEAST_DRIFT_RATIO = 0.90
DRIFT_BIN_TOKENS = 2048  # turns whose prompts lie in the same bin count as equally deep
LEAST_SHARE_OF_TOKENS = 0.5  # of what the run's smallest prompts have in tokens a byte
DRIFT_STEPS = 64  # decode steps needed on either side before a rate is worth comparing


def check_turns(
    manifest: Mapping[str, Any],
    turns: Sequence[TurnResult],
    seams: Collection[tuple[str, int]],
    condition: str,
) -> tuple[Check, ...]:
    """Apply the rules to the turns of a run; `condition` is the level of what the machine may explain."""
    planned, engine = manifest.get("planned", {}), manifest.get("engine", {})
    answered = [turn for turn in turns if turn.error is None]
    timed = [turn for turn in answered if (turn.trajectory_id, turn.turn) not in seams]
    local = engine.get("kind") != "endpoint"
    found = (
        completeness(turns, planned.get("turns")),
        context(answered, engine.get("ctx"), manifest.get("options", {}).get("max_tokens")),
        prompts_whole(answered, planned.get("largest_prompt_tokens")),
        prompts_uncut(answered),
        deadlines(answered, manifest.get("limits") or {}),
        bookkeeping(answered, local=local),
        cut_answers(answered),
        empty_answers(answered),
        prefix_reuse(timed),
        # With several trajectories at once the load changes, and with it the pace.
        drift(timed, condition) if manifest.get("options", {}).get("concurrency", 1) == 1 else None,
    )
    return tuple(check for check in found if check is not None)


def completeness(turns: Sequence[TurnResult], planned_turns: int | None) -> Check:
    """Every planned turn was asked once and answered."""
    asked = Counter((turn.trajectory_id, turn.turn) for turn in turns)
    dropped = [turn for turn in turns if turn.error is not None]
    faults = []
    if dropped:
        first = dropped[0]
        where = f"{first.trajectory_id} turn {first.turn}"
        faults.append(f"{len(dropped)} dropped (first: {where}: {first.error})")
    if planned_turns is not None and len(asked) < planned_turns:
        faults.append(f"{planned_turns - len(asked)} never asked")
    if len(asked) < len(turns):
        faults.append(f"{len(turns) - len(asked)} asked twice")
    expected = len(asked) if planned_turns is None else planned_turns
    of = f"{len(turns) - len(dropped)} of {expected} turns answered"
    return Check("completeness", INVALID, not faults and bool(turns), "; ".join([of, *faults]) + ".")


def context(answered: Iterable[TurnResult], ctx: int | None, max_tokens: int | None) -> Check | None:
    """No answer ended because the context was full."""
    if ctx is None:
        return None
    full = [
        turn
        for turn in answered
        if turn.finish_reason == "length"
        and (max_tokens is None or (turn.output_tokens or 0) < max_tokens)
        and (turn.input_tokens or 0) + (turn.output_tokens or 0) >= ctx
    ]
    return Check(
        "context",
        INVALID,
        not full,
        f"{count(len(full), 'answer')} ran into the end of the context of {ctx} tokens.",
    )


def prompts_whole(answered: Sequence[TurnResult], largest_prompt_tokens: int | None) -> Check | None:
    """No prompt was shortened: the largest one evaluated has as many tokens as the largest one planned."""
    counted = [turn.input_tokens for turn in answered if turn.input_tokens is not None]
    if largest_prompt_tokens is None or not counted:
        return None
    detail = f"the largest prompt had {max(counted)} tokens, {largest_prompt_tokens} were planned."
    return Check("prompts_whole", INVALID, max(counted) >= largest_prompt_tokens, detail)


def prompts_uncut(answered: Sequence[TurnResult]) -> Check | None:
    """No server cut a prompt in silence: large prompts have about as many tokens a byte as small ones.

    The measure is the median of the smallest quarter; control characters, languages and tools move it far less than by
    half. None where sizes or counts of fewer than four turns are known (a local engine).
    """
    sizes = sorted((t.request_bytes, t.input_tokens) for t in answered if t.request_bytes and t.input_tokens)
    if len(sizes) < 4:
        return None
    small = sorted(tokens / size for size, tokens in sizes[: len(sizes) // 4])
    usual = small[len(small) // 2]
    cut = [tokens for size, tokens in sizes if tokens < LEAST_SHARE_OF_TOKENS * usual * size]
    detail = f"{len(cut)} of {len(sizes)} prompts have less than half the tokens that their size makes expect"
    detail += f", none of them more than {max(cut):,}: the server's context is smaller." if cut else "."
    return Check("prompts_uncut", INVALID, not cut, detail)


def deadlines(answered: Sequence[TurnResult], limits: Mapping[str, int]) -> Check | None:
    """No turn, nor all of them together, took longer than the reference waits: `turn_s`, `replay_s` seconds.

    Source: turn_timeout_s and max_duration_ms of MLPerf's configuration. None where the ruleset has no such limits.
    """
    longest, whole = limits.get("turn_s"), limits.get("replay_s")
    if longest is None or whole is None or not answered:
        return None
    taken_s = [(turn.completed_ns - turn.submitted_ns) / 1e9 for turn in answered]
    late = sum(taken > longest for taken in taken_s)
    detail = (
        f"{count(late, 'turn')} took longer than {longest} s, after which the reference gives a turn up (the longest "
        f"{max(taken_s):.1f} s); all of them {sum(taken_s):.0f} s, at most {whole} s before it ends a replay."
    )
    return Check("deadlines", INVALID, not late and sum(taken_s) <= whole, detail)


def bookkeeping(answered: Sequence[TurnResult], *, local: bool) -> Check | None:
    """Counts and clock readings of every turn fit together."""
    if not answered:
        return None
    faulty = [(turn, fault) for turn in answered if (fault := _fault(turn, local=local)) is not None]
    if not faulty:
        return Check(
            "bookkeeping", INVALID, True, "token counts and clock readings fit together in every turn."
        )
    turn, fault = faulty[0]
    first = f"{turn.trajectory_id} turn {turn.turn}: {fault}"
    detail = f"{count(len(faulty), 'turn')} with faulty readings (first: {first})."
    return Check("bookkeeping", INVALID, False, detail)


def _fault(turn: TurnResult, *, local: bool) -> str | None:
    counts = (turn.input_tokens, turn.reused_tokens, turn.evaluated_tokens)
    if None not in counts and turn.input_tokens != (turn.reused_tokens or 0) + (turn.evaluated_tokens or 0):
        return f"{counts[0]} input tokens are not {counts[1]} reused + {counts[2]} evaluated"
    readings = (turn.submitted_ns, turn.rendered_ns, turn.first_token_ns, *turn.token_ns, turn.completed_ns)
    if any(later < earlier for earlier, later in pairwise(ns for ns in readings if ns is not None)):
        return "clock readings run backwards"
    if local and turn.output_tokens != len(turn.token_ns):
        return f"{turn.output_tokens} output tokens have {len(turn.token_ns)} timestamps"
    if local and turn.token_ns and turn.first_token_ns != turn.token_ns[0]:
        return "the first token has two different timestamps"
    return None


def cut_answers(answered: Sequence[TurnResult]) -> Check | None:
    """At most 5 % of the model's own answers ended at the token limit."""
    own = [turn for turn in answered if turn.decode == "natural"]
    return _share(
        own, [t for t in own if t.finish_reason == "length"], "max_tokens", "ended by --max-tokens", CUT_SHARE
    )


def empty_answers(answered: Sequence[TurnResult]) -> Check | None:
    """At most 20 % of the model's own answers were empty (nothing but the end of generation)."""
    own = [turn for turn in answered if turn.decode == "natural"]
    return _share(own, [turn for turn in own if _empty(turn)], "empty_answers", "empty", EMPTY_SHARE)


def _empty(turn: TurnResult) -> bool:
    if turn.output_tokens is None:
        return not turn.text and not turn.tool_calls
    return turn.output_tokens <= 1 and turn.finish_reason != "length"


def _share(
    own: Sequence[TurnResult], marked: Sequence[TurnResult], name: str, what: str, most: float
) -> Check | None:
    if not own:
        return None
    detail = f"{len(marked)} of {len(own)} answers were {what}, {most:.0%} are tolerated."
    return Check(name, WARN, len(marked) <= most * len(own), detail)


def prefix_reuse(timed: Sequence[TurnResult]) -> Check | None:
    """The cache kept nearly all of what it could keep: a lost prefix is prefill that a good engine saves."""
    known = [
        (turn.possible_tokens, turn.reused_tokens)
        for turn in timed
        if turn.possible_tokens is not None and turn.reused_tokens is not None
    ]
    possible, reused = sum(p for p, _ in known), sum(r for _, r in known)
    if possible == 0:
        return None
    misses = sum(r < p for p, r in known)
    detail = f"{reused} of {possible} possible prefix tokens were reused; turns that fell short: {misses}."
    return Check("prefix_reuse", WARN, reused >= LEAST_REUSE * possible, detail)


def drift(timed: Sequence[TurnResult], condition: str) -> Check | None:
    """The last quarter of the run decodes as fast as the first at equal depth.

    Steps of the last quarter are priced at the first quarter's time per step in the same depth bin; the
    ratio of that price to the time they took is the relative rate. None without common depths, and for a run with
    drafts: there a step's price hangs on how much of the answer was drafted.
    """
    if any(turn.passes is not None for turn in timed):
        return None
    ordered = sorted(timed, key=lambda turn: turn.position)
    quarter = len(ordered) // 4
    first, last = _steps_by_depth(ordered[:quarter]), _steps_by_depth(ordered[len(ordered) - quarter :])
    shared = first.keys() & last.keys()
    steps = (sum(first[b][0] for b in shared), sum(last[b][0] for b in shared))
    taken_ns = sum(last[b][1] for b in shared)
    if min(steps) < DRIFT_STEPS or taken_ns == 0:
        return None
    ratio = sum(last[b][0] * first[b][1] / first[b][0] for b in shared) / taken_ns
    detail = f"the last quarter decoded at {ratio:.1%} of the first quarter's rate at equal depth."
    return Check("drift", condition, LEAST_DRIFT_RATIO <= ratio <= 1 / LEAST_DRIFT_RATIO, detail)


def _steps_by_depth(turns: Iterable[TurnResult]) -> dict[int, tuple[int, int]]:
    """Return decode steps and their nanoseconds by depth bin."""
    bins: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for turn in turns:
        if turn.input_tokens is None or (turn.output_tokens or 0) < 2 or len(turn.token_ns) < 2:
            continue
        depth = turn.input_tokens // DRIFT_BIN_TOKENS
        steps, ns = bins[depth]
        bins[depth] = (steps + (turn.output_tokens or 0) - 1, ns + turn.token_ns[-1] - turn.token_ns[0])
    return dict(bins)
