"""The containers of OpenCode's sessions, each brought into the shape of `opencode export`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edge_agentic.importers.normal import Notes
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import name, number, obj, objects, text

Export = Mapping[str, Any]


def exports_of(sources: Sequence[Source], notes: Notes) -> Iterator[Export]:
    """Yield `{info, messages: [{info, parts}]}` for each session of exports, databases, trees and streams."""
    tree: list[Source] = []
    for source in sources:
        values = [obj(record.value) for record in source.records]
        exports = [value for value in values if "info" in value and "messages" in value]
        if exports:
            yield from exports
        elif source.is_document and source.path.parts[-4:-1] and "id" in obj(source.document):
            tree.append(source)
        else:
            yield from _stream(values, source.stem, notes)
    if len(tree) == 1:
        notes.remark("It is one piece of a session in OpenCode's storage; name the folder `storage` itself.")
    yield from _tree(tree)


def _tree(sources: Sequence[Source]) -> Iterator[Export]:
    """Join the files session/PROJECT/ID.json, message/SESSION/ID.json and part/MESSAGE/ID.json."""
    infos: dict[str, Export] = {}
    messages: dict[str, list[Export]] = {}
    parts: dict[str, list[Export]] = {}
    for source in sources:
        value = obj(source.document)
        folder, above = source.path.parts[-2], source.path.parts[-3] if len(source.path.parts) > 2 else ""
        if above == "part":
            parts.setdefault(folder, []).append(value)
        elif above == "message":
            messages.setdefault(folder, []).append(value)
        else:
            infos[name(value.get("id")) or source.stem] = value
    for session in messages:
        infos.setdefault(session, {"id": session})
    for session, info in infos.items():
        joined = [{"info": m, "parts": parts.get(text(m.get("id")), [])} for m in messages.get(session, [])]
        yield {"info": info, "messages": sorted(joined, key=_created)}


def _created(message: Export) -> float:
    return number(obj(obj(message.get("info")).get("time")).get("created")) or 0.0


def _stream(values: Sequence[Export], stem: str, notes: Notes) -> Iterator[Export]:
    """Join events: a part or message that comes again replaces what was there (R20)."""
    sessions: dict[str, dict[str, dict[str, Any]]] = {}
    infos: dict[str, Export] = {}
    for value in values:
        event = _event(value)
        kind, properties = text(event.get("type")), obj(event.get("properties"))
        info, part = obj(properties.get("info")), obj(properties.get("part"))
        if kind == "message.updated" and info:
            _message(sessions, text(info.get("sessionID")) or stem, text(info.get("id")))["info"] = info
        elif kind == "message.part.updated" and part:
            message = _message(sessions, text(part.get("sessionID")) or stem, text(part.get("messageID")))
            key = text(part.get("id")) or str(len(message["parts"]))
            notes.repair("R20", int(key in message["parts"]))
            message["parts"][key] = part
        elif kind in ("session.created", "session.updated") and info:
            infos[text(info.get("id"))] = info
        else:
            notes.skip(f"event {kind or 'without a type'}")
    for session, messages in sessions.items():
        joined = [{"info": m["info"], "parts": objects(list(m["parts"].values()))} for m in messages.values()]
        yield {"info": {"id": session, **infos.get(session, {})}, "messages": joined}


def _event(value: Export) -> Export:
    """An event may lie in an envelope."""
    for key in ("event", "payload", "data"):
        if isinstance(value.get(key), dict) and "type" in value[key]:
            return obj(value[key])
    return value


def _message(sessions: dict[str, dict[str, dict[str, Any]]], session: str, message: str) -> dict[str, Any]:
    return sessions.setdefault(session, {}).setdefault(message, {"info": {}, "parts": {}})
