"""Gemini CLI chats: one JSON document (older) or JSON Lines with patches (from about 0.39).

Source: chatRecordingService.ts of google-gemini/gemini-cli. A record of the model holds its calls and their
results. System prompt, tool schemas and IDE context are not stored, thoughts only as summaries.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edge_agentic.importers.content import tokens
from edge_agentic.importers.covered import without_covered
from edge_agentic.importers.gemini_parts import call, result, said
from edge_agentic.importers.normal import Item, Notes, Reply, Session, SplitReason, UserText
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import name, obj, objects, seconds, text

Message = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class _Chat:
    """The messages of a file by id, and what its patches cut off."""

    id: str
    messages: dict[str, Message] = field(default_factory=dict)
    cut: list[tuple[SplitReason, list[Message]]] = field(default_factory=list)


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read the chat of each file as it stands at its end, and what was cut off by rewinds before."""
    return without_covered([session for source in sources for session in _file(source, notes)], notes)


def _file(source: Source, notes: Notes) -> Iterator[Session]:
    chat = _Chat(id=source.stem)
    for record in source.records:
        _apply(chat, obj(record.value), record.line, notes)
    parent = chat.id
    older = [messages for reason, messages in chat.cut if reason == "compaction"]
    for number, messages in enumerate(older, start=1):
        id_ = chat.id if number == 1 else f"{chat.id}.c{number}"
        yield _session(id_, messages, notes, parent if number > 1 else None, "compaction")
        parent = id_
    last = f"{chat.id}.c{len(older) + 1}" if older else chat.id
    yield _session(last, list(chat.messages.values()), notes, parent if older else None, "compaction")
    rewound = [messages for reason, messages in chat.cut if reason == "rewind"]
    for number, messages in enumerate(rewound, start=2):
        yield _session(f"{chat.id}.r{number}", messages, notes, last, "rewind")


def _apply(chat: _Chat, value: Message, line: int, notes: Notes) -> None:
    if isinstance(target := value.get("$rewindTo"), str):
        # Everything from the named message on is gone.
        chat.cut.append(("rewind", list(chat.messages.values())))
        keys = list(chat.messages)
        kept = keys[: keys.index(target)] if target in keys else keys
        chat.messages = {key: chat.messages[key] for key in kept}
    elif "$set" in value:
        if isinstance(messages := obj(value["$set"]).get("messages"), list):
            _replace(chat, objects(messages))
    elif "sessionId" in value:
        chat.id = name(value.get("sessionId")) or chat.id
        for number, message in enumerate(objects(value.get("messages"))):
            _upsert(chat, message, f"{line}.{number}", notes)
    elif "type" in value:
        _upsert(chat, value, str(line), notes)
    else:
        notes.skip("record without a type")


def _upsert(chat: _Chat, message: Message, place: str, notes: Notes) -> None:
    """The same id again replaces what was there (R20)."""
    key = name(message.get("id")) or f"at {place}"
    notes.repair("R20", int(key in chat.messages))
    chat.messages[key] = message


def _replace(chat: _Chat, messages: Sequence[Message]) -> None:
    """A checkpoint is the whole chat; one that drops messages is a compression."""
    new = {name(message.get("id")) or f"set {n}": message for n, message in enumerate(messages)}
    if not set(chat.messages) <= set(new):
        chat.cut.append(("compaction", list(chat.messages.values())))
    chat.messages = new


def _session(
    id_: str, messages: Sequence[Message], notes: Notes, parent: str | None, reason: SplitReason
) -> Session:
    items = tuple(item for message in messages for item in _items(message, notes))
    model = next((found for message in messages if (found := text(message.get("model")))), None)
    return Session(id=id_, items=items, model=model, parent=parent, split_reason=reason if parent else None)


def _items(message: Message, notes: Notes) -> Iterator[Item]:
    kind = text(message.get("type"))
    if kind == "user":
        yield UserText(text=said(message.get("content"), notes))
    elif kind == "gemini":
        yield from _model(message, notes)
    else:
        notes.skip(f"message {kind or 'without a type'}")


def _model(message: Message, notes: Notes) -> Iterator[Item]:
    calls = objects(message.get("toolCalls"))
    usage = obj(message.get("tokens"))
    thoughts = [
        ": ".join(word for word in (text(each.get("subject")), text(each.get("description"))) if word)
        for each in objects(message.get("thoughts"))
    ]
    yield Reply(
        text=said(message.get("content"), notes),
        reasoning="\n".join(thought for thought in thoughts if thought),
        calls=tuple(call(each) for each in calls),
        ended_s=seconds(message.get("timestamp")),
        input_tokens=tokens(usage, "input"),
        output_tokens=tokens(usage, "output", "thoughts"),
    )
    for each in calls:
        at = seconds(each.get("timestamp"))
        for part in objects(each.get("result")):
            if response := obj(part.get("functionResponse")):
                yield result({**response, "id": each.get("id")}, None, at)
