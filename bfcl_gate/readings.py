"""Reading an answer: what it says as tool calls, natively or leniently, and the message that is judged."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bfcl_gate.model import parse_tool_calls
from bfcl_gate.model.chat import Message
from bfcl_gate.samples import Sample

MODES = ("native", "lenient")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back for one sample, before anything is read into it.

    A local engine gives `text` (raw, special tokens rendered); a server or a responses file gives
    `message`, the OpenAI message it stated. `error` is why no complete answer came back. `syntax` and
    `prefix` are the engine's, as parse_tool_calls takes them.
    """

    text: str | None
    message: Message | None = None
    finish_reason: str | None = None
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_ns: int | None = None
    syntax: str = "auto"
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A reply as one mode reads it. `message` is what is judged."""

    message: Message
    calls: tuple[Mapping[str, str], ...]
    attempts: tuple[Mapping[str, str], ...]
    native: bool | None
    error: str | None


def read_answer(sample: Sample, reply: Reply, mode: str) -> Reading:
    """Read a reply in one of `MODES`; a stated message is native as it stands."""
    if reply.message is None:
        return _read_text(sample, reply, mode)
    stated = reply.message.get("tool_calls") or ()
    if stated or mode == "native":
        return _read_stated(reply.message, stated)
    found = _read_text(sample, Reply(text=reply.message.get("content")), mode)
    return found if found.attempts else _read_stated(reply.message, ())


def _read_text(sample: Sample, reply: Reply, mode: str) -> Reading:
    parsed = parse_tool_calls(
        reply.text or "",
        sample.tools,
        syntax=reply.syntax,
        mode=mode,
        prefix=reply.prefix,
        finish=reply.finish_reason or "stop",
    )
    attempts = tuple({"name": a.name, "raw_arguments": a.raw_arguments} for a in parsed.attempts)
    return Reading(
        message={
            "role": "assistant",
            "content": parsed.content,
            "reasoning_content": parsed.reasoning,
            "tool_calls": [_spoken(attempt) for attempt in attempts] or None,
        },
        calls=tuple({"name": call.name, "arguments": json.dumps(call.arguments)} for call in parsed.calls),
        attempts=attempts,
        native=parsed.native,
        error=parsed.error,
    )


def _spoken(attempt: Mapping[str, str]) -> Mapping[str, Any]:
    """Return an attempt as an OpenAI tool call; one that does not decode keeps the model's own text."""
    function = {"name": attempt["name"], "arguments": attempt["raw_arguments"]}
    return {"type": "function", "function": function}


def _read_stated(message: Message, stated: Any) -> Reading:
    """Take a stated message as it is; `stated` is its tool_calls, which may be of any shape."""
    spoken = [_stated_call(item) for item in stated] if isinstance(stated, list | tuple) else []
    decoded = [_decodes(call["raw_arguments"]) for call in spoken]
    return Reading(
        message=message,
        calls=tuple(
            {"name": call["name"], "arguments": call["raw_arguments"]}
            for call, good in zip(spoken, decoded, strict=True)
            if good
        ),
        attempts=tuple(spoken),
        native=True if spoken else None,
        error=None if all(decoded) else "arguments are not a JSON object",
    )


def _stated_call(item: Any) -> dict[str, str]:
    function = item.get("function") if isinstance(item, Mapping) else None
    call = function if isinstance(function, Mapping) else {}
    name, arguments = call.get("name"), call.get("arguments")
    return {
        "name": name if isinstance(name, str) else "",
        "raw_arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
    }


def _decodes(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
