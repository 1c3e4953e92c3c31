"""Several answers decoded in one context: the weights are read once for a token of each.

Every step evaluates one token of each answer under way and the next piece of one prompt. Decoding alone waits for
memory and a prompt for arithmetic, so tokens that ride along with a prompt cost little more than its own. What a
token is evaluated with changes the order of its sums, hence now and then a word: speed bought with exactness.
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
from bfcl_gate.model.llama_engine.memory import length
from bfcl_gate.model.llama_engine.model import original_context
from bfcl_gate.model.prefix import reusable

PIECE = 64
"""Tokens of a prompt that are evaluated together with the other answers' tokens; N_BATCH while there are none."""

ROOM = 2048
"""Tokens of context for each answer at once, where not all of them need more: prompts wait for room."""


class Question(NamedTuple):
    """A prompt and the most tokens its answer may have."""

    prompt: "array[int]"
    limit: int

    @property
    def room(self) -> int:
        return len(self.prompt) + self.limit


class Said(NamedTuple):
    """An answer: its tokens, one timestamp (ns) a token, when its prompt was taken up, and prompt tokens shared."""

    tokens: "array[int]"
    token_ns: "array[int]"
    submitted_ns: int
    reused: int


class _Talk:
    """One question being answered in a sequence of its own; `mark` is where the next prompt departs from its prompt."""

    def __init__(self, place: int, question: Question, sequence: int, held: int, mark: int) -> None:
        self.submitted_ns = perf_counter_ns()
        self.place, self.sequence, self.held, self.mark = place, sequence, held, mark
        self.room = question.room
        self.prompt = np.frombuffer(question.prompt, dtype=np.int32)
        self.evaluated = held
        self.tokens = array("i", bytes(4 * question.limit))
        self.spoken = np.frombuffer(self.tokens, dtype=np.int32)
        self.token_ns = array("q", bytes(8 * question.limit))
        self.count = 0
        self.row = -1  # of the batch, whose logits choose the next token; -1 for none

    def asks(self) -> bool:
        """Whether a part of the prompt is still to be evaluated."""
        return self.evaluated < len(self.prompt)

    def take(self, token: int) -> None:
        self.tokens[self.count] = token
        self.token_ns[self.count] = perf_counter_ns()
        self.count += 1

    def said(self) -> Said:
        return Said(self.tokens[: self.count], self.token_ns[: self.count], self.submitted_ns, self.held)


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
    """A context of `at_once` answers, and one more sequence for what a prompt shares with the next one.

    `share` lets each prompt begin with the tokens that it has in common with the one before.
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
        self._questions = questions
        self._talks: list[_Talk | None] = [None] * at_once
        self._free = room_for(questions, at_once)
        if settings.ctx <= (original := original_context(model)):
            self._free = min(self._free, original)
        self._context = open_context(model, settings, threads, stop, ctx=self._free, sequences=at_once + 1)
        self._memory = api.llama_get_memory(self._context)
        self._shared, self._shared_length = at_once, 0
        self._rows = _Rows(at_once + 1)

    def answers(self, is_end: Callable[[int], bool]) -> Iterator[tuple[int, Said]]:
        """Yield every question's place and answer as it is finished; questions are taken up in order.

        Raises Cancelled where the stop flag is set, EngineError where llama.cpp cannot go on.
        """
        taken = 0
        while True:
            taken += self._take_up(taken)
            under_way = [talk for talk in self._talks if talk is not None]
            if not under_way:
                return
            self._step(under_way)
            for talk in under_way:
                if talk.count and (talk.count == len(talk.tokens) or is_end(talk.tokens[talk.count - 1])):
                    self._let_go(talk)
                    yield talk.place, talk.said()

    def _take_up(self, place: int) -> bool:
        """Take up the question at `place` where there is one, no prompt is being evaluated, and there is room."""
        if place == len(self._questions) or None not in self._talks:
            return False
        if any(talk is not None and talk.asks() for talk in self._talks):
            return False
        question = self._questions[place]
        if question.room > self._free:
            self._cut_shared(0)  # while it waits, what it shares would take room that others count on
            return False
        sequence = self._talks.index(None)
        mark = self._departure(place)
        talk = _Talk(place, question, sequence, self._begin_shared(sequence), mark)
        self._talks[sequence] = talk
        self._free -= question.room
        if mark < talk.held:
            self._cut_shared(mark)
        return True

    def _departure(self, place: int) -> int:
        """Return where the prompt after the one at `place` departs from it; 0 where nothing is shared."""
        if not self._share or place + 1 == len(self._questions):
            return 0
        return reusable(self._questions[place + 1].prompt, self._questions[place].prompt)

    def _begin_shared(self, sequence: int) -> int:
        """Begin an empty sequence with the tokens kept for it and return their number."""
        if not self._shared_length:
            return 0
        api.llama_memory_seq_cp(self._memory, self._shared, sequence, -1, -1)
        if length(self._memory, sequence) != self._shared_length:
            self._empty(sequence)
        return length(self._memory, sequence)

    def _keep_shared(self, talk: _Talk) -> None:
        """Keep what was evaluated of a prompt for the next one. The copy is lazy and costs next to nothing."""
        self._empty(self._shared)
        api.llama_memory_seq_cp(self._memory, talk.sequence, self._shared, -1, -1)
        self._shared_length = length(self._memory, self._shared)

    def _cut_shared(self, keep: int) -> None:
        """Cut what is kept to `keep` tokens, or to none where this model's memory cannot be cut."""
        removed = api.llama_memory_seq_rm(self._memory, self._shared, keep, -1)
        if not removed or length(self._memory, self._shared) != keep:
            self._empty(self._shared)
        self._shared_length = length(self._memory, self._shared)

    def _empty(self, sequence: int) -> None:
        if not api.llama_memory_seq_rm(self._memory, sequence, -1, -1):
            raise EngineError("llama.cpp could not empty a sequence of its memory.")

    def _step(self, under_way: Sequence[_Talk]) -> None:
        """Evaluate the next token of each answer and the next piece of the prompt; choose the tokens that follow."""
        piece = PIECE if any(talk.count for talk in under_way) else N_BATCH
        self._rows.clear()
        for talk in under_way:
            self._add(talk, piece)
        require_evaluated(api.llama_decode(self._context, self._rows.batch), self._stop)
        for talk in under_way:
            if talk.row >= 0:
                talk.take(likeliest(self._logits(talk.row)))
            if talk.evaluated == talk.mark > talk.held:
                self._keep_shared(talk)

    def _add(self, talk: _Talk, piece: int) -> None:
        """Add to the batch what comes next of an answer, or of its prompt up to the mark or its end."""
        start = talk.evaluated
        if not talk.asks():
            talk.row = self._rows.add(talk.spoken[talk.count - 1 : talk.count], start, talk.sequence, True)
            talk.evaluated += 1
            return
        stop = min(start + piece, len(talk.prompt))
        if start < talk.mark < stop:
            stop = talk.mark
        last = stop == len(talk.prompt)
        row = self._rows.add(talk.prompt[start:stop], start, talk.sequence, last)
        talk.row = row if last else -1
        talk.evaluated = stop

    def _logits(self, row: int) -> Logits:
        pointer = api.llama_get_logits_ith(self._context, row)
        return np.ctypeslib.as_array(pointer, (self._n_vocab,))

    def _let_go(self, talk: _Talk) -> None:
        self._empty(talk.sequence)
        self._talks[talk.sequence] = None
        self._free += talk.room

    def close(self) -> None:
        if self._context:
            api.llama_free(self._context)
            self._context = None


def room_for(questions: Sequence[Question], at_once: int) -> int:
    """Return the tokens of context that hold `at_once` answers: those that need most, or ROOM for each if that is less.

    At least what the longest needs, so that every question can be answered.
    """
    rooms = sorted((question.room for question in questions), reverse=True)
    return max(rooms[0], min(sum(rooms[:at_once]), at_once * ROOM))
