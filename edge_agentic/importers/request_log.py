"""Request bodies, request/response logs and fine-tuning rows of OpenAI-compatible and Anthropic endpoints.

One record is a request (with or without its reply) or a whole dialogue, in a JSON document, JSON Lines, a
HAR capture or a JSON cassette. Sources: the API references; LiteLLM, llama-server and proxy logs.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers import anthropic_messages
from edge_agentic.importers.chat_messages import read_messages, read_reply, usage_of
from edge_agentic.importers.content import flatten
from edge_agentic.importers.exchanges import Exchange, chain
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolResult, UserText
from edge_agentic.importers.responses_items import read_item, read_output
from edge_agentic.importers.source import Source, parse_json
from edge_agentic.importers.streams import read_stream
from edge_agentic.importers.tool_schemas import openai_tools
from edge_agentic.importers.values import arr, count, number, obj, objects, seconds, text

_REQUEST = ("request", "request_body", "req_body", "requestBody", "proxy_server_request")
_REPLY = ("response", "response_body", "resp_body", "responseBody", "reply")
_INSIDE = ("body", "parsed_body", "json", "data", "postData", "content", "string", "text", "kwargs")


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read all records of each file, and join the requests of a file that belong together."""
    sessions: list[Session] = []
    for source in sources:
        exchanges: list[Exchange] = []
        replies: dict[str, tuple[Item, ...]] = {}
        for record in _records(source):
            exchange = exchange_of(record, replies, notes)
            if exchange is None:
                notes.skip("record without messages")
            else:
                exchanges.append(exchange)
        sessions += chain(exchanges, source.stem, notes)
    return sessions


def _records(source: Source) -> Iterator[Mapping[str, Any]]:
    values = [record.value for record in source.records]
    if source.is_document and isinstance(source.document, list):
        values = source.document
    if any("role" in value and "content" in value and "messages" not in value for value in objects(values)):
        values = [{"messages": values}]
    for value in objects(values):
        interactions = value.get("interactions") or obj(value.get("log")).get("entries")
        yield from objects(interactions) if isinstance(interactions, list) else [value]


def exchange_of(
    record: Mapping[str, Any], replies: dict[str, tuple[Item, ...]], notes: Notes
) -> Exchange | None:
    """Return the request and reply of one record, None where it holds no messages.

    `replies` collects what later requests name by `previous_response_id` only.
    """
    body = _request(record)
    if body is None:
        return None
    response = _response(record)
    system, items = _prompt(body, notes)
    items = [*replies.get(text(body.get("previous_response_id")), ()), *items]
    if not items:
        return None
    started, ended = _times(record)
    extra = (
        obj(record.get("model_parameters")) or obj(record.get("optional_params")) or obj(record.get("kwargs"))
    )
    reply = _reply(response, notes)
    if reply is not None:
        spent, made = usage_of(response)
        reply = replace(
            reply, input_tokens=spent, output_tokens=made, ended_s=ended, finish=_finish(response)
        )
        if response.get("id"):
            replies[text(response.get("id"))] = (*items, reply)
    limits = (body.get(key) for key in ("max_tokens", "max_completion_tokens", "max_output_tokens"))
    return Exchange(
        items=tuple(items),
        reply=reply,
        system=system,
        tools=openai_tools(arr(body.get("tools")) or arr(record.get("tools")) or arr(extra.get("tools"))),
        model=text(body.get("model")) or text(record.get("model")) or text(response.get("model")) or None,
        max_tokens=next((found for limit in limits if (found := count(limit))), None),
        started_s=started,
    )


