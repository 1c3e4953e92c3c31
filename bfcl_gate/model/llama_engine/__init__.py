"""The local engine: llama.cpp through the low-level bindings. The only package that imports llama_cpp.

Runs inside a child process (`bfcl_gate.model.child_engine`); import it from there.
"""

import hashlib
import os
import re
from array import array
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from llama_cpp import llama_cpp as api

from bfcl_gate.errors import ContextOverflowError, EngineError, InputError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineInfo, EngineSettings, PlannedTurn, TimedResponse
from bfcl_gate.model.llama_engine import binding
from bfcl_gate.model.llama_engine.decoder import KV_TYPES, N_BATCH, Cancelled, Decoder, StopFlag
from bfcl_gate.model.llama_engine.vocabulary import Vocabulary
from bfcl_gate.model.prefix import common_prefix, plan_trajectory, reusable
from bfcl_gate.model.template import ChatTemplate
from bfcl_gate.model.toolcalls import syntax_of_template

LOAD_MODE = "none"
"""Weights are read, not memory-mapped: on unified memory a mapping would leave a second copy in the page cache."""


def usable_threads() -> int:
    """Return how many CPUs this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LlamaEngine:
    """One loaded model with one context; answers one request at a time.

    `stop` is two shared bytes, flag and zero; whoever sets the flag clears it. Raises InputError for what is no usable model, EngineError
    when llama.cpp refuses to load it.
    """

    def __init__(self, settings: EngineSettings, stop: StopFlag) -> None:
        self._settings = settings
        self._stop = stop
        self._threads = settings.threads or usable_threads()
        self._model = self._load()
        self._vocabulary = Vocabulary(self._model)
        self._template = self._compile()
        self._decoder: Decoder | None = None
        if not settings.vocab_only:
            self._decoder = Decoder(self._model, settings, self._threads, self._vocabulary.size, stop)
        self._info = self._describe()

    def _load(self) -> Any:
        if self._settings.kv_type not in KV_TYPES:
            raise InputError(f"--kv-type {self._settings.kv_type}: expected one of {', '.join(KV_TYPES)}.")
        api.llama_backend_init()
        begin = perf_counter_ns()
        parameters = binding.with_fields(
            api.llama_model_default_params(),
            n_gpu_layers=self._settings.gpu_layers,
            load_mode=api.LLAMA_LOAD_MODE_NONE,
            vocab_only=self._settings.vocab_only,
        )
        model = api.llama_model_load_from_file(os.fsencode(self._settings.model_path), parameters)
        if not model:
            raise EngineError(
                f"{self._settings.model_path}: llama.cpp could not load this model ({binding.log_tail()}). "
                f"The engine is {binding.build()}; a newer architecture needs a newer engine."
            )
        self._load_ns = perf_counter_ns() - begin
        return model

    def _compile(self) -> ChatTemplate:
        source = self._settings.chat_template
        if source is None:
            raw = api.llama_model_chat_template(self._model, None)
            source = raw.decode(errors="replace") if raw else None
        if source is None:
            raise InputError(
                f"{self._settings.model_path}: this model holds no chat template, so it cannot be asked as an "
                "agent would. Use an instruction-tuned model or give a template with --chat-template FILE."
            )
        vocabulary = self._vocabulary
        return ChatTemplate(
            source,
            bos=vocabulary.bos_text,
            eos=vocabulary.eos_text,
            arguments=dict(self._settings.template_args),
        )

    def _describe(self) -> EngineInfo:
        settings, decoder = self._settings, self._decoder
        trained = api.llama_model_n_ctx_train(self._model)
        offloaded = re.search(r"offloaded (\d+)/(\d+) layers", "".join(binding.LOG))
        identity = {
            "model_sha256": settings.model_sha256,
            "template_sha256": hashlib.sha256(self._template.source.encode()).hexdigest(),
            "template_args": dict(settings.template_args),
            "kv_type": settings.kv_type,
            "flash_attn": settings.flash_attn,
            "n_batch": N_BATCH,
            "n_ubatch": N_BATCH,
            "threads": self._threads,
            "gpu_layers": settings.gpu_layers,
            "load_mode": LOAD_MODE,
            "speculative": settings.speculative,
            "build": binding.build(),
            "beyond_trained_context": bool(settings.ctx > trained),
        }
        details = {
            "system_info": binding.system_info(),
            "devices": list(binding.devices()),
            "layers": api.llama_model_n_layer(self._model),
            "offloaded_layers": int(offloaded[1]) if offloaded else 0,
            "supports_gpu_offload": bool(api.llama_supports_gpu_offload()),
            "trained_context": trained,
            "parameters": api.llama_model_n_params(self._model),
            "weights_bytes": api.llama_model_size(self._model),
            "recurrent": bool(api.llama_model_is_recurrent(self._model)),
            "hybrid": bool(api.llama_model_is_hybrid(self._model)),
            "sliding_window_tokens": api.llama_model_n_swa(self._model),
            "load_ns": self._load_ns,
        }
        return EngineInfo(
            kind="local",
            identity=identity,
            details=details,
            ctx=decoder.n_ctx if decoder else None,
            syntax=syntax_of_template(self._template.source),
            prefix=self._template.generation_prefix(),
        )

    def info(self) -> EngineInfo:
        return self._info

    def _prompt(self, request: ChatRequest) -> "array[int]":
        return self._vocabulary.prompt(self._template, request.messages, request.tools, generation_prompt=True)

    def _answer(self, request: ChatRequest, prompt: "array[int]") -> tuple["array[int] | None", bool | None]:
        """Return the recorded answer's tokens and whether its render extends the prompt.

        The answer is what follows the prompt (else the common prefix) in the render of history and answer,
        up to and including its first end-of-generation token.
        """
        if request.recorded is None:
            return None, None
        whole = self._vocabulary.prompt(
            self._template, (*request.messages, request.recorded), request.tools, generation_prompt=False
        )
        start = common_prefix(prompt, whole)
        end = next((i for i in range(start, len(whole)) if self._vocabulary.is_end(whole[i])), len(whole) - 1)
        answer = whole[start : end + 1]
        return (answer or None), start == len(prompt)

    def plan(self, requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...]:
        prompts = [self._prompt(request) for request in requests]
        answers = [self._answer(r, p) for r, p in zip(requests, prompts, strict=True)]
        forced = bool(requests) and requests[0].forced
        return plan_trajectory(prompts, [a for a, _ in answers], [e for _, e in answers], forced)

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        decoder = self._decoder
        if decoder is None:
            raise EngineError("This engine was opened for its tokenizer only and cannot answer.")
        answer = None
        if request.forced:
            # The recording's tokens are no work of a live agent, so they are made before the clock starts.
            answer, _ = self._answer(request, self._prompt(request))
            if answer is None:
                raise InputError("A recorded answer renders to nothing with this template; replay with --decode natural.")
        submitted = perf_counter_ns()
        prompt = self._prompt(request)
        rendered = perf_counter_ns()
        self._check_room(prompt, len(answer) if answer else request.max_tokens)
        reused = decoder.rewind(reusable(prompt, decoder.cached))
        try:
            decoder.prefill(prompt, reused)
            decoded = (
                decoder.follow(len(prompt), answer)
                if answer
                else decoder.speak(len(prompt), request.max_tokens, self._vocabulary.is_end)
            )
        except (Cancelled, EngineError):
            decoder.rewind(0)
            raise
        completed = decoded.token_ns[-1]
        decoder.cached = prompt + answer[:-1] if answer else prompt
        return self._response(request, prompt, reused, decoded, submitted, rendered, completed)

    def _check_room(self, prompt: "array[int]", answer_tokens: int) -> None:
        decoder = self._decoder
        if decoder and len(prompt) + answer_tokens > decoder.n_ctx:
            raise ContextOverflowError(
                f"A prompt of {len(prompt)} tokens and an answer of up to {answer_tokens} do not fit the context of "
                f"{decoder.n_ctx}. Raise --ctx to at least {len(prompt) + answer_tokens}, or lower --max-tokens."
            )

    def _response(
        self, request: ChatRequest, prompt: Any, reused: int, decoded: Any, submitted: int, rendered: int, completed: int
    ) -> TimedResponse:
        tokens = decoded.tokens
        ended = self._vocabulary.is_end(tokens[-1])
        return TimedResponse(
            text=None if request.forced else self._vocabulary.text(tokens[:-1] if ended else tokens),
            finish_reason="forced" if request.forced else "stop" if ended else "length",
            input_tokens=len(prompt),
            reused_tokens=reused,
            evaluated_tokens=len(prompt) - reused,
            output_tokens=len(tokens),
            submitted_ns=submitted,
            rendered_ns=rendered,
            first_token_ns=decoded.token_ns[0],
            token_ns=tuple(decoded.token_ns),
            completed_ns=completed,
            agreed_tokens=decoded.agreed if request.forced else None,
            token_ids=tuple(tokens),
        )

    def forget(self) -> None:
        if self._decoder:
            self._decoder.rewind(0)

    def cancel(self) -> None:
        self._stop[0] = 1

    def close(self) -> None:
        if self._decoder:
            self._decoder.close()
            self._decoder = None
        if self._model:
            api.llama_model_free(self._model)
            self._model = None
