"""The timed loop: token ids in, logits and clock readings out; knows no text and no template.

One batch is allocated once and filled through numpy views; between submission and last token nothing
grows, prints or allocates per token.
"""

import ctypes
import math
from array import array
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from llama_cpp import llama_cpp as api

from bfcl_gate.errors import EngineError
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine.binding import FLAG_IS_SET, log_tail, with_fields
from bfcl_gate.model.llama_engine.drafting import LONGEST_DRAFT
from bfcl_gate.model.llama_engine.memory import Memory, RowMemory, StateMemory, holds_states

N_BATCH = 512
"""Tokens per llama_decode call and per graph run: the canonical chunk a prompt is evaluated in."""

KV_TYPES = {"f16": api.GGML_TYPE_F16, "q8_0": api.GGML_TYPE_Q8_0, "q4_0": api.GGML_TYPE_Q4_0}

Logits = np.ndarray[Any, np.dtype[np.float32]]

# A function object of its own, for the binding's makes a pointer object of what is wanted as an address: after a pass
# over the weights little of the interpreter is left in the caches, and every object touched is a wait for memory.
_LOGITS_AT = api._lib["llama_get_logits_ith"]
_LOGITS_AT.argtypes = (ctypes.c_void_p, ctypes.c_int32)
_LOGITS_AT.restype = ctypes.c_void_p

StopFlag = Any  # ctypes array of two bytes: the flag and a zero


class Cancelled(Exception):  # noqa: N818 - not an error: someone asked for it
    """The stop flag was set while decoding."""


class DraftCounts(NamedTuple):
    """What drafts did for an answer: passes after the prefill, tokens drafted, and tokens evaluated again because
    drafts behind them were taken back.

    `accepted[i]` is 1 where token i of the answer came from a draft; `ready_ns` is when the memory held what the answer
    leaves in it; `last_logits` is a copy of those that chose the last token, where it was asked for.
    """

    passes: int
    drafted: int
    repeated: int
    accepted: bytearray
    ready_ns: int
    last_logits: Logits | None


class Decoded(NamedTuple):
    """Tokens an answer is made of, forced steps that agreed, and what drafts did if there were any.

    For each token its timestamp (ns), and how long llama.cpp had worked by then (`Decoder.inside_ns`).
    """

    tokens: "array[int]"
    token_ns: "array[int]"
    inside_ns: "array[int]"
    agreed: int
    drafts: DraftCounts | None = None


def open_context(
    model: Any,
    settings: EngineSettings,
    threads: int,
    stop: StopFlag,
    *,
    ctx: int,
    sequences: int,
    rows: int = 1,
    unified: bool = True,
) -> Any:
    """Make a context of `ctx` tokens with room for `rows` logits, at least one of each sequence.

    The sequences share its tokens, or where not `unified` have equal parts of them. Raises EngineError where llama.cpp
    refuses.
    """
    parameters = with_fields(
        api.llama_context_default_params(),
        n_ctx=ctx,
        n_batch=N_BATCH,
        n_ubatch=N_BATCH,
        n_seq_max=sequences,
        kv_unified=unified and sequences > 1,
        n_outputs_max=max(rows, sequences),  # llama.cpp asserts one for each sequence
        n_threads=threads,
        n_threads_batch=threads,
        flash_attn_type=(
            api.LLAMA_FLASH_ATTN_TYPE_ENABLED if settings.flash_attn else api.LLAMA_FLASH_ATTN_TYPE_DISABLED
        ),
        type_k=KV_TYPES[settings.kv_type],
        type_v=KV_TYPES[settings.kv_type],
        swa_full=True,
        offload_kqv=True,
        no_perf=True,
        abort_callback=FLAG_IS_SET,
        abort_callback_data=ctypes.addressof(stop),
    )
    context = api.llama_init_from_model(model, parameters)
    if not context:
        raise EngineError(
            f"llama.cpp could not make a context of {ctx} tokens with {settings.kv_type} KV cache "
            f"({log_tail()}). Where memory is short, lower --ctx or --kv-type."
        )
    return context


