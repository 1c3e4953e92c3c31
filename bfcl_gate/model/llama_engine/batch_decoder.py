"""Several answers decoded in one context: the weights are read once for a token of each.

Prompts are evaluated one after the other, each in a memory of its own and in the chunks in which it is evaluated alone:
they wait for arithmetic and gain nothing from company. Decoding waits for memory, so every step evaluates one token of
each answer under way. That changes the order of sums, hence now and then a word: speed bought with exactness.
"""

import ctypes
from array import array
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from llama_cpp import llama_cpp as api

from bfcl_gate.errors import EngineError
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine.decoder import (
    N_BATCH,
    Logits,
    StopFlag,
    likeliest,
    open_context,
    require_evaluated,
)
from bfcl_gate.model.llama_engine.memory import holds_states, length
from bfcl_gate.model.llama_engine.model import original_context
from bfcl_gate.model.prefix import reusable


class Question(NamedTuple):
    """A prompt and the most tokens its answer may have."""

    prompt: "array[int]"
    limit: int


class Said(NamedTuple):
    """An answer: its tokens, one timestamp (ns) a token, when its prompt was taken up, and prompt tokens shared."""

    tokens: "array[int]"
    token_ns: "array[int]"
    submitted_ns: int
    reused: int


class _Talk:
    """One answer under way in a sequence of its own."""

    def __init__(self, place: int, question: Question, sequence: int) -> None:
        self.submitted_ns = perf_counter_ns()
        self.place, self.sequence, self.reused = place, sequence, 0
        self.prompt = np.frombuffer(question.prompt, dtype=np.int32)
        self._tokens = array("i", bytes(4 * question.limit))
        self._token_ns = array("q", bytes(8 * question.limit))
        self._spoken = np.frombuffer(self._tokens, dtype=np.int32)
        self._count = 0

    @property
    def last(self) -> "np.ndarray[Any, Any]":
        """The token said last, shape (1,)."""
        return self._spoken[self._count - 1 : self._count]

    @property
    def position(self) -> int:
        """Where the token said last stands in its sequence."""
        return len(self.prompt) + self._count - 1

    def take(self, token: int) -> None:
        self._tokens[self._count] = token
        self._token_ns[self._count] = perf_counter_ns()
        self._count += 1

    def is_over(self, is_end: Callable[[int], bool]) -> bool:
        return self._count == len(self._tokens) or is_end(self._tokens[self._count - 1])

    def said(self) -> Said:
        end = self._count
        return Said(self._tokens[:end], self._token_ns[:end], self.submitted_ns, self.reused)


class _Rows:
    """A batch in memory of our own: token, position, sequence and whether logits are wanted, row by row."""

    def __init__(self, sequences: int) -> None:
        self._token, self._pos = (np.zeros(N_BATCH, dtype=np.int32) for _ in range(2))
        self._one = np.ones(N_BATCH, dtype=np.int32)
        self._ids = np.arange(sequences, dtype=np.int32)
        self._sequence = np.zeros(N_BATCH, dtype=np.uintp)  # addresses in _ids
        self._output = np.zeros(N_BATCH, dtype=np.int8)
        self.batch = api.llama_batch(
            token=_pointer(self._token, api.llama_token),
            pos=_pointer(self._pos, api.llama_pos),
            n_seq_id=_pointer(self._one, ctypes.c_int32),
            seq_id=_pointer(self._sequence, ctypes.POINTER(api.llama_seq_id)),
            logits=_pointer(self._output, ctypes.c_int8),
        )

    def clear(self) -> None:
        self.batch.n_tokens = 0

    def add(self, tokens: "np.ndarray[Any, Any]", position: int, sequence: int, output: bool) -> int:
        """Append tokens of a sequence from a position on; return the last one's row, whose logits may be wanted."""
        begin = self.batch.n_tokens
        end = begin + len(tokens)
        self._token[begin:end] = tokens
        self._pos[begin:end] = np.arange(position, position + len(tokens), dtype=np.int32)
        self._sequence[begin:end] = self._ids.ctypes.data + self._ids.itemsize * sequence
        self._output[begin:end] = 0
        self._output[end - 1] = output
        self.batch.n_tokens = end
        return end - 1


def _pointer(values: "np.ndarray[Any, Any]", kind: Any) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(kind))


