"""Items of OpenAI's Responses API; Codex and others store them one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

from edge_agentic.importers.content import flatten, thinking_text
from edge_agentic.importers.normal import Item, Notes, Reply, ToolCall, ToolResult, UserText
from edge_agentic.importers.values import name, objects, text

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "mcp_call")


def read_item(item: Mapping[str, Any], notes: Notes, key: str | None = None) -> Sequence[Item]:
    """Return what one Responses item is; parts of one model call get the same `key`."""
    kind = text(item.get("type")) or ("message" if "role" in item else "")
    if kind == "message":
        return [_message(item, notes, key)]
    if kind == "reasoning":
        shown = thinking_text(item.get("content")) or thinking_text(item.get("summary"))
        return [Reply(reasoning=shown, key=key)]
    if kind in _CALLS:
        return [Reply(calls=(_call(item, kind),), key=key)]
    if kind.endswith("_output"):
        return [ToolResult(call_id=name(item.get("call_id")), text=flatten(item.get("output"), notes))]
    notes.skip(f"item {kind or 'without a type'}")
    return []


def _message(item: Mapping[str, Any], notes: Notes, key: str | None) -> Item:
    content = flatten(item.get("content"), notes)
    role = text(item.get("role"))
    if role == "assistant":
        return Reply(text=content, key=key)
    return UserText(text=content, kind=role or "user")


def _call(item: Mapping[str, Any], kind: str) -> ToolCall:
    """A custom tool takes free text, which becomes the one argument `input`."""
    arguments = item.get("arguments")
    if kind == "custom_tool_call":
        arguments = {"input": text(item.get("input"))}
    elif kind == "local_shell_call":
        arguments = item.get("action")
    return ToolCall(
        id=name(item.get("call_id")) or name(item.get("id")),
        name=text(item.get("name")) or ("local_shell" if kind == "local_shell_call" else ""),
        arguments=arguments,
    )


def read_output(response: Mapping[str, Any], notes: Notes) -> Reply | None:
    """Return a whole Responses reply (`output` is its list of items) as one."""
    parts = [
        part
        for item in objects(response.get("output"))
        for part in read_item(item, notes)
        if isinstance(part, Reply)
    ]
    if not parts:
        return None
    return Reply(
        text="\n".join(part.text for part in parts if part.text),
        reasoning="\n".join(part.reasoning for part in parts if part.reasoning),
        calls=tuple(call for part in parts for call in part.calls),
    )