def _request(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if _is_request(record):
        return record
    return next((found for key in _REQUEST if (found := _inside(record.get(key), _is_request))), None)


def _is_request(value: Mapping[str, Any]) -> bool:
    if isinstance(value.get("messages"), list):
        return True
    return isinstance(value.get("input"), list | str) and not isinstance(value.get("request"), dict)


def _response(record: Mapping[str, Any]) -> Mapping[str, Any]:
    found = next((found for key in _REPLY if (found := _inside(record.get(key), _is_reply))), None)
    return found or (record if "choices" in record else {})


def _is_reply(value: Mapping[str, Any]) -> bool:
    return any(isinstance(value.get(key), list) for key in ("choices", "output")) or (
        isinstance(value.get("content"), list) and text(value.get("role")) == "assistant"
    )


def _inside(value: Any, wanted: Any, depth: int = 0) -> Mapping[str, Any] | None:
    """Return the body inside a container of unknown shape: as an object, as its JSON text or as a stream."""
    if isinstance(value, str):
        value = _decoded(value)
    if not isinstance(value, dict) or depth > 4:
        return None
    body: Mapping[str, Any] = value
    if body.get("encoding") == "base64":
        body = {
            **body,
            "text": _from_base64(text(body.get("text"))),
        }  # so a HAR keeps what it takes for binary
    if wanted(body):
        return body
    return next((found for key in _INSIDE if (found := _inside(body.get(key), wanted, depth + 1))), None)


def _from_base64(body: str) -> str:
    try:
        return base64.b64decode(body).decode("utf-8", errors="replace")
    except ValueError:
        return body


def _decoded(body: str) -> Any:
    if body.lstrip().startswith(("data:", "event:", ":")):
        return read_stream(body)
    try:
        return parse_json(body)
    except ValueError:
        return None


def _prompt(body: Mapping[str, Any], notes: Notes) -> tuple[str | None, list[Item]]:
    """Return system prompt and items of a request body of any of the three protocols."""
    if "messages" not in body:
        return _responses_prompt(body, notes)
    if is_anthropic(body):
        return flatten(body.get("system"), notes) or None, anthropic_messages.read_messages(
            body["messages"], notes
        )
    system, items = read_messages(body["messages"], notes)
    return system, _with_text_tools(items, notes)


def _with_text_tools(items: list[Item], notes: Notes) -> list[Item]:
    """Where the model calls tools in its text, what they give back is text as well (R6)."""
    if any(isinstance(item, Reply) and item.calls for item in items):
        return items
    found = [isinstance(item, ToolResult) and item.call_id is None for item in items]
    notes.repair("R6", sum(found))
    return [
        UserText(text=item.text, kind="observation") if is_text and isinstance(item, ToolResult) else item
        for item, is_text in zip(items, found, strict=True)
    ]


def is_anthropic(body: Mapping[str, Any]) -> bool:
    """Whether a body with messages is one of Anthropic's."""
    if "system" in body or any("input_schema" in tool for tool in objects(body.get("tools"))):
        return True
    return any(
        text(block.get("type")) in ("tool_use", "tool_result", "thinking")
        for message in objects(body.get("messages"))
        for block in objects(message.get("content"))
    )


def _responses_prompt(body: Mapping[str, Any], notes: Notes) -> tuple[str | None, list[Item]]:
    given = body.get("input")
    given = [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)
    items: list[Item] = []
    for number_, item in enumerate(given):
        # Neighbouring parts of one reply carry no common id; a user's or a tool's item ends it.
        key = f"before-{sum(not isinstance(each, Reply) for each in items)}"
        items += read_item(item, notes, key if number_ else None)
    return text(body.get("instructions")) or None, items


def _reply(response: Mapping[str, Any], notes: Notes) -> Reply | None:
    if choices := objects(response.get("choices")):
        message = obj(choices[0].get("message"))
        return read_reply(message, notes) if message else None
    if "output" in response:
        return read_output(response, notes)
    if isinstance(response.get("content"), list):
        found = anthropic_messages.read_reply(response["content"], notes)
        return next((each for each in found if isinstance(each, Reply)), None)
    return None


def _finish(response: Mapping[str, Any]) -> str | None:
    choice = (objects(response.get("choices")) or [{}])[0]
    reason = choice.get("finish_reason") or response.get("stop_reason") or response.get("status")
    return text(reason) or None


def _times(record: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return start of the request and end of the reply, as far as the log tells both."""
    start = next(
        (s for key in ("startTime", "start_time", "startedDateTime") if (s := seconds(record.get(key)))), None
    )
    end = next((s for key in ("endTime", "end_time") if (s := seconds(record.get(key)))), None)
    stamp, latency = seconds(record.get("timestamp")), number(record.get("latency_sec"))
    if start is None and stamp is not None:
        # LiteLLM's completion log is stamped when the reply was there.
        start, end = (stamp, None) if latency is None else (stamp - latency, stamp)
    if end is None and start is not None and (took := number(record.get("time"))) is not None:
        end = start + took / 1000
    return start, end
