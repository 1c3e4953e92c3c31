"""Prefix arithmetic on token arrays: what a cache can keep from one prompt to the next.

Token arrays are `array("i")`: compact, and slices of them compare at memory speed.
"""

from array import array
from collections.abc import Sequence

from bfcl_gate.model.engine import PlannedTurn


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


def plan_trajectory(
    prompts: Sequence["array[int]"],
    answers: Sequence["array[int] | None"],
    extends: Sequence[bool | None],
    forced: bool,
    shielded: Sequence[int] = (),
) -> tuple[PlannedTurn, ...]:
    """Return the plan of the turns of one trajectory; all sequences have one entry a turn.

    Rule (design: cache rules): forced decoding leaves prompt and answer without its last token in the
    cache, natural decoding leaves the prompt.
    """
    held = [p if a is None else p + a[:-1] for p, a in zip(prompts, answers, strict=True)]
    by_forced = [0, *(reusable(p, h) for p, h in zip(prompts[1:], held, strict=False))]
    by_natural = [0, *(reusable(p, q) for p, q in zip(prompts[1:], prompts, strict=False))]
    keeps = [*(by_forced if forced else by_natural)[1:], 0]
    return tuple(
        PlannedTurn(
            prompt_tokens=len(prompt),
            answer_tokens=None if answer is None else len(answer),
            possible_forced=forced_tokens,
            possible_natural=natural_tokens,
            keep=keep,
            answer_extends=extended,
            shielded=shielded_texts,
        )
        for prompt, answer, forced_tokens, natural_tokens, keep, extended, shielded_texts in zip(
            prompts,
            answers,
            by_forced,
            by_natural,
            keeps,
            extends,
            shielded or [0] * len(prompts),
            strict=True,
        )
    )
