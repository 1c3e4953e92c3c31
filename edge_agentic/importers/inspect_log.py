"""Inspect AI logs (`.eval` archives and JSON). Source: https://inspect.aisi.org.uk/eval-logs.html.

A sample's model events hold each prompt whole, with its tools; tool events hold the time each call took.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.chat_messages import read_messages, read_reply
from edge_agentic.importers.content import tokens
from edge_agentic.importers.exchanges import Exchange, chain
from edge_agentic.importers.normal import Item, Notes, Session, ToolResult
from edge_agentic.importers.source import Source
from edge_agentic.importers.tool_schemas import openai_tools
from edge_agentic.importers.values import arr, count, name, number, obj, objects, seconds, text

_PREFIX = "attachment://"
_MAX_EXPANDED = 256 * 2**20


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read every sample of each log; calls of a grader are sessions of their own."""
    sessions: list[Session] = []
    for source in sources:
        document = obj(source.document)
        if document.get("version") not in (1, 2, 3):
            notes.remark(
                f"The log's version {name(document.get('version'))} is none of 1 to 3; it is read like those."
            )
        for sample in objects(document.get("samples")):
            id_ = f"{source.stem}.{name(sample.get('id')) or 'sample'}.{name(sample.get('epoch')) or 1}"
            sessions += chain(_exchanges(sample, notes), id_, notes)
    return sessions


def _exchanges(sample: Mapping[str, Any], notes: Notes) -> Iterator[Exchange]:
    expand = _Attachments(sample)
    events = [event for event in objects(sample.get("events")) if event.get("event") == "model"]
    waits = {
        text(event.get("id")): number(event.get("working_time"))
        for event in objects(sample.get("events"))
        if event.get("event") == "tool"
    }
    pool = arr(sample.get("message_pool"))
    if not events:
        system, items = read_messages(expand(sample.get("messages")), notes)
        yield Exchange(items=tuple(items), reply=None, system=system)
    for event in events:
        system, items = read_messages([_message(m) for m in objects(expand(_prompt(event, pool)))], notes)
        yield _exchange(event, system, [_timed(item, waits) for item in items], expand, notes)


def _exchange(
    event: Mapping[str, Any], system: str | None, items: Sequence[Item], expand: "_Attachments", notes: Notes
) -> Exchange:
    output = obj(event.get("output"))
    choice = (objects(output.get("choices")) or [{}])[0]
    message = obj(expand(choice.get("message")))
    usage = obj(output.get("usage"))
    reply = None
    if message:
        reply = replace(
            read_reply(_message(message), notes),
            ended_s=seconds(event.get("completed")),
            input_tokens=tokens(usage, "input_tokens", "input_tokens_cache_read", "input_tokens_cache_write"),
            output_tokens=tokens(usage, "output_tokens"),
            finish=text(choice.get("stop_reason")) or None,
        )
    return Exchange(
        items=tuple(items),
        reply=reply,
        system=system,
        tools=openai_tools(expand(event.get("tools"))),
        model=text(event.get("model")) or None,
        max_tokens=count(obj(event.get("config")).get("max_tokens")) or None,
        started_s=seconds(event.get("timestamp")),
    )


def _prompt(event: Mapping[str, Any], pool: Sequence[Any]) -> list[Any]:
    """Newer logs keep messages in a pool; `input_refs` are ranges of it."""
    found = list(arr(event.get("input")))
    for reference in arr(event.get("input_refs")):
        bounds = [each for each in arr(reference) if isinstance(each, int) and each >= 0]
        if len(bounds) == 2:
            found += pool[bounds[0] : bounds[1]]
    return found


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Bring a message into OpenAI's shape: flat calls, errors beside the content, reasoning as a part."""
    content = message.get("content")
    thoughts = [part for part in objects(content) if part.get("type") == "reasoning"]
    if thoughts:
        content = [part for part in arr(content) if part not in thoughts]
    error = text(obj(message.get("error")).get("message"))
    calls = [
        {**call, "name": call.get("function"), "function": None}
        for call in objects(message.get("tool_calls"))
    ]
    return {
        **message,
        "content": content or error,
        "tool_calls": calls,
        "reasoning": "\n".join(text(part.get("reasoning")) for part in thoughts),
    }


def _timed(item: Item, waits: Mapping[str, float | None]) -> Item:
    if isinstance(item, ToolResult):
        return replace(item, wait_s=waits.get(item.call_id or ""))
    return item


class _Attachments:
    """Puts the texts of a sample's attachments where they are referred to, within a bound."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        self._texts = obj(sample.get("attachments"))
        self._left = _MAX_EXPANDED

    def __call__(self, value: Any) -> Any:
        """Return a JSON value with every reference that can be resolved replaced."""
        if isinstance(value, str) and value.startswith(_PREFIX):
            found = text(self._texts.get(value[len(_PREFIX) :]))
            self._left -= len(found)
            return found if found and self._left > 0 else value
        if isinstance(value, list):
            return [self(each) for each in value]
        if isinstance(value, dict):
            return {key: self(each) for key, each in value.items()}
        return value
