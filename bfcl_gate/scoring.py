"""From marks to accuracies: subset, category, overall, normalised, with intervals. Pure, standard library.

Aggregation is MLPerf v6.1's (`bfcl_v4_scorer.py`), which for these categories is also the leaderboard's:
hallucination is the unweighted mean of its subsets, live the mean over samples, non_live the mean of
{mean of the simple_* subsets, multiple, parallel, parallel_multiple}. Only what has marks takes part, so
a partial set scores too. All accuracies are fractions.
"""

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from random import Random
from statistics import NormalDist, fmean

from bfcl_gate.dataset import CATEGORIES
from bfcl_gate.errors import InputError
from bfcl_gate.significance import binomial_pmf

Interval = tuple[float, float]

Tallies = Mapping[str, tuple[int, int]]
"""Subset -> (correct, samples), in name order."""

RESAMPLES = 2000
LEADERBOARD_WEIGHT = 0.10
"""What each of the three single-turn categories weighs in the leaderboard's overall of BFCL v4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetScore:
    """One subset: `correct` of `samples` marks, and the Wilson interval (95 %, two-sided)."""

    name: str
    category: str | None
    samples: int
    correct: int
    accuracy: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryScore:
    """One category; `accuracy` is its own mean of subsets, not correct / samples; `interval` is bootstrapped."""

    name: str
    samples: int
    correct: int
    accuracy: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """All accuracies of one set of marks, subsets and categories in name order.

    `overall` is the share of all marks, with a Wilson interval. `normalized` is the mean of the categories
    with a bootstrap interval; both are None where only live_relevance, which belongs to no category, has
    marks. `leaderboard_points` is what these categories add to the leaderboard's overall.
    """

    samples: int
    correct: int
    overall: float
    overall_interval: Interval
    normalized: float | None
    normalized_interval: Interval | None
    leaderboard_points: float
    categories: tuple[CategoryScore, ...]
    subsets: tuple[SubsetScore, ...]


def score(marks: Iterable[tuple[str, bool]]) -> Scores:
    """Aggregate (sample id, correct) pairs; every pair counts, also for an id that comes again.

    Raises InputError for no pairs and for an id of no single-turn subset.
    """
    tallies = _tallies(marks)
    categories = _categories(tallies)
    spreads = _bootstrap(tallies)
    correct, samples = _sum(tallies.values())
    return Scores(
        samples=samples,
        correct=correct,
        overall=correct / samples,
        overall_interval=wilson_interval(correct, samples),
        normalized=fmean(categories.values()) if categories else None,
        normalized_interval=_interval([fmean(s.values()) for s in spreads]) if categories else None,
        leaderboard_points=LEADERBOARD_WEIGHT * sum(categories.values()),
        categories=tuple(
            _category(name, accuracy, tallies, [spread[name] for spread in spreads])
            for name, accuracy in categories.items()
        ),
        subsets=tuple(_subset(name, *tally) for name, tally in tallies.items()),
    )


def accuracies(marks: Iterable[tuple[str, bool]]) -> tuple[float, float | None]:
    """Return (overall, normalised) as `score` does, without intervals."""
    tallies = _tallies(marks)
    categories = _categories(tallies)
    correct, samples = _sum(tallies.values())
    return correct / samples, fmean(categories.values()) if categories else None


def wilson_interval(correct: int, samples: int, *, level: float = 0.95) -> Interval:
    """Return the two-sided Wilson score interval of a proportion. `samples` is at least 1."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return _wilson(correct, samples, -z), _wilson(correct, samples, z)


def wilson_upper(correct: int, samples: int, *, level: float = 0.95) -> float:
    """Return the one-sided upper Wilson bound of a proportion. `samples` is at least 1."""
    return _wilson(correct, samples, NormalDist().inv_cdf(level))


def _wilson(correct: int, samples: int, z: float) -> float:
    """E. B. Wilson 1927: the p at which the observed share lies z standard errors away."""
    share = correct / samples
    spread = z * sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples))
    return min(1.0, max(0.0, (share + z * z / (2 * samples) + spread) / (1 + z * z / samples)))


def _tallies(marks: Iterable[tuple[str, bool]]) -> Tallies:
    counts: dict[str, list[int]] = {}
    for sample_id, correct in marks:
        subset = sample_id.rpartition("_")[0]
        if subset not in CATEGORIES:
            raise InputError(
                f"{sample_id!r} names no single-turn subset of BFCL v4 ({', '.join(CATEGORIES)})."
            )
        counts.setdefault(subset, [0, 0])[correct] += 1
    if not counts:
        raise InputError("There is no mark to score; expected at least one answered sample.")
    return {name: (counts[name][True], sum(counts[name])) for name in sorted(counts)}


def _sum(tallies: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return (correct, samples) of all the tallies."""
    correct, samples = zip(*tallies, strict=True)
    return sum(correct), sum(samples)


def _subset(name: str, correct: int, samples: int) -> SubsetScore:
    return SubsetScore(
        name=name,
        category=CATEGORIES[name],
        samples=samples,
        correct=correct,
        accuracy=correct / samples,
        interval=wilson_interval(correct, samples),
    )


def _category(name: str, accuracy: float, tallies: Tallies, spread: Sequence[float]) -> CategoryScore:
    correct, samples = _sum(tally for subset, tally in tallies.items() if CATEGORIES[subset] == name)
    return CategoryScore(
        name=name, samples=samples, correct=correct, accuracy=accuracy, interval=_interval(spread)
    )


def _categories(tallies: Tallies) -> dict[str, float]:
    """Return category -> accuracy, in name order, of those that have marks."""
    members: dict[str, dict[str, tuple[int, int]]] = {}
    for subset, tally in tallies.items():
        if category := CATEGORIES[subset]:
            members.setdefault(category, {})[subset] = tally
    return {category: _mean(category, members[category]) for category in sorted(members)}


def _mean(category: str, members: Tallies) -> float:
    if category == "live":
        correct, samples = _sum(members.values())
        return correct / samples
    shares = {subset: correct / samples for subset, (correct, samples) in members.items()}
    simple = [shares[subset] for subset in members if subset.startswith("simple_")]
    others = [shares[subset] for subset in members if not subset.startswith("simple_")]
    return fmean([fmean(simple), *others] if simple else others)


def _bootstrap(tallies: Tallies) -> list[dict[str, float]]:
    """Return category -> accuracy of each of the 2,000 resamples, every subset resampled within itself.

    Drawing n marks with replacement from n of which a share p is right gives Binomial(n, p) right ones. That
    number is drawn at once: the place of one uniform number in the distribution function. Seed 42, subsets in
    name order, so the result depends on the counts only.
    """
    random = Random(42)
    subsets = {
        name: (samples, tuple(accumulate(binomial_pmf(samples, correct / samples))))
        for name, (correct, samples) in tallies.items()
    }
    return [
        _categories(
            {
                name: (min(samples, bisect(distribution, random.random())), samples)
                for name, (samples, distribution) in subsets.items()
            }
        )
        for _ in range(RESAMPLES)
    ]


def _interval(values: Iterable[float]) -> Interval:
    """Return the 95 % percentile interval: the 50th value from either end of the 2,000."""
    ordered = sorted(values)
    tail = len(ordered) // 40
    return ordered[tail - 1], ordered[-tail]
