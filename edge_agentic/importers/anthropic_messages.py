"""Anthropic Messages: content blocks, request bodies and replies."""

from collections.abc import Mapping, Sequence
from typing import Any

from edge_agentic.importers.content import flatten, placeholder
from edge_agentic.importers.normal import Item, Notes, Reply, ToolCall, ToolResult, UserText
from edge_agentic.importers.values import name, objects, text

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def read_messages(messages: Any, notes: Notes) -> list[Item]:
    """Return the items of a request's messages in order."""
    items: list[Item] = []
    for message in objects(messages):
        if text(message.get("role")) == "assistant":
            items += read_reply(message.get("content"), notes)
        else:
            items += read_user(message.get("content"), notes)
    return items


def read_user(content: Any, notes: Notes, kind: str = "user") -> Sequence[Item]:
    """Return the results and texts of a user message; results stand first, as the service demands."""
    if not isinstance(content, list):
        return [UserText(text=flatten(content, notes), kind=kind)]
    results: list[Item] = []
    texts: list[Any] = []
    for block in content:
        if isinstance(block, dict) and text(block.get("type")).endswith("tool_result"):
            results.append(read_result(block, notes))
        else:
            texts.append(block)
    if texts:
        results.append(UserText(text=flatten(texts, notes), kind=kind))
    return results


def read_result(block: Mapping[str, Any], notes: Notes) -> ToolResult:
    """Return a tool_result block."""
    return ToolResult(call_id=name(block.get("tool_use_id")), text=flatten(block.get("content"), notes))


def read_reply(content: Any, notes: Notes, **fields: Any) -> Sequence[Item]:
    """Return an assistant message as one reply; what a server's own tools gave back follows it."""
    if not isinstance(content, list):
        return [Reply(text=flatten(content, notes), **fields)]
    texts, thoughts, calls, results = [], [], [], []
    for block in objects(content):
        kind = text(block.get("type"))
        if kind == "text":
            texts.append(text(block.get("text")))
        elif kind == "thinking":
            thoughts.append(text(block.get("thinking")))
        elif kind in _CALLS:
            calls.append(
                ToolCall(id=name(block.get("id")), name=text(block.get("name")), arguments=block.get("input"))
            )
        elif kind.endswith("tool_result"):
            results.append(read_result(block, notes))
        elif kind == "image":
            notes.repair("R15")
            texts.append(placeholder("image", block))
        else:
            notes.skip(f"content block {kind or 'without a type'}")
    reply = Reply(
        text="\n".join(each for each in texts if each),
        reasoning="\n".join(each for each in thoughts if each),
        calls=tuple(calls),
        **fields,
    )
    return [reply, *results]
