"""Prefix arithmetic against the plainest possible versions of itself."""

from array import array
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.model.engine import Departure, PlannedTurn
from bfcl_gate.model.prefix import TurnTokens, common_prefix, plan_trajectory, reusable

Tokens = "array[int]"


def tokens(*items: int) -> Tokens:
    return array("i", items)


arrays = st.lists(st.integers(0, 2), max_size=12).map(lambda items: tokens(*items))
prompts = st.lists(st.integers(0, 2), min_size=1, max_size=12).map(lambda items: tokens(*items))
answers = st.none() | st.lists(st.integers(0, 2), min_size=1, max_size=4).map(lambda items: tokens(*items))


def counted(a: Sequence[int], b: Sequence[int]) -> int:
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    return count


@given(a=arrays, b=arrays)
def test_the_common_prefix_is_what_counting_finds(a: Tokens, b: Tokens) -> None:
    assert common_prefix(a, b) == counted(a, b)


@given(a=st.lists(st.integers(0, 1 << 30), max_size=3000), cut=st.integers(0, 3000), b=arrays)
def test_the_common_prefix_of_long_arrays(a: list[int], cut: int, b: Tokens) -> None:
    left, right = tokens(*a), tokens(*a[:cut]) + b
    assert common_prefix(left, right) == counted(left, right)


def test_the_last_prompt_token_is_always_evaluated() -> None:
    assert reusable(tokens(1, 2, 3), tokens(1, 2, 3, 4)) == 2
    assert reusable(tokens(1, 2, 3), tokens(1, 2)) == 2
    assert reusable(tokens(1, 2, 3), tokens(9)) == 0
    assert reusable(tokens(1, 2, 3), None) == 0
    assert reusable(tokens(1), tokens(1)) == 0


def spelt(tokens: "array[int]") -> str:
    return " ".join(map(str, tokens))


def simulated(asked: Sequence[Tokens], recorded: Sequence["array[int] | None"], forced: bool) -> list[int]:
    """What a cache holds, token by token: how many of each prompt's tokens it can serve."""
    cache: list[int] = []
    served = []
    for prompt, answer in zip(asked, recorded, strict=True):
        served.append(min(counted(cache, prompt), len(prompt) - 1) if cache else 0)
        cache = list(prompt)
        if forced and answer is not None:
            cache += list(answer)[:-1]
    return served


@given(turns=st.lists(st.tuples(prompts, answers), max_size=6), forced=st.booleans())
def test_a_plan_says_what_a_simulated_cache_serves(
    turns: list[tuple[Tokens, "array[int] | None"]], forced: bool
) -> None:
    asked, recorded = [prompt for prompt, _ in turns], [answer for _, answer in turns]
    plan = plan_trajectory([TurnTokens(prompt, answer) for prompt, answer in turns], forced, spelt)
    assert [turn.possible_forced for turn in plan] == simulated(asked, recorded, True)
    assert [turn.possible_natural for turn in plan] == simulated(asked, recorded, False)
    assert [turn.keep for turn in plan] == [*simulated(asked, recorded, forced)[1:], 0][: len(plan)]
    assert [turn.prompt_tokens for turn in plan] == [len(prompt) for prompt in asked]
    assert [turn.answer_tokens for turn in plan] == [None if a is None else len(a) for a in recorded]
    # A prompt departs exactly where it agrees with less than all that the turn before left.
    held = [[*prompt, *(list(answer or ())[:-1] if forced else ())] for prompt, answer in turns]
    kept = [(counted(a, b), len(a)) for a, b in zip(held, asked[1:], strict=False)]
    departures = [None, *(agreed if agreed < left else None for agreed, left in kept)]
    assert [turn.departure and turn.departure.at for turn in plan] == departures[: len(plan)]


def test_a_departure_shows_the_text_around_the_first_differing_token() -> None:
    before, after = tokens(*range(1, 40)), tokens(*range(1, 30), 99, 98)
    (_, turn) = plan_trajectory([TurnTokens(before), TurnTokens(after)], False, spelt)
    assert turn.departure == Departure(
        at=29,
        before=" ".join(map(str, range(30, 40))),
        now="99 98",
        held=39,
        kept=" ".join(map(str, range(18, 30))),
    )
    assert turn.possible_natural == 29


def test_a_trajectory_by_hand() -> None:
    first, answer = tokens(1, 2, 3), tokens(4, 5)
    second = tokens(1, 2, 3, 4, 5, 6)
    assert plan_trajectory(
        [TurnTokens(first, answer, True), TurnTokens(second, shielded=2)], True, spelt
    ) == (
        PlannedTurn(
            prompt_tokens=3,
            answer_tokens=2,
            possible_forced=0,
            possible_natural=0,
            keep=4,
            answer_extends=True,
            shielded=0,
        ),
        PlannedTurn(
            prompt_tokens=6,
            answer_tokens=None,
            possible_forced=4,
            possible_natural=3,
            keep=0,
            answer_extends=None,
            shielded=2,
        ),
    )
