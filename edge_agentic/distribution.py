"""Summaries of numbers: spread, percentiles, and the percentiles MLPerf's early stopping would certify."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

PERCENTILES = ("1", "5", "10", "25", "50", "75", "80", "90", "95", "97", "99", "99.9")
CERTIFIED = ("50", "75", "80", "90", "95", "97", "99", "99.9")
MAX_CONFIDENCE_GAP = 0.01  # LoadGen's early stopping asks for 99 % confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What a set of numbers looks like. What is undefined is None or absent: never 0.

    `std` is the sample deviation (n - 1), None below two values. `percentiles` holds (name, value) with
    the value at sorted index floor(p/100 · (n - 1)), so always a number that was measured (numpy's
    method "lower", as the MLPerf reference); empty without values. `certified` holds (name, value or
    None): the upper estimate that MLPerf's early stopping allows for so few values, None where they are
    too few; empty where nobody asked for it.
    """

    count: int
    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    percentiles: tuple[tuple[str, float], ...]
    certified: tuple[tuple[str, float | None], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of result.json."""
        return {
            "count": self.count,
            "mean": self.mean,
            "std": self.std,
            "min": self.min,
            "max": self.max,
            "percentiles": dict(self.percentiles),
            "certified": dict(self.certified),
        }


def distribution(values: Iterable[float | None], *, certify: bool = False) -> Distribution:
    """Summarise `values`; None among them is left out. `certify` adds the early-stopping estimates."""
    import numpy as np  # here, so that commands without statistics start fast

    known = np.sort(np.array([v for v in values if v is not None], dtype=np.float64))
    count = len(known)
    if count == 0:
        nothing = tuple((name, None) for name in CERTIFIED) if certify else ()
        return Distribution(
            count=0, mean=None, std=None, min=None, max=None, percentiles=(), certified=nothing
        )
    lower = np.percentile(known, [float(name) for name in PERCENTILES], method="lower")
    return Distribution(
        count=count,
        mean=float(known.mean()),
        std=float(known.std(ddof=1)) if count > 1 else None,
        min=float(known[0]),
        max=float(known[-1]),
        percentiles=tuple((name, float(value)) for name, value in zip(PERCENTILES, lower, strict=True)),
        certified=_certified(known.tolist()) if certify else (),
    )


def _certified(ascending: list[float]) -> tuple[tuple[str, float | None], ...]:
    ranks = ((name, certified_rank(len(ascending), float(name) / 100)) for name in CERTIFIED)
    return tuple((name, None if rank is None else ascending[-rank]) for name, rank in ranks)


def certified_rank(count: int, p: float) -> int | None:
    """Return t*: the t*-th highest of `count` values is at or above the true p-quantile with 99 % confidence.

    t* is the largest t >= 1 with I_p(count - t, t + 1) < 0.01 (LoadGen's early stopping, tolerance 0). The
    regularised incomplete beta function equals P(at most t of `count` values lie above the quantile), a
    binomial sum. None when even t = 1 is not certain enough.
    """
    at_most = 0.0
    for t in range(count + 1):
        at_most += _binomial(t, count, 1 - p)
        if at_most >= MAX_CONFIDENCE_GAP:
            return t - 1 if t > 1 else None
    return None


def _binomial(k: int, n: int, q: float) -> float:
    """Return the probability of k successes in n tries of chance q (0 < q < 1), in logarithms: n is large."""
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(q) + (n - k) * math.log1p(-q))
