"""The local engine: llama.cpp through the low-level bindings. The only package that imports llama_cpp.

Runs inside a child process (`bfcl_gate.model.child_engine`); import it from there.
"""

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from time import perf_counter_ns
from typing import Any

from llama_cpp import llama_cpp as api

from bfcl_gate.errors import ContextOverflowError, EngineError, InputError
from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import EngineInfo, EngineSettings, PlannedTurn, TimedResponse
from bfcl_gate.model.llama_engine.batch_decoder import BatchDecoder, Question, Said
from bfcl_gate.model.llama_engine.decoder import N_BATCH, Cancelled, Decoded, Decoder, Logits, StopFlag
from bfcl_gate.model.llama_engine.drafting import CPU_PRICES, DEVICE_PRICES
from bfcl_gate.model.llama_engine.growing import GrowingTokens
from bfcl_gate.model.llama_engine.model import chat_template_of, details_of, identity_of, load_model
from bfcl_gate.model.llama_engine.speculation import Answer, Speculation
from bfcl_gate.model.llama_engine.token_parts import count_parts, parts_of_tokens
from bfcl_gate.model.llama_engine.vocabulary import Prompt, Vocabulary
from bfcl_gate.model.prefix import TurnTokens, common_prefix, plan_trajectory, reusable
from bfcl_gate.model.template import ChatTemplate
from bfcl_gate.model.toolcalls import parts_of, syntax_of_template

__all__ = ["Cancelled", "LlamaEngine"]


