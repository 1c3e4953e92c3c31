"""Draft lengths follow from what a match promises, what a pass costs, and how drafts fared."""

import pytest

from bfcl_gate.model.llama_engine.drafting import CPU_PRICES, DEVICE_PRICES, LONGEST_DRAFT, Appetite, Match


def seen_twice(length: int, agreed: int = LONGEST_DRAFT) -> Match:
    return Match(place=1, length=length, agreed=agreed)


def seen_once(length: int) -> Match:
    return Match(place=1, length=length, agreed=None)


@pytest.mark.parametrize("prices", [CPU_PRICES, DEVICE_PRICES])
def test_a_longer_match_never_asks_for_less(prices: dict[int, float]) -> None:
    for match in (seen_once, seen_twice):
        lengths = [Appetite(prices).wanted(match(length)) for length in range(3, 40)]
        assert lengths == sorted(lengths)
        assert lengths[0] < lengths[-1] <= LONGEST_DRAFT


def test_what_was_seen_once_promises_less_than_what_was_seen_twice() -> None:
    appetite = Appetite(CPU_PRICES)
    lengths = range(3, 33)
    once, twice = ([appetite.wanted(match(n)) for n in lengths] for match in (seen_once, seen_twice))
    assert all(one <= two for one, two in zip(once, twice, strict=True))
    assert sum(once) < sum(twice)


def test_nothing_is_drafted_beyond_what_two_places_agree_on() -> None:
    appetite = Appetite(DEVICE_PRICES)
    for agreed in range(LONGEST_DRAFT + 1):
        assert appetite.wanted(seen_twice(32, agreed)) <= agreed
    assert appetite.wanted(seen_twice(32, 0)) == 0


def test_where_rows_are_dear_short_matches_are_not_worth_a_draft() -> None:
    assert Appetite(CPU_PRICES).wanted(seen_once(4)) == 0
    assert Appetite(DEVICE_PRICES).wanted(seen_once(4)) > 0


def test_failed_drafts_end_drafting_until_one_succeeds_and_the_next_answer_begins_anew() -> None:
    appetite = Appetite(CPU_PRICES)
    match = seen_twice(10)
    first = appetite.wanted(match)
    for _ in range(10):
        appetite.learn(first, 0)
    assert (first > 0, appetite.wanted(match)) == (True, 0)
    appetite.learn(3, 3)
    appetite.learn(3, 3)
    assert appetite.wanted(match) == first
    appetite.learn(7, 0)
    appetite.begin()
    assert appetite.wanted(match) == first


def test_where_a_failed_pass_is_repeated_less_is_drafted() -> None:
    for prices in (CPU_PRICES, DEVICE_PRICES):
        cut, repeated = Appetite(prices), Appetite(prices, repeats=True)
        lengths = [(cut.wanted(seen_twice(n)), repeated.wanted(seen_twice(n))) for n in range(3, 33)]
        assert all(once >= again for once, again in lengths)
        assert sum(once for once, _ in lengths) > sum(again for _, again in lengths) > 0


def test_a_draft_of_which_most_was_accepted_is_no_failure() -> None:
    appetite = Appetite(CPU_PRICES)
    first = appetite.wanted(seen_twice(10))
    for _ in range(10):
        appetite.learn(7, 4)
    assert appetite.wanted(seen_twice(10)) == first
