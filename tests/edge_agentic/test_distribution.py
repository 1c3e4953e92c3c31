"""Summaries of numbers."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agentic.distribution import CERTIFIED, PERCENTILES, certified_rank, distribution

finite = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


def test_five_numbers_are_summarised_by_values_that_were_measured() -> None:
    summary = distribution([5, 1, 3, 2, 4]).to_dict()
    assert (summary["count"], summary["mean"], summary["min"], summary["max"]) == (5, 3.0, 1.0, 5.0)
    assert summary["std"] == math.sqrt(2.5)
    assert summary["percentiles"]["50"] == 3.0
    assert summary["percentiles"]["99"] == 4.0  # floor(0.99 * 4) = 3
    assert summary["certified"] == {}


def test_one_value_has_no_deviation() -> None:
    summary = distribution([7.0])
    assert (summary.mean, summary.std) == (7.0, None)
    assert set(dict(summary.percentiles).values()) == {7.0}


def test_nothing_is_none_and_never_zero() -> None:
    summary = distribution([None], certify=True)
    assert (summary.count, summary.mean, summary.std, summary.min, summary.max) == (0, None, None, None, None)
    assert summary.percentiles == ()
    assert dict(summary.certified) == dict.fromkeys(CERTIFIED)


def test_none_is_left_out() -> None:
    assert distribution([None, 2.0, None, 4.0]) == distribution([4.0, 2.0])


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("50", 503),
        ("75", 754),
        ("80", 804),
        ("90", 905),
        ("95", 955),
        ("97", 975),
        ("99", 995),
        ("99.9", 1004),
    ],
)
def test_percentiles_sit_where_the_reference_puts_them_for_1007_turns(name: str, index: int) -> None:
    assert dict(distribution(range(1007)).percentiles)[name] == index


@pytest.mark.parametrize(
    ("name", "index"),
    [("50", 541), ("75", 788), ("80", 836), ("90", 929), ("95", 973), ("97", 990), ("99", 1004)],
)
def test_certified_estimates_sit_where_the_reference_puts_them_for_1007_turns(name: str, index: int) -> None:
    assert dict(distribution(range(1007), certify=True).certified)[name] == index


@pytest.mark.parametrize(
    ("p", "rank"),
    [(0.5, 466), (0.75, 219), (0.8, 171), (0.9, 78), (0.95, 34), (0.97, 17), (0.99, 3), (0.999, None)],
)
def test_t_star_of_1007_turns(p: float, rank: int | None) -> None:
    assert certified_rank(1007, p) == rank


@pytest.mark.parametrize(
    ("p", "least"),
    [(0.5, 11), (0.75, 24), (0.8, 31), (0.9, 64), (0.95, 130), (0.97, 219), (0.99, 662), (0.999, 6636)],
)
def test_least_number_of_values_that_certifies_a_percentile(p: float, least: int) -> None:
    assert certified_rank(least, p) == 1
    assert certified_rank(least - 1, p) is None


@given(st.integers(0, 60), st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)]))
def test_t_star_agrees_with_exact_fractions(count: int, p: Fraction) -> None:
    at_most = [
        sum(math.comb(count, k) * (1 - p) ** k * p ** (count - k) for k in range(t + 1))
        for t in range(count + 1)
    ]
    certain = [t for t in range(1, count + 1) if at_most[t] < Fraction(1, 100)]
    assert certified_rank(count, float(p)) == (max(certain) if certain else None)


@given(st.lists(finite, min_size=1, max_size=80))
def test_percentiles_grow_between_the_extremes_and_are_members(values: list[float]) -> None:
    summary = distribution(values)
    shown = [dict(summary.percentiles)[name] for name in PERCENTILES]
    assert shown == sorted(shown)
    assert summary.min is not None
    assert summary.max is not None
    assert summary.min <= shown[0] <= shown[-1] <= summary.max
    assert set(shown) <= {float(v) for v in values}


@given(st.lists(finite, min_size=11, max_size=200))
def test_a_certified_estimate_is_never_below_its_percentile(values: list[float]) -> None:
    summary = distribution(values, certify=True)
    for name, value in summary.certified:
        assert value is None or value >= dict(summary.percentiles)[name]