class BatchDecoder:
    """A context of `at_once` answers, each with a memory that holds any of the questions and its answer.

    `share` lets each prompt begin with the tokens it has in common with the one before; one more memory keeps them.
    """

    def __init__(
        self,
        model: Any,
        settings: EngineSettings,
        threads: int,
        n_vocab: int,
        stop: StopFlag,
        questions: Sequence[Question],
        *,
        at_once: int,
        share: bool,
    ) -> None:
        self._stop, self._n_vocab, self._share = stop, n_vocab, share
        self._questions, self._states = questions, holds_states(model)
        self._talks: list[_Talk | None] = [None] * at_once
        self._shared = at_once
        sequences = at_once + share
        ctx = sequences * room_for(questions, settings.ctx, original_context(model))
        self._context = open_context(
            model, settings, threads, stop, ctx=ctx, sequences=sequences, unified=False
        )
        self._memory = api.llama_get_memory(self._context)
        self._rows = _Rows(sequences)

    def answers(self, is_end: Callable[[int], bool]) -> Iterator[tuple[int, Said]]:
        """Yield every question's place and answer as it is finished; questions are taken up in order.

        Raises Cancelled where the stop flag is set, EngineError where llama.cpp cannot go on.
        """
        left = iter(enumerate(self._questions))
        while True:
            while None in self._talks and (following := next(left, None)) is not None:
                self._begin(*following)
                yield from self._finished(is_end)
            under_way = [talk for talk in self._talks if talk is not None]
            if not under_way:
                return
            self._step(under_way)
            yield from self._finished(is_end)

    def _finished(self, is_end: Callable[[int], bool]) -> Iterator[tuple[int, Said]]:
        """Let go of the answers that are over, and yield them."""
        for talk in self._talks:
            if talk is not None and talk.is_over(is_end):
                self._empty(talk.sequence)
                self._talks[talk.sequence] = None
                yield talk.place, talk.said()

    def _begin(self, place: int, question: Question) -> None:
        """Take up a question: evaluate its prompt and choose the first token."""
        sequence = self._talks.index(None)
        talk = _Talk(place, question, sequence)
        mark = 0
        if self._share:
            talk.reused = self._copy(self._shared, sequence)
            mark = self._departure(place)
            self._cut_shared(mark)
        split = self._states and talk.reused < mark
        if split:
            self._prefill(talk, talk.reused, mark)
            self._copy(sequence, self._shared)
        row = self._prefill(talk, mark if split else talk.reused, len(talk.prompt))
        if talk.reused < mark and not split:
            self._copy(sequence, self._shared)
            self._cut_shared(mark)
        talk.take(likeliest(self._logits(row)))
        self._talks[sequence] = talk

    def _departure(self, place: int) -> int:
        """Return where the prompt after the one at `place` departs from it; 0 for the last one."""
        if place + 1 == len(self._questions):
            return 0
        return reusable(self._questions[place + 1].prompt, self._questions[place].prompt)

    def _prefill(self, talk: _Talk, start: int, stop: int) -> int:
        """Evaluate prompt[start:stop] in chunks of N_BATCH; return the row of the prompt's last token."""
        row = -1
        for begin in range(start, stop, N_BATCH):
            end = min(begin + N_BATCH, stop)
            self._rows.clear()
            row = self._rows.add(talk.prompt[begin:end], begin, talk.sequence, end == len(talk.prompt))
            self._evaluate()
        return row

    def _step(self, under_way: Sequence[_Talk]) -> None:
        """Evaluate the token said last of each answer and choose the ones that follow."""
        self._rows.clear()
        rows = [self._rows.add(talk.last, talk.position, talk.sequence, True) for talk in under_way]
        self._evaluate()
        for talk, row in zip(under_way, rows, strict=True):
            talk.take(likeliest(self._logits(row)))

    def _evaluate(self) -> None:
        require_evaluated(api.llama_decode(self._context, self._rows.batch), self._stop)

    def _logits(self, row: int) -> Logits:
        pointer = api.llama_get_logits_ith(self._context, row)
        return np.ctypeslib.as_array(pointer, (self._n_vocab,))

    def _copy(self, source: int, target: int) -> int:
        """Let a sequence hold what another one holds, and return its length in tokens; 0 where that went wrong."""
        self._empty(target)
        held = length(self._memory, source)
        if held:
            api.llama_memory_seq_cp(self._memory, source, target, -1, -1)
            if length(self._memory, target) != held:
                self._empty(target)
        return length(self._memory, target)

    def _cut_shared(self, keep: int) -> None:
        """Cut what is kept for the next prompt to `keep` tokens, or to none where this model's memory cannot be cut."""
        if length(self._memory, self._shared) > keep:
            removed = api.llama_memory_seq_rm(self._memory, self._shared, keep, -1)
            if not removed or length(self._memory, self._shared) != keep:
                self._empty(self._shared)

    def _empty(self, sequence: int) -> None:
        if not api.llama_memory_seq_rm(self._memory, sequence, -1, -1):
            raise EngineError("llama.cpp could not empty a sequence of its memory.")

    def close(self) -> None:
        if self._context:
            api.llama_free(self._context)
            self._context = None


def room_for(questions: Sequence[Question], ctx: int, original: int) -> int:
    """Return the tokens of context for each answer: what the longest question needs.

    Where a context of `ctx` lies beyond the one of `original` tokens that positions are scaled from, this one does too.
    """
    longest = max(len(question.prompt) + question.limit for question in questions)
    return max(longest, original + 1) if ctx > original else longest
