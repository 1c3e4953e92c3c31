import random
from statistics import fmean

import pytest

from bfcl_gate.errors import InputError
from bfcl_gate.scoring import score, wilson_interval, wilson_upper

GATE = {
    "irrelevance": 24,
    "live_irrelevance": 88,
    "live_multiple": 105,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_simple": 25,
    "multiple": 124,
    "parallel": 124,
    "parallel_multiple": 124,
    "simple_java": 62,
    "simple_javascript": 31,
    "simple_python": 248,
}


def marks(**tallies: tuple[int, int]) -> list[tuple[str, bool]]:
    """Return `correct` right marks of `samples` for each subset."""
    return [(f"{name}_{i}", i < right) for name, (right, total) in tallies.items() for i in range(total)]


def test_each_category_has_its_own_mean() -> None:
    scores = score(
        marks(
            simple_python=(4, 4),
            simple_java=(1, 2),
            simple_javascript=(0, 2),
            multiple=(1, 4),
            live_simple=(1, 1),
            live_multiple=(0, 3),
            irrelevance=(1, 1),
            live_irrelevance=(1, 4),
        )
    )
    categories = {category.name: category.accuracy for category in scores.categories}
    assert categories == {
        "hallucination": (1 + 1 / 4) / 2,
        "live": 1 / 4,
        "non_live": fmean([(1 + 1 / 2 + 0) / 3, 1 / 4]),
    }
    assert scores.normalized == fmean(categories.values())
    assert scores.leaderboard_points == pytest.approx(0.1 * sum(categories.values()))
    assert (scores.correct, scores.samples, scores.overall) == (9, 21, 9 / 21)


def test_subsets_carry_counts_and_stand_in_name_order() -> None:
    scores = score(marks(simple_python=(1, 2), irrelevance=(3, 4)))
    first, second = scores.subsets
    assert (first.name, first.category, first.correct, first.samples) == (
        "irrelevance",
        "hallucination",
        3,
        4,
    )
    assert (second.name, second.category, second.accuracy) == ("simple_python", "non_live", 0.5)
    assert second.interval == wilson_interval(1, 2)


def test_only_what_has_marks_takes_part() -> None:
    scores = score(marks(parallel=(1, 2)))
    assert [category.name for category in scores.categories] == ["non_live"]
    assert scores.normalized == scores.overall == 0.5


def test_live_relevance_counts_in_no_category() -> None:
    scores = score(marks(live_relevance=(1, 4)))
    assert (scores.overall, scores.normalized, scores.normalized_interval) == (0.25, None, None)
    assert scores.categories == ()
    both = score(marks(live_relevance=(0, 4), multiple=(2, 2)))
    assert both.normalized == 1.0


def test_a_model_that_never_calls_scores_a_third_of_the_gate() -> None:
    """MLPerf's reference: 11.26 overall and 33.33 normalised."""
    silent = marks(**{name: (total if "irrelevance" in name else 0, total) for name, total in GATE.items()})
    scores = score(silent)
    assert (round(100 * scores.overall, 2), round(100 * scores.normalized, 2)) == (11.26, 33.33)
    assert scores.samples == 995


def test_a_model_that_obeys_typed_java_and_javascript_schemas_meets_their_ceiling() -> None:
    """MLPerf's reference: 38 of 62 and 13 of 31 give non_live 91.94, overall 95.78, normalised 97.31."""
    best = {name: (total, total) for name, total in GATE.items()}
    scores = score(marks(**best | {"simple_java": (38, 62), "simple_javascript": (13, 31)}))
    categories = {category.name: round(100 * category.accuracy, 2) for category in scores.categories}
    assert categories == {"hallucination": 100.0, "live": 100.0, "non_live": 91.94}
    assert (round(100 * scores.overall, 2), round(100 * scores.normalized, 2)) == (95.78, 97.31)


def test_three_java_misses_give_the_references_gold_figures() -> None:
    scores = score(marks(**{n: (t, t) for n, t in GATE.items()} | {"simple_java": (59, 62)}))
    assert (round(100 * scores.overall, 2), round(100 * scores.normalized, 2)) == (99.70, 99.87)


def test_repeated_ids_count_as_often_as_they_come() -> None:
    assert score([("multiple_0", True), ("multiple_0", False)]).overall == 0.5


def test_no_mark_and_foreign_ids_are_refused() -> None:
    with pytest.raises(InputError, match="no mark"):
        score([])
    with pytest.raises(InputError, match="multi_turn_base_0"):
        score([("multi_turn_base_0", True)])


def test_wilson_bounds_are_the_textbook_ones() -> None:
    """81 of 263: 0.2553 to 0.3662 (Newcombe 1998, method 3)."""
    low, high = wilson_interval(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert [round(bound, 4) for bound in wilson_interval(0, 20)] == [0.0, 0.1611]
    assert [round(bound, 4) for bound in wilson_interval(1, 29)] == [0.0061, 0.1718]
    assert wilson_interval(20, 20) == (pytest.approx(1 - wilson_interval(0, 20)[1]), 1.0)


def test_the_upper_bound_is_that_of_a_two_sided_interval_of_90_percent() -> None:
    assert wilson_upper(100, 140) == wilson_interval(100, 140, level=0.90)[1]
    assert wilson_upper(140, 140) == 1.0


def test_the_bootstrap_depends_on_the_counts_only() -> None:
    rows = marks(simple_python=(30, 40), live_simple=(10, 20), irrelevance=(15, 20))
    shuffled = random.Random(1).sample(rows, len(rows))
    assert score(rows) == score(shuffled)


def test_the_bootstrap_surrounds_normalised_about_as_wide_as_theory_says() -> None:
    """One subset: normalised is a proportion, whose standard error is sqrt(p (1 - p) / n) = 0.04."""
    low, high = score(marks(multiple=(80, 100))).normalized_interval or (0.0, 0.0)
    assert (low, high) == (
        pytest.approx(0.8 - 1.96 * 0.04, abs=0.01),
        pytest.approx(0.8 + 1.96 * 0.04, abs=0.01),
    )


def test_a_resampled_subset_is_spread_like_marks_drawn_one_by_one() -> None:
    """Drawing n marks from n, p of them right, gives Binomial(n, p): the interval is that of the long way."""
    tallies = {"multiple": (30, 40), "parallel": (3, 10), "irrelevance": (15, 20)}
    chance = random.Random(7)

    def resampled(right: int, total: int) -> float:
        return sum(chance.choices([1] * right + [0] * (total - right), k=total)) / total

    values = []
    for _ in range(4_000):
        multiple, parallel, irrelevance = (resampled(*tally) for tally in tallies.values())
        values.append(((multiple + parallel) / 2 + irrelevance) / 2)
    values.sort()
    low, high = score(marks(**tallies)).normalized_interval or (0.0, 0.0)
    assert (low, high) == (pytest.approx(values[100], abs=0.02), pytest.approx(values[-100], abs=0.02))


def test_a_category_has_the_interval_of_its_own_mean() -> None:
    both = score(marks(multiple=(30, 40), irrelevance=(15, 20)))
    spread = {category.name: category.interval for category in both.categories}
    low, high = spread["non_live"]
    assert low < 0.75 < high
    assert (low, high) == (pytest.approx(0.616, abs=0.02), pytest.approx(0.884, abs=0.02))
    assert set(spread) == {"hallucination", "non_live"}


def test_certain_subsets_have_no_spread() -> None:
    assert score(marks(multiple=(9, 9), irrelevance=(0, 3))).normalized_interval == (0.5, 0.5)
