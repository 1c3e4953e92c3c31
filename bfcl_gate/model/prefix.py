"""Prefix arithmetic on token arrays: what a cache can keep from one prompt to the next.

Token arrays are `array("i")`: compact, and slices of them compare at memory speed.
"""

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from bfcl_gate.model.engine import PlannedTurn


class TurnTokens(NamedTuple):
    """The tokens of one turn; `answer` is the recorded one, `extends` and `shielded` as in PlannedTurn."""

    prompt: "array[int]"
    answer: "array[int] | None" = None
    extends: bool | None = None
    shielded: int = 0


def common_prefix(a: "array[int]", b: "array[int]") -> int:
    """Return how many leading tokens `a` and `b` share, by bisection over slice comparisons."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def reusable(prompt: "array[int]", previous: "array[int] | None") -> int:
    """Return how many tokens of `prompt` the cache of `previous` can serve.

    At most len(prompt) - 1: the last prompt token is always evaluated, its logits choose the answer.
    """
    return 0 if previous is None else min(common_prefix(prompt, previous), len(prompt) - 1)


def plan_trajectory(turns: Sequence[TurnTokens], forced: bool) -> tuple[PlannedTurn, ...]:
    """Return the plan of the turns of one trajectory.

    Rule (design: cache rules): forced decoding leaves prompt and answer without its last token in the
    cache, natural decoding leaves the prompt.
    """
    by_forced = [
        0,
        *(reusable(b.prompt, a.prompt + (a.answer or a.prompt[:0])[:-1]) for a, b in pairwise(turns)),
    ]
    by_natural = [0, *(reusable(b.prompt, a.prompt) for a, b in pairwise(turns))]
    keeps = [*(by_forced if forced else by_natural)[1:], 0]
    return tuple(
        PlannedTurn(
            prompt_tokens=len(turn.prompt),
            answer_tokens=None if turn.answer is None else len(turn.answer),
            possible_forced=by_forced[i],
            possible_natural=by_natural[i],
            keep=keeps[i],
            answer_extends=turn.extends,
            shielded=turn.shielded,
        )
        for i, turn in enumerate(turns)
    )
