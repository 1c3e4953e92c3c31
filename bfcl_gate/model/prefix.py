"""Prefix arithmetic on token arrays: what a cache can keep from one prompt to the next.

Token arrays are `array("i")`: compact, and slices of them compare at memory speed.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from bfcl_gate.model.engine import Departure, PlannedTurn

TOKENS_SHOWN = 12
"""How much text is shown around the place where a prompt departs."""


class TurnTokens(NamedTuple):
    """The tokens of one turn; `answer` is the recorded one, `extends` and `shielded` as in PlannedTurn."""

    prompt: "array[int]"
    answer: "array[int] | None" = None
    extends: bool | None = None
    shielded: int = 0


Run = TypeVar("Run", "array[int]", str)


def common_prefix(a: Run, b: Run) -> int:
    """Return how many leading tokens (characters) `a` and `b` share, by bisection over slice comparisons."""
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


def _numbers(tokens: "array[int]") -> str:
    return " ".join(map(str, tokens))


def departure(
    prompt: "array[int]", held: "array[int]", text_of: "Callable[[array[int]], str]"
) -> Departure | None:
    """Return where a prompt does not begin with what is held; None where it does."""
    same = common_prefix(prompt, held)
    if same == len(held):
        return None
    return Departure(
        at=same,
        before=text_of(held[same : same + TOKENS_SHOWN]),
        now=text_of(prompt[same : same + TOKENS_SHOWN]),
        held=len(held),
        kept=text_of(held[max(0, same - TOKENS_SHOWN) : same]),
    )


def plan_trajectory(
    turns: Sequence[TurnTokens], forced: bool, text_of: "Callable[[array[int]], str]" = _numbers
) -> tuple[PlannedTurn, ...]:
    """Return the plan of the turns of one trajectory; `text_of` gives the text of tokens.

    Rule (design: cache rules): forced decoding leaves prompt and answer without its last token in the
    cache, natural decoding leaves the prompt.
    """
    with_answers = [turn.prompt + (turn.answer or turn.prompt[:0])[:-1] for turn in turns]
    by_forced = [0, *(reusable(b.prompt, held) for held, b in zip(with_answers, turns[1:], strict=False))]
    by_natural = [0, *(reusable(b.prompt, a.prompt) for a, b in pairwise(turns))]
    held = with_answers if forced else [turn.prompt for turn in turns]
    departures = [None, *(departure(b.prompt, a, text_of) for a, b in zip(held, turns[1:], strict=False))]
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
            departure=departures[i],
        )
        for i, turn in enumerate(turns)
    )