def usable_threads() -> int:
    """Return how many CPUs this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _whole_chunks(tokens: int) -> int:
    return tokens // N_BATCH * N_BATCH


class LlamaEngine:
    """One loaded model with one context; answers one request at a time.

    `stop` is two shared bytes, flag and zero; whoever sets the flag clears it. Raises InputError for what cannot be
    asked as an agent would, EngineError when llama.cpp refuses to load it or to make its context.
    """

    def __init__(self, settings: EngineSettings, stop: StopFlag) -> None:
        self._stop, self._settings = stop, settings
        self._decoder: Decoder | None = None
        self._speculation: Speculation | None = None
        self._model = load_model(settings)
        self._open = True
        self._canonical = settings.reuse == "canonical"
        try:
            self._info = self._prepare(settings)
        except BaseException:
            self.close()
            raise

    def _prepare(self, settings: EngineSettings) -> EngineInfo:
        threads = self._threads = settings.threads or usable_threads()
        vocabulary = self._vocabulary = Vocabulary(
            self._model.handle, parse_content=settings.special_in_content == "parse"
        )
        # Two memories: the clock must not be spared the tokens that planning has seen a moment before.
        self._asked, self._planned = vocabulary.growing(), vocabulary.growing()
        self._template = ChatTemplate(
            chat_template_of(self._model, settings),
            bos=vocabulary.bos_text,
            eos=vocabulary.eos_text,
            arguments=dict(settings.template_args),
            guard=vocabulary.guard,
        )
        if not settings.vocab_only:
            self._decoder = Decoder(self._model.handle, settings, threads, vocabulary.size, self._stop)
            if settings.speculative != "none":
                on_device = self._model.offloaded_layers > 0
                self._speculation = Speculation(self._decoder, DEVICE_PRICES if on_device else CPU_PRICES)
        return EngineInfo(
            kind="local",
            identity=identity_of(self._model, settings, threads, self._template.source),
            details={
                **details_of(self._model, settings),
                **(self._decoder.facts() if self._decoder else {}),
            },
            ctx=self._decoder.n_ctx if self._decoder else None,
            syntax=syntax_of_template(self._template.source),
            prefix=self._template.generation_prefix(),
        )

    def info(self) -> EngineInfo:
        return self._info

    def _render(self, request: ChatRequest, growing: GrowingTokens, answer: Message | None = None) -> Prompt:
        """Return the prompt that asks for an answer, or the conversation up to a given answer."""
        messages = request.messages if answer is None else (*request.messages, answer)
        return self._vocabulary.prompt(
            self._template, messages, request.tools, generation_prompt=answer is None, growing=growing
        )

    def _answer(self, request: ChatRequest, prompt: "array[int]") -> tuple["array[int] | None", bool | None]:
        """Return the recorded answer's tokens and whether its render extends the prompt.

        The answer is what follows the prompt (else the common prefix) in the render of history and answer,
        up to and including its first end-of-generation token.
        """
        if request.recorded is None:
            return None, None
        whole = self._render(request, self._planned, request.recorded).tokens
        start = common_prefix(prompt, whole)
        end = next((i for i in range(start, len(whole)) if self._vocabulary.is_end(whole[i])), len(whole) - 1)
        return whole[start : end + 1] or None, start == len(prompt)

    def plan(self, requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...]:
        return plan_trajectory(
            [self._turn_tokens(request) for request in requests],
            forced=bool(requests) and requests[0].forced,
            text_of=self._vocabulary.text,
        )

    def _turn_tokens(self, request: ChatRequest) -> TurnTokens:
        prompt = self._render(request, self._planned)
        answer, extends = self._answer(request, prompt.tokens)
        return TurnTokens(prompt.tokens, answer, extends, prompt.shielded)

    def _loaded(self) -> Decoder:
        if self._decoder is None:
            raise EngineError("This engine was opened for its tokenizer only, or closed, and cannot answer.")
        return self._decoder

    def generate_many(
        self, requests: Sequence[ChatRequest], at_once: int, share_prefix: bool
    ) -> Iterator[tuple[int, TimedResponse]]:
        decoder = self._loaded()
        prompts = [self.prompt(request) for request in requests]
        for prompt, request in zip(prompts, requests, strict=True):
            self._check_room(decoder, prompt.tokens, request.max_tokens)
        if not requests:
            return
        batch = BatchDecoder(
            self._model.handle,
            self._settings,
            self._threads,
            self._vocabulary.size,
            self._stop,
            [Question(p.tokens, r.max_tokens) for p, r in zip(prompts, requests, strict=True)],
            at_once=min(at_once, len(requests)),
            share=share_prefix,
        )
        try:
            for place, said in batch.answers(self._vocabulary.is_end):
                yield place, self._said(prompts[place], said)
        finally:
            batch.close()

    def _said(self, prompt: Prompt, said: Said) -> TimedResponse:
        ended = self._vocabulary.is_end(said.tokens[-1])
        return TimedResponse(
            text=self._vocabulary.text(said.tokens[:-1] if ended else said.tokens),
            finish_reason="stop" if ended else "length",
            input_tokens=len(prompt.tokens),
            held_tokens=said.reused,
            reused_tokens=said.reused,
            evaluated_tokens=len(prompt.tokens) - said.reused,
            output_tokens=len(said.tokens),
            submitted_ns=said.submitted_ns,
            rendered_ns=said.submitted_ns,
            first_token_ns=said.token_ns[0],
            token_ns=tuple(said.token_ns),
            completed_ns=said.token_ns[-1],
            token_ids=tuple(said.tokens),
            shielded=prompt.shielded,
        )

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        decoder = self._loaded()
        # The recording's tokens are no work of a live agent, so they are made before the clock starts.
        taken_up = perf_counter_ns()
        answer = self._recorded(request) if request.forced else None
        submitted = perf_counter_ns()
        inside = decoder.inside_ns
        prompt = self._render(request, self._asked)
        rendered = perf_counter_ns()
        self._check_room(decoder, prompt.tokens, len(answer) if answer else request.max_tokens)
        held = reusable(prompt.tokens, decoder.cached)
        if self._canonical:
            held, keep = _whole_chunks(held), _whole_chunks(min(keep, len(prompt.tokens)))
        reused = decoder.rewind(held)
        try:
            if self._speculation:
                self._speculation.follow(prompt.tokens)
            decoder.prefill(prompt.tokens, reused, keep)
            fingerprint = sha256(decoder.logits().data) if request.fingerprint else None
            decoded = self._decode(decoder, request, len(prompt.tokens), answer, keep)
            if fingerprint:
                drafts = decoded.drafts
                last = (
                    decoder.logits() if drafts is None or drafts.last_logits is None else drafts.last_logits
                )
                fingerprint.update(last.data)
        except BaseException:
            decoder.forget()
            raise
        # An answer's tokens were evaluated one by one, never in chunks.
        decoder.cached = prompt.tokens + answer[:-1] if answer and not self._canonical else prompt.tokens
        ended = self._vocabulary.is_end(decoded.tokens[-1])
        return TimedResponse(
            text=None if answer else self._vocabulary.text(decoded.tokens[:-1] if ended else decoded.tokens),
            finish_reason="forced" if answer else "stop" if ended else "length",
            input_tokens=len(prompt.tokens),
            held_tokens=held,
            reused_tokens=reused,
            evaluated_tokens=len(prompt.tokens) - reused,
            output_tokens=len(decoded.tokens),
            submitted_ns=submitted,
            rendered_ns=rendered,
            first_token_ns=decoded.token_ns[0],
            token_ns=tuple(decoded.token_ns),
            completed_ns=decoded.drafts.ready_ns if decoded.drafts else decoded.token_ns[-1],
            agreed_tokens=decoded.agreed if answer else None,
            token_ids=tuple(decoded.tokens),
            shielded=prompt.shielded,
            library_prefill_ns=decoded.inside_ns[0] - inside,
            library_decode_ns=decoded.inside_ns[-1] - decoded.inside_ns[0],
            prepare_ns=submitted - taken_up,
            logits_sha256=fingerprint.hexdigest() if fingerprint else None,
            **self._draft_readings(request, decoded, "stop" if answer or ended else "length"),
        )

    def _draft_readings(self, request: ChatRequest, decoded: Decoded, finish: str) -> dict[str, Any]:
        """Return what drafts did for an answer, as TimedResponse's fields; nothing without speculation."""
        drafts = decoded.drafts
        if drafts is None:
            return {}
        pieces = [self._vocabulary.piece(token) for token in decoded.tokens]
        text = b"".join(pieces).decode(errors="replace")
        syntax, prefix = self._info.syntax, self._info.prefix
        parts = parts_of(text, request.tools, syntax=syntax, prefix=prefix, finish=finish)
        return {
            "passes": drafts.passes,
            "drafted_tokens": drafts.drafted,
            "accepted_tokens": sum(drafts.accepted),
            "repeated_tokens": drafts.repeated,
            **count_parts(parts_of_tokens(pieces, parts), drafts.accepted),
        }

    def _recorded(self, request: ChatRequest) -> "array[int]":
        answer, _ = self._answer(request, self._render(request, self._planned).tokens)
        if answer is None:
            raise InputError(
                "A turn has no recorded answer, or one that renders to nothing with this template; replay with "
                "--decode natural."
            )
        return answer

    def _decode(
        self,
        decoder: Decoder,
        request: ChatRequest,
        start: int,
        answer: "array[int] | None",
        keep: int,
    ) -> Decoded:
        if self._speculation:
            return self._speculation.decode(
                Answer(
                    start=start,
                    limit=len(answer) if answer else request.max_tokens,
                    recorded=answer,
                    is_end=self._vocabulary.is_end,
                    mark=keep if answer else 0,
                    keeps_logits=request.fingerprint,
                )
            )
        if answer:
            return decoder.follow(start, answer, keep)
        return decoder.speak(start, request.max_tokens, self._vocabulary.is_end)

    def prompt(self, request: ChatRequest) -> Prompt:
        """Return the prompt that a request makes."""
        return self._render(request, self._planned)

    def prompt_tokens(self, request: ChatRequest) -> tuple[int, ...]:
        """Return the token ids of that prompt."""
        return tuple(self.prompt(request).tokens)

    def text_of(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens, control tokens included."""
        return self._vocabulary.text(tokens)

    def control_texts(self) -> tuple[str, ...]:
        """Return the texts of the control tokens, which a server leaves out of what it says."""
        return tuple(special.text for special in self._vocabulary.specials if special.control)

    def logits_after(self, tokens: Iterable[int]) -> Logits:
        """Evaluate tokens from an empty cache in canonical chunks; return a copy of the logits of what follows them,
        shape (n_vocab,). The cache is empty afterwards."""
        decoder = self._loaded()
        decoder.forget()
        decoder.prefill(array("i", tokens), 0, 0)
        logits: Logits = decoder.logits().copy()
        decoder.forget()
        return logits

    def _check_room(self, decoder: Decoder, prompt: "array[int]", answer_tokens: int) -> None:
        if answer_tokens < 1:
            raise InputError(f"--max-tokens {answer_tokens}: expected at least 1.")
        if len(prompt) + answer_tokens > decoder.n_ctx:
            raise ContextOverflowError(
                f"A prompt of {len(prompt)} tokens and an answer of up to {answer_tokens} do not fit the context of "
                f"{decoder.n_ctx}. Raise --ctx to at least {len(prompt) + answer_tokens}, or lower --max-tokens."
            )

    def forget(self) -> None:
        self._asked.forget()
        if self._decoder:
            self._decoder.forget()

    def cancel(self) -> None:
        self._stop[0] = 1

    def close(self) -> None:
        if self._decoder:
            self._decoder.close()
            self._decoder = None
        if self._open:
            api.llama_model_free(self._model.handle)
            self._open = False
