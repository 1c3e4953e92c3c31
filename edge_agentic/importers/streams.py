"""A reply that was streamed, put together again from its server-sent events."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from edge_agentic.importers.source import parse_json
from edge_agentic.importers.values import arr, obj, objects, text

_LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line of an event stream; `str.splitlines` would also cut a text at U+2028 or U+0085."""


def read_stream(body: str) -> Mapping[str, Any]:
    """Return the reply of an event stream: a chat completion, a Responses object or an Anthropic message.

    Events that are cut off are left out; {} where nothing of a reply is there. An error that the server sent
    in the stream is under `error`.
    """
    events = list(_events(body))
    for event in reversed(events):
        if text(event.get("type")) in ("response.completed", "response.incomplete", "response.failed"):
            response = obj(event.get("response"))
            # Some services leave the last event's output empty and tell its items one by one only.
            items = arr(response.get("output")) or _items_done(events)
            return {**response, "output": items} if items else response
    if any(text(event.get("type")).startswith("content_block") for event in events):
        return _anthropic(events)
    return _chat(events)


def _items_done(events: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    done = (event for event in events if text(event.get("type")) == "response.output_item.done")
    return [item for event in done if (item := obj(event.get("item")))]


def _events(body: str) -> Iterator[Mapping[str, Any]]:
    for line in _LINE_END.split(body):
        if line.startswith("data:"):
            try:
                event = parse_json(line[5:])
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event


def _chat(events: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    calls: dict[Any, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    finish = None
    for event in events:
        whole |= {key: event[key] for key in ("model", "usage", "timings", "error") if event.get(key)}
        # Of several answers to one prompt, whose chunks come in turn, the first is the reply.
        for choice in [each for each in objects(event.get("choices")) if not each.get("index")][:1]:
            delta = obj(choice.get("delta"))
            finish = choice.get("finish_reason") or finish
            for key in ("content", "reasoning_content", "reasoning"):
                if isinstance(delta.get(key), str):
                    message[key] = message.get(key, "") + delta[key]
            for part in objects(delta.get("tool_calls")):
                _add_call(calls, part)
    if calls:
        message["tool_calls"] = list(calls.values())
    if len(message) == 1:
        return {}
    return {**whole, "choices": [{"message": message, "finish_reason": finish}]}


def _add_call(calls: dict[Any, dict[str, Any]], part: Mapping[str, Any]) -> None:
    """Id and name come once or in every chunk, arguments in pieces."""
    index = part.get("index")
    index = index if isinstance(index, int) else len(calls) if part.get("id") else max(len(calls) - 1, 0)
    call = calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    function = obj(part.get("function"))
    call["id"] = call["id"] or text(part.get("id"))
    call["function"]["name"] = call["function"]["name"] or text(function.get("name"))
    call["function"]["arguments"] += text(function.get("arguments"))


def _anthropic(events: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    blocks: dict[Any, dict[str, Any]] = {}
    whole: dict[str, Any] = {"type": "message", "role": "assistant"}
    usage: dict[str, Any] = {}
    for event in events:
        kind, index = (
            text(event.get("type")),
            event.get("index") if isinstance(event.get("index"), int) else -1,
        )
        if kind == "message_start":
            usage |= obj(obj(event.get("message")).get("usage"))
        elif kind == "message_delta":
            usage |= obj(event.get("usage"))
            whole["stop_reason"] = obj(event.get("delta")).get("stop_reason")
        elif kind == "content_block_start":
            blocks[index] = dict(obj(event.get("content_block")))
        elif kind == "content_block_delta":
            _add_delta(blocks.setdefault(index, {"type": "text", "text": ""}), obj(event.get("delta")))
    for block in blocks.values():
        if "partial" in block:
            block["input"] = _input(block.pop("partial"))
    return {**whole, "usage": usage, "content": arr(list(blocks.values()))}


def _input(told: str) -> Any:
    """Return a call's input as later prompts hold it, an object; text that is none stays as it came."""
    try:
        value = parse_json(told or "{}")
    except ValueError:
        return told
    return value if isinstance(value, dict) else told


def _add_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for key, target in (("text", "text"), ("thinking", "thinking"), ("partial_json", "partial")):
        if isinstance(delta.get(key), str):
            block[target] = text(block.get(target)) + delta[key]
