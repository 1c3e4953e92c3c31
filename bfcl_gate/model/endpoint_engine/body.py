"""The request body, equal to the MLPerf reference's, and how long an answer to it may take.

Source: mlcommons/endpoints at ea332753, Edge-Agentic example: `max_completion_tokens` and no `max_tokens`, no
`stream_options`, `tool_choice` in the gate only.
"""

import json
from collections.abc import Mapping
from typing import Any

from bfcl_gate.http import Limits
from bfcl_gate.model.chat import ChatRequest

BYTES_PER_TOKEN = 3  # a prompt has hardly more tokens than this makes of its JSON text
SLOWEST_PREFILL_TOKENS_PER_S = 10
SLACK = 8
"""Prefill slows with depth (a token at 30,000 costs several times one at 500), and a device may get hot."""
SLOWEST_DECODE_TOKENS_PER_S = 0.5
LEAST_S = 60.0
STALL_S = 300.0
LONGEST_S = 1_000_000.0
"""The system's own limit for a wait on a socket is little above it."""
"""A server that collects a tool call before it sends any of it is silent for the whole call: 1,024 tokens at
4 tokens a second."""


def request_body(request: ChatRequest, model: str, seed: int, additions: Mapping[str, Any]) -> bytes:
    """Return the JSON text of a request in UTF-8; `additions` are fields beyond the reference's, or other values."""
    body: dict[str, Any] = {
        "model": model,
        "messages": request.messages,
        "temperature": 0.0,
        "max_completion_tokens": request.max_tokens,
        "stream": True,
        "seed": seed,
    }
    if request.tools:
        body["tools"] = request.tools
        if request.tool_choice is not None:
            body["tool_choice"] = request.tool_choice
    body.update(additions)
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8; as an escape it has a JSON text
        return json.dumps(body, separators=(",", ":")).encode()


def limits_of(
    body: bytes, max_tokens: int, timeout_s: float | None, prefill_tokens_per_s: float | None = None
) -> Limits:
    """Return how long an answer may take: generous for a slow device that has to evaluate the whole prompt.

    `prefill_tokens_per_s` is the slowest rate that this server was measured at, None before it was; an answer may take
    SLACK times as long. `timeout_s` is the user's limit for the whole answer.
    """
    if timeout_s is not None:
        return Limits(first_s=timeout_s, stall_s=min(STALL_S, timeout_s), total_s=timeout_s)
    rate = SLOWEST_PREFILL_TOKENS_PER_S if prefill_tokens_per_s is None else prefill_tokens_per_s / SLACK
    first_s = min(LONGEST_S, LEAST_S + len(body) / BYTES_PER_TOKEN / rate)
    decode_s = max(LEAST_S, max_tokens / SLOWEST_DECODE_TOKENS_PER_S)
    return Limits(first_s=first_s, stall_s=STALL_S, total_s=min(LONGEST_S, first_s + decode_s))
