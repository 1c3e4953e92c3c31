"""What a stream of chat completion chunks says, and when its tokens arrived.

What counts as the arrival of a token: a piece of text, of reasoning or of a tool call; the chunk with the finish
reason, which comes with the end-of-generation token; and at llama.cpp's server the chunk that only names the role,
which it sends with the first token (others send it before any). Comments, progress and usage are no tokens.
"""

import json
from collections.abc import Mapping
from typing import Any

from bfcl_gate.model.endpoint_engine.counts import Counts, counts_of
from bfcl_gate.model.endpoint_engine.faults import Discretion, FaultError, fault_of_error
from bfcl_gate.model.engine import TimedResponse

ARRIVALS_PER_TOKEN = (
    16  # a token can be told in a few chunks (name and arguments of a call), never in so many
)
_MORE_ARRIVALS = 1_000


class Answer:
    """One answer while it arrives. Instants are ns of the performance counter, None where nothing came yet.

    `first_piece_ns` is the first text, reasoning or part of a tool call (MLPerf's first chunk), `first_text_ns` the
    first visible text, `first_call_ns` the first part of a tool call's arguments. `stated` is what the chunks name
    as model and as build.
    """

    def __init__(self, *, max_tokens: int, role_is_token: bool, discretion: Discretion) -> None:
        self._most_arrivals = ARRIVALS_PER_TOKEN * max_tokens + _MORE_ARRIVALS
        self._role_is_token = role_is_token
        self._discretion = discretion
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._usage: Any = None
        self._timings: Any = None
        self.token_ns: list[int] = []
        self.first_piece_ns: int | None = None
        self.first_text_ns: int | None = None
        self.first_call_ns: int | None = None
        self.finish_reason: str | None = None
        self.stated: dict[str, str] = {}

    def take(self, data: str, at_ns: int) -> bool:
        """Add the chunk that arrived at `at_ns`; return whether it brought a token. Raises FaultError."""
        chunk = _chunk(data)
        if chunk.get("error"):
            raise fault_of_error(chunk["error"], self._discretion)
        for key in ("model", "system_fingerprint"):
            if isinstance(chunk.get(key), str):
                self.stated.setdefault(key, chunk[key])
        self._usage = chunk.get("usage") or self._usage
        self._timings = chunk.get("timings") or self._timings
        choice = _first_choice(chunk)
        if choice is None or "prompt_progress" in chunk:
            return False
        brought = self._add(_mapping(choice.get("delta"), "delta"), at_ns)
        if (reason := _text(choice.get("finish_reason"), "finish_reason")) and self.finish_reason is None:
            self.finish_reason = reason
            brought = True
        if brought:
            self.token_ns.append(at_ns)
            if len(self.token_ns) > self._most_arrivals:
                raise FaultError("over_limit", "the server goes on long after the asked number of tokens")
        return brought

    def _add(self, delta: Mapping[str, Any], at_ns: int) -> bool:
        text = _text(delta.get("content"), "content")
        thought = _text(delta.get("reasoning_content"), "reasoning_content") or _text(
            delta.get("reasoning"), "reasoning"
        )
        called = self._add_calls(delta.get("tool_calls"), at_ns)
        if text:
            self._text.append(text)
            self.first_text_ns = self.first_text_ns or at_ns
        if thought:
            self._reasoning.append(thought)
        if text or thought or called:
            self.first_piece_ns = self.first_piece_ns or at_ns
            return True
        return self._role_is_token and bool(delta.get("role")) and not self.token_ns

    def _add_calls(self, parts: Any, at_ns: int) -> bool:
        """Merge parts of tool calls by index: the last name stays, arguments are put together (as the reference)."""
        if parts is not None and not isinstance(parts, list):
            raise FaultError("bad_chunk", "tool_calls of a chunk are no list")
        brought = False
        for part in [_mapping(item, "tool_calls") for item in parts or ()]:
            index = 0 if part.get("index") is None else part["index"]
            if type(index) is not int:
                raise FaultError("bad_chunk", "index of a tool call is no whole number")
            function = _mapping(part.get("function"), "function")
            call = self._calls.setdefault(index, {"type": "function", "function": {"arguments": []}})
            for key in ("id", "type"):
                call[key] = _text(part.get(key), key) or call.get(key)
            if name := _text(function.get("name"), "name"):
                call["function"]["name"] = name
            if arguments := _text(function.get("arguments"), "arguments"):
                call["function"]["arguments"].append(arguments)
                self.first_call_ns = self.first_call_ns or at_ns
            brought = brought or bool(name or arguments)
        return brought

    @property
    def text(self) -> str | None:
        """The visible text; None where the answer is tool calls alone."""
        return "".join(self._text) or (None if self._calls else "")

    @property
    def reasoning(self) -> str | None:
        return "".join(self._reasoning) or None

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...] | None:
        """The calls the server parsed, as OpenAI messages hold them, in the order of their index."""
        return tuple(_whole(self._calls[index]) for index in sorted(self._calls)) or None

    def counts(self) -> Counts:
        """Return the token counts as the server stated them."""
        return counts_of(self._usage, self._timings)

    def response(
        self, submitted_ns: int, completed_ns: int, error: str | None, request_bytes: int
    ) -> TimedResponse:
        """Return the answer, whole or as far as it came, with its readings."""
        counts = self.counts()
        return TimedResponse(
            text=self.text,
            finish_reason=self.finish_reason,
            error=error,
            tool_calls=self.tool_calls,
            reasoning=self.reasoning,
            input_tokens=counts.input_tokens,
            reused_tokens=counts.reused_tokens,
            evaluated_tokens=counts.evaluated_tokens,
            output_tokens=counts.output_tokens,
            submitted_ns=submitted_ns,
            first_token_ns=self.token_ns[0] if self.token_ns else None,
            token_ns=tuple(self.token_ns),
            completed_ns=completed_ns,
            request_bytes=request_bytes,
            first_piece_ns=self.first_piece_ns,
            first_text_ns=self.first_text_ns,
            first_call_ns=self.first_call_ns,
            server_prefill_ns=counts.prefill_ns,
            server_decode_ns=counts.decode_ns,
            drafted_tokens=counts.drafted_tokens,
            accepted_tokens=counts.accepted_tokens,
        )


def _chunk(data: str) -> Mapping[str, Any]:
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        raise FaultError("bad_json", "an event of the stream is not JSON") from None
    if not isinstance(chunk, Mapping):
        raise FaultError("bad_json", "an event of the stream is no JSON object")
    return chunk


def _first_choice(chunk: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the first choice (only one was asked for); None in chunks of usage or of nothing."""
    choices = chunk.get("choices")
    if choices is None or choices == []:
        return None
    if not isinstance(choices, list):
        raise FaultError("bad_chunk", "choices of a chunk are no list")
    choice = _mapping(choices[0], "choices")
    if "message" in choice and "delta" not in choice:
        raise FaultError("not_a_stream", "the server sent the whole answer in one event")
    return choice


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FaultError("bad_chunk", f"{name} of a chunk is no JSON object")
    return value


def _text(value: Any, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FaultError("bad_chunk", f"{name} of a chunk is no text")
    return value


def _whole(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {**call["function"], "arguments": "".join(call["function"]["arguments"])}
    return {**{key: call[key] for key in ("id", "type") if call.get(key)}, "function": function}
