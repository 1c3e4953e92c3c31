"""Finds where the last tokens of a conversation occurred before: what followed there is a draft of what follows here.

An index of token runs as LZ77 keeps it: the newest place of each run by its hash, and for each place the place
before it with the same hash. Every array is made once; looking up and adding a token allocate nothing.
"""

from array import array
from typing import Any

import numpy as np

from bfcl_gate.model.llama_engine.drafting import LONGEST_DRAFT, Match
from bfcl_gate.model.prefix import common_prefix

RUN = 3
"""Tokens of a run: the shortest match that is found."""

LONGEST_MATCH = 32
"""A match is measured up to here; a longer one says no more."""

_PLACES = 16  # older places are not looked at: the cost of a step is bounded
_MIX = 2_654_435_761  # Knuth's multiplicative hashing: a prime near 2^32 / golden ratio
_MASK = 0xFFFFFFFF


class Lookup:
    """The tokens of one conversation, at most `capacity`, with an index of their runs.

    `tokens[:known]` are the conversation; a draft is written behind them, so that both are one piece.
    """

    def __init__(self, capacity: int) -> None:
        bits = max(10, (2 * capacity - 1).bit_length())
        self._shift = 32 - bits
        self.tokens = array("i", bytes(4 * capacity))
        self.known = 0
        self._indexed = 0  # runs that end before this place are in the index
        self._newest = array("i", [-1]) * (1 << bits)
        self._before = array("i", [-1]) * capacity
        self._token_view = np.frombuffer(self.tokens, dtype=np.int32)
        self._newest_view = np.frombuffer(self._newest, dtype=np.int32)
        self._before_view = np.frombuffer(self._before, dtype=np.int32)

    def follow(self, prompt: "array[int]") -> None:
        """Turn to a prompt; what it shares with the conversation so far stays indexed."""
        kept = common_prefix(self.tokens[: self.known], prompt)
        # The last run is what is looked for: in the index it would find itself.
        self._forget_runs(min(kept, len(prompt) - 1))
        self._token_view[kept : len(prompt)] = np.frombuffer(prompt, dtype=np.int32)[kept:]
        self.known = len(prompt)
        self._index_runs(self.known - 1)

    def take(self, token: int) -> None:
        """Add the next token of the conversation."""
        self.tokens[self.known] = token
        self.known += 1

    def _hashes(self, begin: int, end: int) -> "np.ndarray[Any, np.dtype[np.uint32]]":
        """Return the hash of each run that ends at one of the places begin..end-1, begin at least RUN - 1."""
        mixed: np.ndarray[Any, np.dtype[np.uint32]] = np.zeros(end - begin, dtype=np.uint32)
        for first in range(begin - RUN + 1, begin + 1):
            tokens = self._token_view[first : first + end - begin].astype(np.uint32)
            mixed = (mixed + tokens) * np.uint32(_MIX)
        mixed >>= np.uint32(self._shift)
        return mixed

    def _hash(self, place: int) -> int:
        mixed = 0
        for i in range(place - RUN + 1, place + 1):
            mixed = (mixed + self.tokens[i]) * _MIX & _MASK
        return mixed >> self._shift

    def _index_runs(self, end: int) -> None:
        """Add the runs that end before `end`, all at once."""
        begin = max(self._indexed, RUN - 1)
        self._indexed = max(self._indexed, end)
        if begin >= end:
            return
        hashes = self._hashes(begin, end)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        sorted_hashes, places = hashes[order], order + np.int32(begin)
        same = sorted_hashes[1:] == sorted_hashes[:-1]
        before = self._newest_view[sorted_hashes]
        before[1:][same] = places[:-1][same]
        self._before_view[places] = before
        self._newest_view[hashes] = np.arange(begin, end, dtype=np.int32)  # of equal hashes the last remains

    def _forget_runs(self, length: int) -> None:
        """Take back the runs that end at `length` or later, the newest first."""
        begin = max(length, RUN - 1)
        if begin < self._indexed:
            hashes = self._hashes(begin, self._indexed)
            self._newest_view[hashes[::-1]] = self._before_view[begin : self._indexed][::-1]
        self._indexed = min(self._indexed, length)

    def find(self) -> Match | None:
        """Return the longest earlier match of the last tokens, the newest of equally long ones.

        None where the last RUN tokens have not been seen before.
        """
        last = self.known - 1
        self._index_to(last)
        place = self._newest[self._hash(last)] if last >= RUN - 1 else -1
        best = other = -1
        longest = second = RUN - 1
        for _ in range(_PLACES):
            if place < 0 or second == LONGEST_MATCH:
                break
            length = self._match(place, last)
            if length > longest:
                other, second, best, longest = best, longest, place, length
            elif length > second:
                other, second = place, length
            place = self._before[place]
        if best < 0:
            return None
        return Match(best + 1, longest, None if other < 0 else self._agreed(best + 1, other + 1))

    def _index_to(self, end: int) -> None:
        """Add the runs that end before `end`, one by one."""
        for place in range(max(self._indexed, RUN - 1), end):
            mixed = self._hash(place)
            self._before[place] = self._newest[mixed]
            self._newest[mixed] = place
        self._indexed = max(self._indexed, end)

    def _agreed(self, one: int, other: int) -> int:
        """Return how many tokens from two places on are equal; where all that is known is, nothing says otherwise."""
        tokens = self.tokens
        for i in range(min(LONGEST_DRAFT, self.known - max(one, other))):
            if tokens[one + i] != tokens[other + i]:
                return i
        return LONGEST_DRAFT

    def _match(self, place: int, last: int) -> int:
        """Return how many tokens up to `place` equal those up to `last`."""
        tokens = self.tokens
        length = 0
        while length < LONGEST_MATCH and length <= place and tokens[place - length] == tokens[last - length]:
            length += 1
        return length

    def draft(self, place: int, count: int) -> None:
        """Write what follows from `place` on behind the known tokens, `count` of it.

        Where that reaches the draft itself it goes on repeating it, as a repetition would.
        """
        for i in range(count):
            self.tokens[self.known + i] = self.tokens[place + i]
