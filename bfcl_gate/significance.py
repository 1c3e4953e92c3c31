"""What chance can do to a gate: false failures, visible drops, paired differences. Exact, no tables.

Samples count as independent draws of questions; the model itself is deterministic.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import comb, exp, fsum, lgamma, log, log1p
from typing import Any

VISIBLE_POWER = 0.8
"""A drop counts as visible when the gate would fail on it with this probability."""


_NEGLIGIBLE = 1e-25
"""Products of smaller probabilities change no sum here that is told to a reader."""


def binomial_pmf(total: int, probability: float) -> list[float]:
    """Return P(X = k) for k = 0…total, X the number of successes in `total` draws."""
    return _pmf(_log_choices(total), probability)


def _log_choices(total: int) -> list[float]:
    """Return the logarithms of the binomial coefficients (total over k), k = 0…total."""
    factorials = [lgamma(k + 1) for k in range(total + 1)]
    return [factorials[total] - factorials[k] - factorials[total - k] for k in range(total + 1)]


def _pmf(log_choices: Sequence[float], probability: float) -> list[float]:
    total = len(log_choices) - 1
    if probability in (0.0, 1.0):
        certain = total if probability else 0
        return [float(k == certain) for k in range(total + 1)]
    yes, no = log(probability), log1p(-probability)
    return [exp(ways + k * yes + (total - k) * no) for k, ways in enumerate(log_choices)]


def false_fail_probability(counts: Iterable[tuple[int, int]], failing: int) -> float:
    """Return P(at most `failing` right in all) where each stratum's true accuracy is the observed one.

    `counts` are (correct, samples) of each subset; their binomials are convolved. `failing` may be -1
    (no count fails).
    """
    pmf = [1.0]
    for correct, samples in counts:
        pmf = _convolve(pmf, binomial_pmf(samples, correct / samples))
    return min(1.0, fsum(pmf[: failing + 1]))


def visible_accuracy(total: int, failing: int) -> float | None:
    """Return the highest true accuracy that fails with probability `VISIBLE_POWER`; None where none does.

    A run of `total` samples fails with at most `failing` right.
    """
    if failing < 0:
        return None
    low, high = 0.0, 1.0
    log_choices = _log_choices(total)
    for _ in range(40):
        middle = (low + high) / 2
        fails = fsum(_pmf(log_choices, middle)[: failing + 1])
        low, high = (middle, high) if fails >= VISIBLE_POWER else (low, middle)
    return low


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test: min(1, 2 P(Bin(b + c, 1/2) <= min(b, c)))."""
    discordant = only_first + only_second
    tail = sum(comb(discordant, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << discordant))


def compare_marks(before: Mapping[str, bool], now: Mapping[str, bool]) -> dict[str, Any]:
    """Compare two sets of marks sample by sample; McNemar's exact p is told and decides nothing."""
    shared = [sample_id for sample_id in now if sample_id in before]
    flips = [sample_id for sample_id in shared if before[sample_id] != now[sample_id]]
    gained = [sample_id for sample_id in flips if now[sample_id]]
    lost = [sample_id for sample_id in flips if not now[sample_id]]
    return {
        "samples": len(shared),
        "gained": gained,
        "lost": lost,
        "mcnemar_p": mcnemar_p(len(gained), len(lost)),
    }


def _convolve(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Return the distribution of the sum of two independent counts."""
    result = [0.0] * (len(first) + len(second) - 1)
    likely = [(j, b) for j, b in enumerate(second) if b > _NEGLIGIBLE]
    for i, a in enumerate(first):
        if a > _NEGLIGIBLE:
            for j, b in likely:
                result[i + j] += a * b
    return result