def require_evaluated(status: int, stop: StopFlag) -> None:
    """Take what llama_decode returned: raises Cancelled where the stop flag is set, EngineError where it could not."""
    if status == 0 and not stop[0]:
        return
    if status == 2 or stop[0]:
        raise Cancelled
    raise EngineError(f"llama.cpp could not evaluate a batch (llama_decode returned {status}: {log_tail()}).")


def likeliest(logits: Logits) -> int:
    """Return the token of the largest logit. Raises EngineError for logits that are no numbers."""
    # argmax takes the lowest id among equals, so ties do not depend on the build; it takes a NaN before all.
    best = int(logits.argmax())
    if math.isnan(logits.item(best)):
        raise EngineError("The model computed logits that are no numbers; its file or the device is broken.")
    return best


class Decoder:
    """A context of one conversation. `cached` are the tokens of it that a next prompt may build on."""

    def __init__(
        self, model: Any, settings: EngineSettings, threads: int, n_vocab: int, stop: StopFlag
    ) -> None:
        self._stop = stop
        kind = StateMemory if holds_states(model) else RowMemory
        drafts = settings.speculative != "none"
        self._max_rows = LONGEST_DRAFT + 1 if drafts else 1
        sequences = kind.sequences + (kind.draft_sequences if drafts else 0)
        self._context = open_context(
            model, settings, threads, stop, ctx=settings.ctx, sequences=sequences, rows=self._max_rows
        )
        self.memory: Memory = kind(self._context)
        self.n_ctx: int = api.llama_n_ctx(self._context)
        self._n_vocab = n_vocab
        self._logits_address = 0
        self._logits: Logits = np.empty(0, dtype=np.float32)
        self._rows_address = 0
        self._rows: Logits = np.empty((0, 0), dtype=np.float32)
        self._batch = api.llama_batch_init(N_BATCH, 0, 1)
        self._token = np.ctypeslib.as_array(self._batch.token, (N_BATCH,))
        self._pos = np.ctypeslib.as_array(self._batch.pos, (N_BATCH,))
        self._output = np.ctypeslib.as_array(self._batch.logits, (N_BATCH,))
        np.ctypeslib.as_array(self._batch.n_seq_id, (N_BATCH,))[:] = 1
        for i in range(N_BATCH):
            self._batch.seq_id[i][0] = 0
        self._inside = array("q", (0,))
        self.cached: array[int] = array("i")

    @property
    def inside_ns(self) -> int:
        """Nanoseconds spent inside llama.cpp so far: evaluating, and waiting for logits."""
        return self._inside[0]

    def facts(self) -> dict[str, object]:
        """Return what the context was made with beyond the engine's identity, as llama.cpp tells it."""
        sequences = int(api.llama_n_seq_max(self._context))
        return {
            "sequences": sequences,
            "kv_unified": sequences > 1,
            "swa_full": True,
            "decode_threads": int(api.llama_n_threads(self._context)),
            "prefill_threads": int(api.llama_n_threads_batch(self._context)),
        }

    def rewind(self, keep: int) -> int:
        """Cut what is cached to its first `keep` tokens, or to fewer where this model cannot; return how many."""
        kept = self.memory.rewind(keep)
        del self.cached[kept:]
        return kept

    def forget(self) -> None:
        """Empty the memory, whatever it holds."""
        self.memory.forget()
        del self.cached[:]

    def prefill(self, tokens: "array[int]", start: int, mark: int) -> None:
        """Evaluate tokens[start:] in chunks of N_BATCH from `start` on, with logits for the last one only.

        Where the memory needs marks the chunks also end at `mark`.
        """
        if self.memory.needs_marks and max(start, 1) <= mark <= len(tokens):
            self.evaluate(tokens, start, mark, mark == len(tokens))
            self.memory.mark()
            start = mark
        self.evaluate(tokens, start, len(tokens), 1)

    def evaluate(self, tokens: "array[int]", start: int, stop: int, rows: int) -> None:
        """Evaluate tokens[start:stop] in chunks of N_BATCH, with logits for the last `rows` of them.

        Above 1 `rows` needs all of them in one chunk, so stop - start at most N_BATCH.
        """
        view = np.frombuffer(tokens, dtype=np.int32)
        for begin in range(start, stop, N_BATCH):
            end = min(begin + N_BATCH, stop)
            count = end - begin
            self._token[:count] = view[begin:end]
            self._pos[:count] = np.arange(begin, end, dtype=np.int32)
            self._output[:count] = 0
            self._output[max(0, stop - rows - begin) : count] = 1
            self._decode(count)

    def _decode(self, count: int) -> None:
        self._batch.n_tokens = count
        begin = perf_counter_ns()
        status = api.llama_decode(self._context, self._batch)
        self._inside[0] += perf_counter_ns() - begin
        require_evaluated(status, self._stop)

    def step(self, token: int, position: int) -> Logits:
        """Evaluate one token and return its logits as `logits` does."""
        batch = self._batch
        batch.n_tokens = 1
        self._token[0] = token
        self._pos[0] = position
        self._output[0] = 1
        begin = perf_counter_ns()
        status = api.llama_decode(self._context, batch)
        address = _LOGITS_AT(self._context, -1) if status == 0 else None
        self._inside[0] += perf_counter_ns() - begin
        require_evaluated(status, self._stop)
        return self._seen(address)

    def logits(self) -> Logits:
        """Return a view of the last evaluated token's logits, shape (n_vocab,), valid until the next evaluation."""
        begin = perf_counter_ns()
        address = _LOGITS_AT(self._context, -1)  # a GPU is waited for here
        self._inside[0] += perf_counter_ns() - begin
        return self._seen(address)

    def _seen(self, address: int | None) -> Logits:
        if address is None:
            raise EngineError(f"llama.cpp holds no logits of the last token ({log_tail()}).")
        if address != self._logits_address:
            self._logits_address = address
            floats = (ctypes.c_float * self._n_vocab).from_address(address)
            self._logits = np.ctypeslib.as_array(floats)
        return self._logits

    def rows(self) -> Logits:
        """Return a view of the logits of the last evaluation, one row for each it was asked for, in their order.

        Shape (rows, n_vocab), valid until the next evaluation; rows beyond those asked for hold nothing.
        """
        begin = perf_counter_ns()
        pointer = api.llama_get_logits(self._context)
        self._inside[0] += perf_counter_ns() - begin
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        if address != self._rows_address:
            self._rows_address = address
            self._rows = np.ctypeslib.as_array(pointer, (self._max_rows, self._n_vocab))
        return self._rows

    def reserve_rows(self) -> None:
        """Let llama.cpp make room for the most rows of logits it will be asked for, and empty the memory again."""
        self.evaluate(array("i", bytes(4 * self._max_rows)), 0, self._max_rows, self._max_rows)
        self.forget()

    def follow(self, start: int, answer: "array[int]", mark: int) -> Decoded:
        """Decode a known answer: compute every step's logits, then take the recorded token.

        The prompt of `start` tokens was just prefilled; the last answer token is not evaluated.
        """
        stamps, inside = array("q", bytes(8 * len(answer))), array("q", bytes(8 * len(answer)))
        mark = mark if self.memory.needs_marks else 0
        agreed = 0
        logits = self.logits()
        for i, token in enumerate(answer):
            if i:
                logits = self.step(answer[i - 1], start + i - 1)
                if start + i == mark:
                    self.memory.mark()
            agreed += likeliest(logits) == token
            stamps[i] = perf_counter_ns()
            inside[i] = self._inside[0]
        return Decoded(answer, stamps, inside, agreed)

    def speak(self, start: int, limit: int, is_end: Any) -> Decoded:
        """Decode greedily until an end-of-generation token or `limit` tokens."""
        tokens = array("i", bytes(4 * limit))
        stamps, inside = array("q", bytes(8 * limit)), array("q", bytes(8 * limit))
        count = 0
        logits = self.logits()
        while count < limit:
            if count:
                logits = self.step(tokens[count - 1], start + count - 1)
            tokens[count] = likeliest(logits)
            stamps[count] = perf_counter_ns()
            inside[count] = self._inside[0]
            count += 1
            if is_end(tokens[count - 1]):
                break
        return Decoded(tokens[:count], stamps[:count], inside[:count], 0)

    def close(self) -> None:
        if self._context:
            api.llama_batch_free(self._batch)
            api.llama_free(self._context)
            self._context = None
