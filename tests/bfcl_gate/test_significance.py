"""Exact small-number statistics, checked against counting by hand."""

from itertools import product
from math import fsum, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.significance import binomial_pmf, false_fail_probability, mcnemar_p, visible_accuracy


def test_the_binomial_of_two_fair_draws_is_a_quarter_a_half_a_quarter() -> None:
    assert binomial_pmf(2, 0.5) == pytest.approx([0.25, 0.5, 0.25])


def test_a_certain_outcome_has_all_the_probability() -> None:
    assert binomial_pmf(3, 1.0) == [0.0, 0.0, 0.0, 1.0]
    assert binomial_pmf(3, 0.0) == [1.0, 0.0, 0.0, 0.0]


@given(st.integers(0, 300), st.floats(0, 1))
def test_binomial_probabilities_sum_to_one(total: int, probability: float) -> None:
    assert fsum(binomial_pmf(total, probability)) == pytest.approx(1)


def test_mcnemar_is_one_where_flips_balance_or_are_absent() -> None:
    assert mcnemar_p(0, 0) == 1.0
    assert mcnemar_p(3, 3) == 1.0


def test_mcnemar_of_five_flips_one_way_is_a_sixteenth() -> None:
    assert mcnemar_p(5, 0) == 0.0625
    assert mcnemar_p(0, 5) == 0.0625


def test_mcnemar_of_eight_against_one_counts_both_tails() -> None:
    assert mcnemar_p(1, 8) == 2 * (1 + 9) / 2**9


@given(st.integers(0, 6), st.integers(0, 6))
def test_mcnemar_equals_enumeration_of_all_ways_the_flips_could_fall(first: int, second: int) -> None:
    total = first + second
    extreme = sum(
        1 for ways in product((0, 1), repeat=total) if min(sum(ways), total - sum(ways)) <= min(first, second)
    )
    assert mcnemar_p(first, second) == min(1.0, extreme / 2**total)


def test_a_false_fail_adds_the_outcomes_of_the_strata() -> None:
    # One of two right in each of two subsets: four fair draws have 0 or 1 right in 5 of 16 ways.
    assert false_fail_probability([(1, 2), (1, 2)], failing=1) == pytest.approx(5 / 16)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(4, 5)), min_size=1, max_size=3), st.integers(0, 14))
def test_a_false_fail_is_what_counting_all_draws_gives(counts: list[tuple[int, int]], failing: int) -> None:
    shares = [right / total for right, total in counts for _ in range(total)]
    fails = fsum(
        prod(share if hit else 1 - share for hit, share in zip(drawn, shares, strict=True))
        for drawn in product((0, 1), repeat=len(shares))
        if sum(drawn) <= failing
    )
    assert false_fail_probability(counts, failing) == pytest.approx(min(1.0, fails))


def test_a_perfect_model_never_fails_by_chance_and_no_failing_count_means_never() -> None:
    assert false_fail_probability([(4, 4)], failing=3) == 0.0
    assert false_fail_probability([(1, 4)], failing=-1) == 0.0


def test_the_visible_accuracy_fails_four_times_in_five() -> None:
    accuracy = visible_accuracy(20, failing=15)
    assert accuracy is not None
    assert fsum(binomial_pmf(20, accuracy)[:16]) == pytest.approx(0.8)


def test_nothing_is_visible_to_a_gate_that_never_fails() -> None:
    assert visible_accuracy(20, failing=-1) is None
