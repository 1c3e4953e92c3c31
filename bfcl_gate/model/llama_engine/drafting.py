"""How much to draft: the length that is expected to save most, given what a pass costs and what a match promises.

Nothing here depends on a clock: the same tokens give the same drafts on every run.
"""

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

LONGEST_DRAFT = 31
"""Tokens of the longest draft; with the token taken before it a pass evaluates up to 32."""

MOST_EVIDENCE = 32.0
"""Evidence is counted up to here; more of it says no more."""

Prices = Mapping[int, float]
"""What passes of some numbers of tokens cost, as multiples of a pass of one token. Others lie between them."""

CPU_PRICES: Prices = {1: 1.0, 2: 1.85, 4: 2.7, 8: 4.7, 12: 6.5, 16: 8.5, 24: 11.5, 32: 15.0}
"""A processor computes much of a batch row by row. Two virtual cores were measured, idle (a pass of 8 costs 4.1, one of
32 costs 11) and shared with other work (5.4 and 18.8); these are between the two."""

DEVICE_PRICES: Prices = {1: 1.0, 2: 1.1, 4: 1.3, 8: 1.7, 16: 2.5, 32: 4.1}
"""An accelerator reads all weights for every pass, and the rows of a small batch come with them: a tenth of a pass
each is assumed, which is more than they cost where memory is the limit."""

_GAIN = 0.2  # passes that a draft must be expected to save
_DISTRUST, _LEAST_TRUST = 0.75, 0.25


class Match(NamedTuple):
    """What was found of the last tokens: `place` is behind their earlier occurrence, `length` how many are equal.

    `agreed` is how many tokens follow alike there and at another place where the last tokens occurred (LONGEST_DRAFT
    where nothing says otherwise), None where there is no other place.
    """

    place: int
    length: int
    agreed: int | None


class Appetite:
    """Draft lengths for one answer after another.

    A copy that has lasted E tokens lasts j more with probability (E - 1)/(E + j - 1), the rule of a length that has no
    scale of its own (Pareto with exponent 1). On the bundled traces this is what matches at two places that agree do;
    a match seen at one place does as one of half its length. Drafts that fail lower the evidence further until some
    succeed. `repeats` tells that a pass with a wrong draft is taken back as a whole and its right part evaluated again.
    """

    def __init__(self, prices: Prices, *, repeats: bool = False) -> None:
        costs = _costs(prices)
        self._lengths = [_lengths(half / 2, costs, repeats) for half in range(int(2 * MOST_EVIDENCE) + 1)]
        self._trust = 1.0

    def begin(self) -> None:
        """Begin another answer: nothing of the one before is held against it."""
        self._trust = 1.0

    def wanted(self, match: Match) -> int:
        """Return how many tokens to draft from a match, 0 where it is not worth it."""
        evidence = match.length / 2 if match.agreed is None else match.length
        limit = LONGEST_DRAFT if match.agreed is None else match.agreed
        return self._lengths[int(2 * min(MOST_EVIDENCE, evidence * self._trust))][limit]

    def learn(self, drafted: int, accepted: int) -> None:
        """Note what became of a draft."""
        if accepted == drafted:
            self._trust = min(1.0, 2 * self._trust)
        elif 2 * accepted < drafted:
            self._trust = max(_LEAST_TRUST, _DISTRUST * self._trust)


def _costs(prices: Prices) -> list[float]:
    """Return what drafts of 0 to LONGEST_DRAFT tokens cost beside the token they follow, in passes of one token."""
    costs = [0.0]
    for (few, low), (many, high) in pairwise(sorted(prices.items())):
        costs += [low + (high - low) * (n - few) / (many - few) - 1 for n in range(few + 1, many + 1)]
    return costs


def _lengths(evidence: float, costs: list[float], repeats: bool) -> list[int]:
    """Return the best draft length for each limit 0 to LONGEST_DRAFT.

    A draft saves a pass for each token that is accepted, and with `repeats` costs the rows of a token and of those
    accepted once more where it fails. Only whole groups of four rows are considered, and on the
    way to the first group whatever fits.
    """
    if evidence <= 1:
        return [0] * (LONGEST_DRAFT + 1)
    survival = [(evidence - 1) / (evidence + j - 1) for j in range(1, LONGEST_DRAFT + 1)]
    gains = [0.0, *(saved - cost for saved, cost in zip(accumulate(survival), costs[1:], strict=True))]
    if repeats:
        fails = [before - after for before, after in pairwise([1.0, *survival])]
        again = accumulate(share * costs[right + 1] for right, share in enumerate(fails))
        gains = [0.0, *(gain - lost for gain, lost in zip(gains[1:], again, strict=True))]
    best = [0]
    for length in range(1, LONGEST_DRAFT + 1):
        whole = length < 4 or length % 4 == 3
        better = whole and gains[length] > max(_GAIN, gains[best[-1]])
        best.append(length if better else best[-1])
    return best
