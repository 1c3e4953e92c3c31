"""Spans, attribute values and message parts of OTLP JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edge_agentic.importers.content import placeholder
from edge_agentic.importers.normal import Item, Notes, Reply, ToolCall, ToolResult, UserText
from edge_agentic.importers.source import parse_json
from edge_agentic.importers.values import arr, name, number, obj, objects, text

_DOCUMENTS = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span: its attributes as plain values, documents parsed, times in seconds since 1970."""

    attributes: Mapping[str, Any]
    start_s: float | None
    end_s: float | None


def spans_of(value: Any) -> Iterator[Span]:
    """Yield the spans of an export, or the one whose attributes the object is."""
    document = obj(value)
    if "resourceSpans" not in document:
        yield _span({key: each for key, each in document.items() if key.startswith("gen_ai.")}, {})
    for resource in objects(document.get("resourceSpans")):
        for scope in objects(resource.get("scopeSpans")):
            for span in objects(scope.get("spans")):
                yield _span(_attributes(span.get("attributes")), span)


def _span(attributes: Mapping[str, Any], span: Mapping[str, Any]) -> Span:
    parsed = {key: _document(each) if key in _DOCUMENTS else each for key, each in attributes.items()}
    start, end = number(span.get("startTimeUnixNano")), number(span.get("endTimeUnixNano"))
    return Span(
        attributes=parsed,
        start_s=None if start is None else start / 1e9,
        end_s=None if end is None else end / 1e9,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {text(pair.get("key")): _value(pair.get("value")) for pair in objects(pairs)}


def _value(value: Any) -> Any:
    """Return an OTLP AnyValue as a plain one; integers come as text."""
    fields = obj(value)
    if "arrayValue" in fields:
        return [_value(each) for each in arr(obj(fields["arrayValue"]).get("values"))]
    if "kvlistValue" in fields:
        return _attributes(obj(fields["kvlistValue"]).get("values"))
    return next(iter(fields.values()), None)


def _document(value: Any) -> Any:
    """Return a document that was serialised into an attribute, once or twice."""
    for _ in range(2):
        if isinstance(value, str):
            try:
                value = parse_json(value)
            except ValueError:  # cut off by a limit of the exporter
                return None
    return value


def read_parts(messages: Any, notes: Notes) -> tuple[str | None, list[Item]]:
    """Return system prompt and items of messages made of typed parts."""
    system: str | None = None
    items: list[Item] = []
    for message in objects(messages):
        role, parts = text(message.get("role")), objects(message.get("parts"))
        items += [_result(part) for part in parts if part.get("type") == "tool_call_response"]
        said = _said(parts, ("text",), notes)
        if role in ("system", "developer") and system is None and not items:
            system = said
        elif role in ("assistant", "model"):
            items.append(_reply(parts, said, notes))
        elif said:
            items.append(UserText(text=said, kind=role or "user"))
    return system, items


def _said(parts: Sequence[Mapping[str, Any]], kinds: Sequence[str], notes: Notes) -> str:
    found = []
    for part in parts:
        if part.get("type") in kinds:
            found.append(text(part.get("content")))
        elif "text" in kinds and part.get("type") in ("blob", "uri", "file"):
            notes.repair("R15")
            found.append(placeholder("file", part))
    notes.repair("R14", int(len(found) > 1))
    return "\n".join(found)


def _reply(parts: Sequence[Mapping[str, Any]], said: str, notes: Notes) -> Reply:
    calls = tuple(
        ToolCall(id=name(part.get("id")), name=text(part.get("name")), arguments=part.get("arguments"))
        for part in parts
        if part.get("type") == "tool_call"
    )
    return Reply(text=said, reasoning=_said(parts, ("reasoning", "thinking"), notes), calls=calls)


def _result(part: Mapping[str, Any]) -> ToolResult:
    value = part.get("response", part.get("result"))
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ToolResult(call_id=name(part.get("id")), text=shown)
