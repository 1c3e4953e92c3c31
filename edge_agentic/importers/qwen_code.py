"""Qwen Code chats (JSON Lines below ~/.qwen/projects): Claude Code's envelope around Gemini's parts.

System prompt and tool schemas are not stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.content import tokens
from edge_agentic.importers.covered import without_covered
from edge_agentic.importers.gemini_parts import call, result, said
from edge_agentic.importers.normal import Item, Notes, Reply, Session, UserText
from edge_agentic.importers.source import Source
from edge_agentic.importers.tree import Line, branches
from edge_agentic.importers.values import name, obj, objects, seconds, text

_SPEAKERS = ("user", "assistant", "tool_result")


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read the main chat of each file, its abandoned branches and compressions."""
    return without_covered([session for source in sources for session in _file(source, notes)], notes)


def _file(source: Source, notes: Notes) -> Iterator[Session]:
    lines: dict[str, Line] = {}
    for record in source.records:
        value = obj(record.value)
        uuid = name(value.get("uuid")) or f"line {record.line}"
        # A uuid that comes again holds another part of the same reply.
        key = uuid if uuid not in lines else f"{uuid} line {record.line}"
        lines[key] = _line(key, uuid, value)
        kind = text(value.get("type"))
        if kind not in _SPEAKERS:
            notes.skip(f"record {kind or 'without a type'} {text(value.get('subtype'))}".strip())
    for number, path in enumerate(branches(list(lines.values())), start=1):
        frame = Session(id=source.stem, items=())
        if number > 1:
            frame = Session(
                id=f"{source.stem}.r{number}", items=(), parent=source.stem, split_reason="rewind"
            )
        yield from _split(path, frame, notes)


def _line(key: str, uuid: str, value: Mapping[str, Any]) -> Line:
    kind = text(value.get("type"))
    return Line(
        key=key,
        parents=(uuid, text(value.get("parentUuid"))) if key != uuid else (text(value.get("parentUuid")),),
        at_s=seconds(value.get("timestamp")),
        speaks=kind in _SPEAKERS,
        reply=uuid if kind == "assistant" else None,
        value=value,
    )


def _split(path: Sequence[Line], frame: Session, notes: Notes) -> Iterator[Session]:
    items: list[Item] = []
    number, current = 1, frame
    for line in path:
        if line.value.get("subtype") == "chat_compression" and items:
            yield replace(current, items=tuple(items))
            number += 1
            id_ = f"{frame.id}.c{number}"
            current = Session(id=id_, items=(), parent=current.id, split_reason="compaction")
            left = obj(line.value.get("systemPayload")).get("compressedHistory")
            items = [item for content in objects(left) for item in _content(content, None, None, notes)]
        model = text(line.value.get("model"))
        current = replace(current, model=current.model or model or None)
        if line.speaks:
            usage = obj(line.value.get("usageMetadata"))
            found = _content(obj(line.value.get("message")), line.reply, line.at_s, notes)
            items += [_counted(item, usage) if isinstance(item, Reply) else item for item in found]
    yield replace(current, items=tuple(items))


def _counted(reply: Reply, usage: Mapping[str, Any]) -> Reply:
    return replace(
        reply,
        input_tokens=tokens(usage, "promptTokenCount"),
        output_tokens=tokens(usage, "candidatesTokenCount", "thoughtsTokenCount"),
    )


def _content(message: Mapping[str, Any], key: str | None, at: float | None, notes: Notes) -> list[Item]:
    parts = objects(message.get("parts"))
    if text(message.get("role")) == "model":
        calls = tuple(call(obj(part["functionCall"])) for part in parts if part.get("functionCall"))
        reasoning = said(parts, notes, thought=True)
        return [Reply(key=key, text=said(parts, notes), reasoning=reasoning, calls=calls, ended_s=at)]
    items: list[Item] = [
        result(obj(part["functionResponse"]), None, at) for part in parts if part.get("functionResponse")
    ]
    if words := said(parts, notes):
        items.append(UserText(text=words))
    return items
