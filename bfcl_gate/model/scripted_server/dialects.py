"""The chunks of one answer as two kinds of servers send them.

`llama.cpp`: nothing before the first token, then the role together with it; `timings` on the last chunk; `usage` only
when asked for. `openai` (vLLM, SGLang and others): the role at once, before any token; counts only in `usage`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DIALECTS = ("llama.cpp", "openai")
BUILD = "b0-scripted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer to give; `calls` are (name, arguments as JSON text). Tokens are words and bits of calls."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the server counted of a prompt, in tokens of four characters."""

    tokens: int
    reused_tokens: int


Piece = Mapping[str, Any]
"""The delta of one token."""

Step = tuple[bool, Sequence[Mapping[str, Any]]]
"""Whether a token has to be waited for, and the chunks that are then sent together."""


def pieces_of(said: Said, *, whole_calls: bool = False) -> list[Piece]:
    """Cut an answer into the deltas of its tokens; `whole_calls` sends a call in one piece, as some parsers do."""
    pieces: list[Piece] = [{"reasoning_content": word} for word in _words(said.reasoning)]
    pieces += [{"content": word} for word in _words(said.text)]
    for index, (name, arguments) in enumerate(said.calls):
        call = {"index": index, "id": f"call_{index}", "type": "function"}
        first = arguments if whole_calls else ""
        pieces.append({"tool_calls": [{**call, "function": {"name": name, "arguments": first}}]})
        if not whole_calls:
            pieces += [
                {"tool_calls": [{"index": index, "function": {"arguments": bit}}]}
                for bit in re.findall(r".{1,8}", arguments, re.DOTALL)
            ]
    return pieces


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def steps_of(
    said: Said, body: Mapping[str, Any], prompt: Prompt, dialect: str, *, whole_calls: bool = False
) -> Iterator[Step]:
    """Yield an answer's chunks in the order and grouping of the dialect, cut at the request's token limit."""
    pieces, finish, output_tokens = _cut(pieces_of(said, whole_calls=whole_calls), said, body)
    cut = finish == "length"
    role = {"role": "assistant", "content": None}
    if dialect == "openai":
        yield False, [chunk(body, delta=role)]
    for number, piece in enumerate(pieces):
        first = [role] if dialect == "llama.cpp" and number == 0 else []
        yield True, [chunk(body, delta=delta) for delta in (*first, piece)]
    last = [chunk(body, delta={}, finish=finish)]
    if dialect == "llama.cpp":
        last[0]["timings"] = timings(prompt, output_tokens)
    elif (body.get("stream_options") or {}).get("include_usage"):
        last.append({**chunk(body), "usage": usage(prompt, output_tokens)})
    yield not cut, last


def _cut(pieces: list[Piece], said: Said, body: Mapping[str, Any]) -> tuple[list[Piece], str, int]:
    """Return the pieces within the request's token limit, why the answer ends, and its tokens."""
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or 128
    if len(pieces) >= limit:
        return pieces[:limit], "length", limit
    return pieces, "tool_calls" if said.calls else "stop", len(pieces) + 1


def document_of(said: Said, body: Mapping[str, Any], prompt: Prompt) -> dict[str, Any]:
    """Return an answer in one piece, as a request that does not ask for a stream gets it."""
    pieces, finish, output_tokens = _cut(pieces_of(said, whole_calls=True), said, body)
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for piece in pieces:
        for key, value in piece.items():
            message[key] = (message.get(key) or value[:0]) + value
    return {
        **chunk(body),
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage(prompt, output_tokens),
    }


def chunk(
    body: Mapping[str, Any], *, delta: Mapping[str, Any] | None = None, finish: str | None = None
) -> dict[str, Any]:
    """Return one chunk; without a delta it has no choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": body.get("model"),
        "system_fingerprint": BUILD,
        "choices": [] if delta is None else [choice],
    }


def timings(prompt: Prompt, output_tokens: int) -> dict[str, Any]:
    """Return llama.cpp's timings: 1 ms a prompt token, 10 ms a decoded one."""
    evaluated = prompt.tokens - prompt.reused_tokens
    return {
        "cache_n": prompt.reused_tokens,
        "prompt_n": evaluated,
        "prompt_ms": float(evaluated),
        "predicted_n": output_tokens,
        "predicted_ms": 10.0 * output_tokens,
    }


def usage(prompt: Prompt, output_tokens: int) -> dict[str, Any]:
    """Return OpenAI's usage."""
    return {
        "prompt_tokens": prompt.tokens,
        "completion_tokens": output_tokens,
        "total_tokens": prompt.tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": prompt.reused_tokens},
    }
