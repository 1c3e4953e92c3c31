"""OTLP JSON with the GenAI conventions of OpenTelemetry (spans of chats and tools, content captured).

Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/. Every chat span holds its whole history; without
content capture spans hold only counts, and there is nothing to import.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from edge_agentic.importers.exchanges import Exchange, chain
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolResult
from edge_agentic.importers.otlp_values import Span, read_parts, spans_of
from edge_agentic.importers.source import Source
from edge_agentic.importers.tool_schemas import openai_tools
from edge_agentic.importers.values import arr, count, name, objects, text

_CHATS = ("chat", "text_completion", "generate_content")


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read the chat spans of each file; their conversations are told apart by id, else by trace."""
    sessions: list[Session] = []
    for source in sources:
        spans = [span for record in source.records for span in spans_of(record.value)]
        tools = {
            text(span.attributes.get("gen_ai.tool.call.id")): span
            for span in spans
            if span.attributes.get("gen_ai.operation.name") == "execute_tool"
        }
        exchanges = list(_exchanges(spans, tools, notes))
        if not exchanges:
            notes.remark("No chat span holds messages: switch the instrumentation's content capture on.")
        sessions += chain(exchanges, source.stem, notes)
    return sessions


def _exchanges(spans: Sequence[Span], tools: Mapping[str, Span], notes: Notes) -> Iterator[Exchange]:
    for span in spans:
        if text(span.attributes.get("gen_ai.operation.name")) not in _CHATS:
            notes.skip(f"span {text(span.attributes.get('gen_ai.operation.name')) or 'without an operation'}")
        elif not objects(span.attributes.get("gen_ai.input.messages")):
            notes.skip("chat span without messages")
        else:
            yield _exchange(span, tools, notes)


def _exchange(span: Span, tools: Mapping[str, Span], notes: Notes) -> Exchange:
    attributes = span.attributes
    system, items = read_parts(attributes.get("gen_ai.input.messages"), notes)
    told = arr(attributes.get("gen_ai.system_instructions"))
    if told:
        system, _ = read_parts([{"role": "system", "parts": told}], notes)
    _, answered = read_parts(attributes.get("gen_ai.output.messages"), notes)
    reply = next((item for item in answered if isinstance(item, Reply)), None)
    if reply is not None:
        reply = replace(
            reply,
            ended_s=span.end_s,
            input_tokens=count(attributes.get("gen_ai.usage.input_tokens")),
            output_tokens=count(attributes.get("gen_ai.usage.output_tokens")),
            finish=next((text(each) for each in arr(attributes.get("gen_ai.response.finish_reasons"))), None),
        )
    return Exchange(
        items=tuple(_timed(item, tools) for item in items),
        reply=reply,
        system=system,
        tools=openai_tools(attributes.get("gen_ai.tool.definitions")),
        model=text(attributes.get("gen_ai.request.model")) or None,
        max_tokens=count(attributes.get("gen_ai.request.max_tokens")) or None,
        started_s=span.start_s,
        conversation=name(attributes.get("gen_ai.conversation.id")),
    )


def _timed(item: Item, tools: Mapping[str, Span]) -> Item:
    if isinstance(item, ToolResult) and (span := tools.get(item.call_id or "")):
        return replace(item, started_s=span.start_s, ended_s=span.end_s)
    return item
