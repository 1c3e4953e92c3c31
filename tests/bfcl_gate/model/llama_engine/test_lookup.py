"""The index of a conversation finds what a search through all of it finds."""

from array import array
from collections.abc import Sequence
from random import Random

import pytest

from bfcl_gate.model.llama_engine import lookup as lookup_module
from bfcl_gate.model.llama_engine.drafting import LONGEST_DRAFT, Match
from bfcl_gate.model.llama_engine.lookup import LONGEST_MATCH, RUN, Lookup

CAPACITY = 1000


def found_by(lookup: Lookup) -> tuple[int, int]:
    match = lookup.find()
    return (0, 0) if match is None else (match.place, match.length)


def longest_earlier_match(tokens: Sequence[int]) -> tuple[int, int]:
    """Return what `find` is to find, by comparing every earlier place; the newest of the longest."""
    best = (0, 0)
    for place in range(len(tokens) - 1, 0, -1):
        length = 0
        while (
            length < min(place, LONGEST_MATCH)
            and tokens[place - 1 - length] == tokens[len(tokens) - 1 - length]
        ):
            length += 1
        if length >= RUN and length > best[1]:
            best = (place, length)
    return best


def some(random: Random, count: int, kinds: int) -> "array[int]":
    return array("i", (random.randrange(kinds) for _ in range(count)))


@pytest.fixture
def every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup_module, "_PLACES", CAPACITY)


@pytest.mark.usefixtures("every_place")
@pytest.mark.parametrize("kinds", [1, 2, 5, 50])
def test_it_finds_the_newest_of_the_longest_matches(kinds: int) -> None:
    for seed in range(40):
        random = Random(seed)
        found = Lookup(CAPACITY)
        told = some(random, random.randrange(1, 100), kinds)
        found.follow(told)
        for _ in range(60):
            assert found_by(found) == longest_earlier_match(found.tokens[: found.known])
            found.take(random.randrange(kinds))


@pytest.mark.usefixtures("every_place")
def test_turning_to_another_prompt_leaves_what_a_new_index_would_hold() -> None:
    for seed in range(60):
        random = Random(seed)
        used = Lookup(CAPACITY)
        prompt = some(random, random.randrange(1, 150), 4)
        for _ in range(6):
            used.follow(prompt)
            fresh = Lookup(CAPACITY)
            fresh.follow(prompt)
            for _ in range(random.randrange(20)):
                assert used.find() == fresh.find()
                token = random.randrange(4)
                used.take(token)
                fresh.take(token)
            held = used.tokens[: used.known]
            prompt = held[: random.randrange(1, len(held) + 1)] + some(random, random.randrange(30), 4)


def test_how_far_it_looks_is_bounded_and_the_newest_places_are_looked_at() -> None:
    found = Lookup(CAPACITY)
    told = array("i", [9, 8, 7, 1, 2, 3, 5])  # the longest match, before all the others
    for i in range(30):
        told += array("i", [10 + i, 1, 2, 3, 6])
    found.follow(told + array("i", [9, 8, 7, 1, 2, 3]))
    assert found_by(found) == (len(told) - 1, RUN)


def test_a_draft_goes_on_with_what_followed_and_repeats_a_repetition() -> None:
    found = Lookup(CAPACITY)
    found.follow(array("i", [1, 2, 3, 4, 5, 6, 1, 2, 3]))
    assert found.find() == Match(3, 3, None)
    found.draft(3, 4)
    assert list(found.tokens[found.known : found.known + 4]) == [4, 5, 6, 1]
    found.follow(array("i", [0, 7, 8, 7, 8, 7]))
    assert found.find() == Match(4, 3, None)
    found.draft(4, 5)
    assert list(found.tokens[found.known : found.known + 5]) == [8, 7, 8, 7, 8]


def test_two_places_agree_as_far_as_the_same_follows() -> None:
    found = Lookup(CAPACITY)
    found.follow(array("i", [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7, 1, 2, 3]))
    assert found.find() == Match(9, 3, 2)
    found.follow(array("i", [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3]))  # as far as anything is known
    assert found.find() == Match(7, 7, LONGEST_DRAFT)


def test_what_was_never_seen_is_not_found() -> None:
    found = Lookup(CAPACITY)
    found.follow(array("i", range(100)))
    assert found.find() is None
    found.follow(array("i", [3]))
    assert found.find() is None
