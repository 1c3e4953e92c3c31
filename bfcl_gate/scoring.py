"""From marks to accuracies: subset, category, overall, normalised, with intervals. Pure, standard library.

Aggregation is MLPerf v6.1's (`bfcl_v4_scorer.py`), which for these categories is also the leaderboard's:
hallucination is the unweighted mean of its subsets, live the mean over samples, non_live the mean of
{mean of the simple_* subsets, multiple, parallel, parallel_multiple}. Only what has marks takes part, so
a partial set scores too. All accuracies are fractions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import NormalDist, fmean

from bfcl_gate.dataset import CATEGORIES
from bfcl_gate.errors import InputError

Interval = tuple[float, float]

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
    """One category; `accuracy` is its own mean of subsets, not correct / samples."""

    name: str
    samples: int
    correct: int
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """All accuracies of one set of marks, subsets and categories in name order.

    `overall` is the share of all marks, with a Wilson interval. `normalized` is the mean of the categories
    with a stratified bootstrap interval; both are None where only live_relevance, which belongs to no
    category, has marks. `leaderboard_points` is what these categories add to the leaderboard's overall.
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
    subsets = _subsets(marks)
    tallies = {subset.name: (subset.correct, subset.samples) for subset in subsets}
    accuracies = {subset.name: subset.accuracy for subset in subsets}
    categories = _categories(accuracies, {subset.name: subset.samples for subset in subsets})
    samples, correct = sum(s.samples for s in subsets), sum(s.correct for s in subsets)
    return Scores(
        samples=samples,
        correct=correct,
        overall=correct / samples,
        overall_interval=wilson_interval(correct, samples),
        normalized=fmean(categories.values()) if categories else None,
        normalized_interval=_bootstrap(tallies) if categories else None,
        leaderboard_points=LEADERBOARD_WEIGHT * sum(categories.values()),
        categories=tuple(_category(name, accuracy, subsets) for name, accuracy in categories.items()),
        subsets=subsets,
    )


def accuracies(marks: Iterable[tuple[str, bool]]) -> tuple[float, float | None]:
    """Return (overall, normalised) as `score` does, without the intervals that make it slow."""
    subsets = _subsets(marks)
    categories = _categories(
        {subset.name: subset.accuracy for subset in subsets},
        {subset.name: subset.samples for subset in subsets},
    )
    overall = sum(s.correct for s in subsets) / sum(s.samples for s in subsets)
    return overall, fmean(categories.values()) if categories else None


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


def _subsets(marks: Iterable[tuple[str, bool]]) -> tuple[SubsetScore, ...]:
    tallies: dict[str, list[bool]] = {}
    for sample_id, correct in marks:
        tallies.setdefault(_subset_of(sample_id), []).append(correct)
    if not tallies:
        raise InputError("There is no mark to score; expected at least one answered sample.")
    return tuple(_subset(name, sum(tallies[name]), len(tallies[name])) for name in sorted(tallies))


def _subset_of(sample_id: str) -> str:
    subset = sample_id.rpartition("_")[0]
    if subset not in CATEGORIES:
        raise InputError(f"{sample_id!r} names no single-turn subset of BFCL v4 ({', '.join(CATEGORIES)}).")
    return subset


def _subset(name: str, correct: int, samples: int) -> SubsetScore:
    return SubsetScore(
        name=name,
        category=CATEGORIES[name],
        samples=samples,
        correct=correct,
        accuracy=correct / samples,
        interval=wilson_interval(correct, samples),
    )


def _category(name: str, accuracy: float, subsets: Iterable[SubsetScore]) -> CategoryScore:
    members = [subset for subset in subsets if subset.category == name]
    return CategoryScore(
        name=name,
        samples=sum(subset.samples for subset in members),
        correct=sum(subset.correct for subset in members),
        accuracy=accuracy,
    )


def _categories(accuracies: Mapping[str, float], samples: Mapping[str, int]) -> dict[str, float]:
    """Return category -> accuracy, in name order, of those that have marks."""
    members: dict[str, list[str]] = {}
    for subset in accuracies:
        if category := CATEGORIES[subset]:
            members.setdefault(category, []).append(subset)
    return {category: _mean(category, members[category], accuracies, samples) for category in sorted(members)}


def _mean(
    category: str, members: list[str], accuracies: Mapping[str, float], samples: Mapping[str, int]
) -> float:
    if category == "live":
        total = sum(samples[subset] for subset in members)
        return sum(accuracies[subset] * samples[subset] for subset in members) / total
    simple = [accuracies[subset] for subset in members if subset.startswith("simple_")]
    others = [accuracies[subset] for subset in members if not subset.startswith("simple_")]
    return fmean([fmean(simple), *others] if simple else others)


def _bootstrap(tallies: Mapping[str, tuple[int, int]]) -> Interval:
    """Return the 95 % percentile interval of normalised: each subset is resampled within itself.

    Seed 42, subsets in name order, right marks before wrong ones, so the interval depends on the counts
    only. The bounds are the 50th value from either end of the 2,000.
    """
    random = Random(42)
    samples = {name: total for name, (_, total) in tallies.items()}
    values = []
    for _ in range(RESAMPLES):
        drawn = {
            name: sum(random.choices((1,) * correct + (0,) * (total - correct), k=total)) / total
            for name, (correct, total) in tallies.items()
        }
        values.append(fmean(_categories(drawn, samples).values()))
    values.sort()
    tail = RESAMPLES // 40
    return values[tail - 1], values[-tail]
