"""mini-swe-agent trajectories (`.traj.json`): versions 1 and 1.1, and the bare lists from before 1.0.

Source: https://mini-swe-agent.com/latest/usage/output_files/. Version 1 talks in text: commands stand in the
reply, what they print is a user message. Version 1.1 calls the tool `bash`, whose schema is not stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.chat_messages import read_message, read_messages, usage_of
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolResult
from edge_agentic.importers.responses_items import read_item, read_output
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import obj, objects, seconds, text

BASH_TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Execute a bash command",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The bash command to execute"}},
            "required": ["command"],
        },
    },
}
"""The one tool of mini-swe-agent, a constant of the program (also in MLPerf's trace)."""


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read one session from each file, or from each line of a JSON Lines file."""
    return [session for source in sources for session in _sessions(source, notes)]


def _sessions(source: Source, notes: Notes) -> Iterator[Session]:
    for number, record in enumerate(source.records):
        document = obj(record.value)
        messages = record.value if isinstance(record.value, list) else document.get("messages")
        name = text(document.get("instance_id")) or (f"{source.stem}.{number + 1}" if number else source.stem)
        yield _session(name, objects(messages), document, notes)


def _session(
    name: str, messages: Sequence[Mapping[str, Any]], document: Mapping[str, Any], notes: Notes
) -> Session:
    system, _ = read_messages(messages[:1], notes) if messages else (None, [])
    items = [item for m in messages[1 if system is not None else 0 :] for item in _items(m, notes)]
    called = any(isinstance(item, Reply) and item.calls for item in items)
    if called:
        notes.remark("mini-swe-agent does not store its tool; its `bash` schema is filled in.")
    else:
        # What a command printed is a user message there, so it is one here.
        notes.repair("R6", max(0, sum(isinstance(item, Reply) for item in items) - 1))
    config = obj(obj(document.get("info")).get("config"))
    return Session(
        id=name,
        items=tuple(items),
        system=system,
        tools=(BASH_TOOL,) if called else (),
        model=text(obj(config.get("model")).get("model_name")) or None,
    )


def _items(message: Mapping[str, Any], notes: Notes) -> Sequence[Item]:
    """Return one entry: a chat message, a whole Responses reply, or a Responses result."""
    extra = obj(message.get("extra"))
    at = seconds(extra.get("timestamp"))
    if message.get("object") == "response" or ("output" in message and not message.get("type")):
        reply = read_output(message, notes)
        return [] if reply is None else [_counted(reply, message, at)]
    if text(message.get("type")).endswith("_output"):
        return [_stamped(item, at) for item in read_item(message, notes)]
    found = [_stamped(item, at) for item in read_message(message, notes)]
    return [_counted(f, obj(extra.get("response")), at) if isinstance(f, Reply) else f for f in found]


def _counted(reply: Reply, response: Mapping[str, Any], at: float | None) -> Reply:
    spent, made = usage_of(response)
    choice = (objects(response.get("choices")) or [{}])[0]
    thought = text(obj(choice.get("message")).get("reasoning_content"))
    return replace(
        reply,
        ended_s=at,
        input_tokens=spent,
        output_tokens=made,
        reasoning=reply.reasoning or thought,
        finish=text(choice.get("finish_reason")) or None,
    )


def _stamped(item: Item, at: float | None) -> Item:
    return replace(item, ended_s=at) if isinstance(item, ToolResult) else item
