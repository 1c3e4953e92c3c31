"""OpenAI chat messages to items; many agents store their history in this shape."""

from collections.abc import Mapping, Sequence
from typing import Any

from edge_agentic.importers.content import flatten, tokens
from edge_agentic.importers.normal import Item, Notes, Reply, ToolCall, ToolResult, UserText
from edge_agentic.importers.values import name, obj, objects, text


def read_messages(messages: Any, notes: Notes) -> tuple[str | None, list[Item]]:
    """Return the system prompt (the first, or a developer message that leads) and the items after it.

    A later system or developer message stands where the model saw it, as text.
    """
    system: str | None = None
    items: list[Item] = []
    for message in objects(messages):
        role = text(message.get("role"))
        if role in ("system", "developer") and system is None and not items:
            system = flatten(message.get("content"), notes)
        else:
            items += read_message(message, notes)
    return system, items


def read_message(message: Mapping[str, Any], notes: Notes) -> Sequence[Item]:
    """Return what one message is: usually one item, none for a role that is not part of a chat."""
    role = text(message.get("role"))
    content = flatten(message.get("content"), notes)
    if role in ("user", "human"):
        return [UserText(text=content)]
    if role in ("system", "developer"):
        return [UserText(text=content, kind=role)]
    if role in ("tool", "function"):
        return [ToolResult(call_id=name(message.get("tool_call_id")), text=content)]
    if role in ("assistant", "model"):
        return [read_reply(message, notes)]
    notes.skip(f"message of role {role or '(none)'}")
    return []


def read_reply(message: Mapping[str, Any], notes: Notes) -> Reply:
    """Return an assistant message; its reasoning is known under three names."""
    reasoning = next(
        (r for key in ("reasoning_content", "reasoning", "thinking") if (r := text(message.get(key)))), ""
    )
    calls = [read_call(call) for call in objects(message.get("tool_calls"))]
    if function := obj(message.get("function_call")):
        calls.append(read_call(function))
    return Reply(
        text=flatten(message.get("content"), notes) or text(message.get("refusal")),
        reasoning=reasoning,
        calls=tuple(calls),
    )


def read_call(call: Mapping[str, Any]) -> ToolCall:
    """Return a call in OpenAI's nested shape or a flat one."""
    function = obj(call.get("function")) or call
    return ToolCall(
        id=name(call.get("id") or call.get("call_id")),
        name=text(function.get("name")),
        arguments=function.get("arguments"),
    )


def usage_of(body: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the input and output tokens that a reply states, in OpenAI's, llama.cpp's or Anthropic's names."""
    usage, timings = obj(body.get("usage")), obj(body.get("timings"))
    if timings and not usage:
        return tokens(timings, "prompt_n", "cache_n"), tokens(timings, "predicted_n")
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        return tokens(usage, "prompt_tokens"), tokens(usage, "completion_tokens")
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return tokens(usage, *keys), tokens(usage, "output_tokens")
