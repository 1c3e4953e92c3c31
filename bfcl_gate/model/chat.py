"""What is said to a model: OpenAI-shaped messages and tools, and one request made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]
"""One OpenAI chat message: role, content, tool_calls, tool_call_id, reasoning_content, name."""

Tool = Mapping[str, Any]
"""One OpenAI tool: {"type": "function", "function": {name, description, parameters}}."""

GIVEN_UP = ("abort", "cancelled", "error")
"""The `finish_reason` of an answer that a server ended itself, in a stream that is whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One turn as it is put to an engine.

    `recorded` is the answer of the recording where there is one; with `forced` it is decoded token by
    token instead of the model's own answer. `fingerprint` asks a local engine for `logits_sha256`.
    `tool_choice` and `session` matter to endpoints only.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 1024
    recorded: Message | None = None
    forced: bool = False
    fingerprint: bool = False
    tool_choice: str | None = None
    session: str | None = None


def answer_message(text: str, calls: Sequence[Mapping[str, Any]]) -> Message:
    """Return an OpenAI assistant message; `calls` are {"name", "arguments"} with arguments as text."""
    tool_calls = [
        {"id": f"call_{i}", "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
        for i, c in enumerate(calls)
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": tool_calls or None}
