"""An engine of canned answers on a fake clock: tests, demonstrations and dry runs, no model needed.

Tokens are words. A word of prompt costs 1 ms, a decoded word 10 ms, rendering 2 ms, so every reading can
be checked by eye.
"""

import json
import re
from array import array
from collections.abc import Callable, Iterator, Sequence

from bfcl_gate.errors import ContextOverflowError, EngineError, InputError
from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import EngineInfo, PlannedTurn, TimedResponse
from bfcl_gate.model.prefix import TurnTokens, common_prefix, plan_trajectory, reusable

RENDER_NS = 2_000_000
PREFILL_NS = 1_000_000
DECODE_NS = 10_000_000
END = "<end>"

Answer = str | TimedResponse | EngineError
"""What is answered: a text, a whole response, or an error to raise."""


class ScriptedEngine:
    """Answers from `script`, called with each request; counts and times like an engine with a cache.

    `calls` lists the requests answered, in order.
    """

    def __init__(
        self,
        script: Callable[[ChatRequest], Answer],
        *,
        ctx: int = 4096,
        identity: dict[str, object] | None = None,
        syntax: str = "hermes",
        start_ns: int = 0,
    ) -> None:
        self._script = script
        self._ctx = ctx
        self._info = EngineInfo(
            kind="scripted",
            identity={"model_sha256": "0" * 64, "build": "scripted", **(identity or {})},
            ctx=ctx,
            syntax=syntax,
        )
        self._words: dict[str, int] = {}
        self._cached: array[int] = array("i")
        self._now = start_ns
        self.calls: list[ChatRequest] = []

    def info(self) -> EngineInfo:
        return self._info

    def _tokens(self, text: str) -> "array[int]":
        return array("i", (self._words.setdefault(w, len(self._words)) for w in re.findall(r"\S+", text)))

    def _text(self, tokens: "array[int]") -> str:
        words = list(self._words)  # numbered in the order they were met
        return " ".join(words[token] for token in tokens)

    def _render(self, messages: Sequence[Message], tools: Sequence[object]) -> "array[int]":
        return self._tokens(" ".join([json.dumps(tools), *(_spoken(m) for m in messages)]))

    def _prompt(self, request: ChatRequest) -> "array[int]":
        return self._render(request.messages, request.tools) + self._tokens("assistant:")

    def _answer(self, request: ChatRequest) -> "array[int] | None":
        if request.recorded is None:
            return None
        whole = self._render((*request.messages, request.recorded), request.tools)
        return whole[common_prefix(whole, self._prompt(request)) :]

    def plan(self, requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...]:
        answers = [self._answer(request) for request in requests]
        turns = [
            TurnTokens(self._prompt(request), answer, None if answer is None else True)
            for request, answer in zip(requests, answers, strict=True)
        ]
        return plan_trajectory(turns, forced=bool(requests) and requests[0].forced, text_of=self._text)

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        self.calls.append(request)
        answer = self._answer(request) if request.forced else None
        if request.forced and answer is None:
            raise InputError("A forced turn needs a recorded answer.")
        said = "" if request.forced else self._script(request)
        if isinstance(said, EngineError):
            raise said
        if isinstance(said, TimedResponse):
            return said
        tokens = self._tokens(f"{said} {END}") if answer is None else answer
        return self._timed(request, said, tokens)

    def generate_many(
        self, requests: Sequence[ChatRequest], at_once: int, share_prefix: bool
    ) -> Iterator[tuple[int, TimedResponse]]:
        """Answer one request after the other, and of `at_once` answers give the shortest first."""
        under_way: list[tuple[int, TimedResponse]] = []
        for place, request in enumerate(requests):
            if not share_prefix:
                self.forget()
            under_way.append((place, self.generate(request)))
            if len(under_way) == at_once:
                yield _shortest(under_way)
        while under_way:
            yield _shortest(under_way)

    def _timed(self, request: ChatRequest, said: str, tokens: "array[int]") -> TimedResponse:
        prompt = self._prompt(request)
        limit = len(tokens) if request.forced else request.max_tokens
        if len(prompt) + min(limit, len(tokens)) > self._ctx:
            raise ContextOverflowError(
                f"A prompt of {len(prompt)} tokens does not fit the context of {self._ctx}."
            )
        reused = reusable(prompt, self._cached)
        submitted = self._now
        rendered = submitted + RENDER_NS
        first = rendered + PREFILL_NS * (len(prompt) - reused)
        count = min(limit, len(tokens))
        stamps = tuple(first + DECODE_NS * i for i in range(count))
        self._now = stamps[-1]
        self._cached = prompt + tokens[:-1] if request.forced else prompt
        return TimedResponse(
            text=None if request.forced else " ".join(said.split()[:count]) if count < len(tokens) else said,
            finish_reason="forced" if request.forced else "stop" if count == len(tokens) else "length",
            input_tokens=len(prompt),
            held_tokens=reused,
            reused_tokens=reused,
            evaluated_tokens=len(prompt) - reused,
            output_tokens=count,
            submitted_ns=submitted,
            rendered_ns=rendered,
            first_token_ns=first,
            token_ns=stamps,
            completed_ns=stamps[-1],
            agreed_tokens=count if request.forced else None,
            token_ids=tuple(tokens[:count]),
        )

    def forget(self) -> None:
        self._cached = array("i")

    def cancel(self) -> None:
        """Nothing runs between calls, so there is nothing to stop."""

    def close(self) -> None:
        self.forget()


def _shortest(under_way: list[tuple[int, TimedResponse]]) -> tuple[int, TimedResponse]:
    return under_way.pop(min(range(len(under_way)), key=lambda place: under_way[place][1].output_tokens or 0))


def _spoken(message: Message) -> str:
    """Return a message as words: `role: content calls <end>`."""
    calls = " ".join(json.dumps(c["function"]) for c in message.get("tool_calls") or ())
    return f"{message['role']}: {message.get('content') or ''} {calls} {END}"
