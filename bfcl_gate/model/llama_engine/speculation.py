"""Decoding with drafts from the prompt: several tokens a pass, each of them the one plain decoding would take.

A pass evaluates the token taken last and a draft of what follows it. Each row of logits then chooses one token:
as long as the draft holds that very token, the next row counts too. The first row whose token the draft does not
hold gives the last token of the pass, and what was drafted behind it is taken back.
"""

from array import array
from collections.abc import Callable
from time import perf_counter_ns
from typing import NamedTuple

from bfcl_gate.model.llama_engine.decoder import Decoded, Decoder, DraftCounts, Logits, likeliest
from bfcl_gate.model.llama_engine.drafting import LONGEST_DRAFT, Appetite, Prices
from bfcl_gate.model.llama_engine.lookup import Lookup


class Answer(NamedTuple):
    """How an answer is to be decoded: at most `limit` tokens after a prompt of `start` tokens.

    `recorded` are the tokens to take whatever the logits say; without them decoding ends at a token that `is_end`.
    `mark` is a place that the memory is to be able to come back to, 0 for none. `keeps_logits` asks for a copy of the
    logits that chose the last token.
    """

    start: int
    limit: int
    recorded: "array[int] | None"
    is_end: Callable[[int], bool]
    mark: int
    keeps_logits: bool = False


class Speculation:
    """Drafts for the answers of one decoder, whose passes have these prices."""

    def __init__(self, decoder: Decoder, prices: Prices) -> None:
        self._decoder = decoder
        self._appetite = Appetite(prices, repeats=decoder.memory.needs_marks)
        self._lookup = Lookup(decoder.n_ctx + LONGEST_DRAFT)
        decoder.reserve_rows()

    def follow(self, prompt: "array[int]") -> None:
        """Make the index that of a prompt, before its answer is decoded."""
        self._lookup.follow(prompt)

    def decode(self, answer: Answer) -> Decoded:
        """Decode the answer to the prompt that was followed and just prefilled."""
        self._appetite.begin()
        passes = _Passes(self._decoder, self._lookup, self._appetite, answer)
        while passes.choose():
            passes.evaluate()
        passes.settle()
        return passes.decoded()


class _Passes:
    """The passes of one answer. `evaluated` tokens are in the memory, the rest of the known ones is not yet."""

    def __init__(self, decoder: Decoder, lookup: Lookup, appetite: Appetite, answer: Answer) -> None:
        self._decoder, self._memory = decoder, decoder.memory
        self._lookup, self._appetite, self._answer = lookup, appetite, answer
        self._mark = answer.mark if decoder.memory.needs_marks else 0
        self._stamps = array("q", bytes(8 * answer.limit))
        self._inside = array("q", bytes(8 * answer.limit))
        self._accepted = bytearray(answer.limit)
        self._evaluated = answer.start
        self._draft = 0  # tokens drafted for the present pass
        self._count = self._agreed = self._passes = self._drafted = self._repeated = 0
        self._ready_ns = 0
        self._last_logits: Logits | None = None
        self._gave_up = False

    def choose(self) -> bool:
        """Take the tokens that the logits of the last evaluation choose; return whether more are to come."""
        lookup, recorded, rows = self._lookup, self._answer.recorded, self._decoder.rows()
        begin, row, hit, ended = self._count, 0, True, False
        while hit and not ended:
            best = likeliest(rows[row])
            token = best if recorded is None else recorded[self._count]
            self._agreed += best == token
            hit = row < self._draft and lookup.tokens[lookup.known] == token
            lookup.take(token)
            self._accepted[self._count] = hit
            self._count += 1
            row += 1
            ended = self._ends(token)
        self._stamp(begin)
        if ended and self._answer.keeps_logits:
            self._last_logits = rows[row - 1].copy()
        if self._draft:
            self._appetite.learn(self._draft, row - (not hit))
            self._take_back()
        if self._evaluated == self._mark:
            self._memory.mark()
        return not ended

    def _stamp(self, begin: int) -> None:
        """Give the tokens of one pass its time."""
        now, inside = perf_counter_ns(), self._decoder.inside_ns
        for i in range(begin, self._count):
            self._stamps[i] = now
            self._inside[i] = inside

    def _ends(self, token: int) -> bool:
        if self._count == self._answer.limit:
            return True
        return self._answer.recorded is None and self._answer.is_end(token)

    def _take_back(self) -> None:
        """Take what was drafted in vain out of the memory, which may go back further than that."""
        right = self._lookup.known - 1
        if self._evaluated > right:
            self._evaluated = self._memory.undo(right)
            lost = right - self._evaluated
            self._repeated += lost
            # More than the pass itself: this memory cannot be taken back. Once is enough.
            self._gave_up = self._gave_up or lost > LONGEST_DRAFT + 1

    def evaluate(self) -> None:
        """Evaluate what is known and not yet in the memory, and behind it as much of a draft as is worth it."""
        lookup = self._lookup
        self._catch_up_to_mark(lookup.known)
        self._draft = self._find_draft()
        if self._draft:
            self._memory.save()
        stop = lookup.known + self._draft
        if stop == self._evaluated + 1:
            self._decoder.step(lookup.tokens[self._evaluated], self._evaluated)
        else:
            self._decoder.evaluate(lookup.tokens, self._evaluated, stop, self._draft + 1)
        self._evaluated = stop
        self._drafted += self._draft
        self._passes += 1

    def _catch_up_to_mark(self, stop: int) -> None:
        """Where the memory was taken back beyond the mark, evaluate up to it and set it again."""
        if self._evaluated < self._mark < stop:
            self._decoder.evaluate(self._lookup.tokens, self._evaluated, self._mark, 0)
            self._memory.mark()
            self._evaluated = self._mark

    def _find_draft(self) -> int:
        """Write a draft behind the known tokens and return its length."""
        lookup, answer = self._lookup, self._answer
        # The last token of an answer is never evaluated, so it is never drafted.
        room = min(answer.limit - self._count - 1, LONGEST_DRAFT)
        if self._mark >= lookup.known:
            room = min(room, self._mark - lookup.known)
        # What was taken back too far is evaluated first, so that the next draft cannot take it back again.
        if room < 1 or self._gave_up or lookup.known - self._evaluated > 1:
            return 0
        match = lookup.find()
        if match is None:
            return 0
        count = min(room, self._appetite.wanted(match))
        lookup.draft(match.place, count)
        return count

    def settle(self) -> None:
        """Leave in the memory what the answer is said to leave: all but its last token where it was recorded."""
        stop = self._lookup.known - 1 if self._answer.recorded is not None else self._answer.start
        self._catch_up_to_mark(stop)
        self._decoder.evaluate(self._lookup.tokens, self._evaluated, stop, 0)
        if self._evaluated < stop == self._mark:
            self._memory.mark()
        self._memory.release()
        self._ready_ns = perf_counter_ns()

    def decoded(self) -> Decoded:
        count, start = self._count, self._answer.start
        drafts = DraftCounts(
            passes=self._passes,
            drafted=self._drafted,
            repeated=self._repeated,
            accepted=self._accepted[:count],
            ready_ns=self._ready_ns,
            last_logits=self._last_logits,
        )
        tokens = self._lookup.tokens[start : start + count]
        return Decoded(tokens, self._stamps[:count], self._inside[:count], self._agreed, drafts)
