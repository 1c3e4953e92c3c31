"""Which format a file is in, told by its content: a name or ending proves nothing."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from edge_agentic.importers.formats import FORMATS
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import arr, obj, objects, text

LOOKED_AT = 50
"""Records that vote: files may begin with bookkeeping that says nothing."""

_REFUSED = {
    "native": "it is a trace file already; use it as it is, `edge-agentic traces validate` checks it",
    "codex exec": "it is the output of `codex exec --json`, which holds no prompts; import the session below "
    "~/.codex/sessions instead",
    "langfuse": "it is a Langfuse export; export the spans as OTLP JSON instead",
    "aider analytics": "it is Aider's analytics, which hold counts and no text; record the requests at a proxy",
    "base state": "it is the state of an OpenHands conversation, not its events; name the folder `events` beside it",
    "copilot": "GitHub Copilot's events are not supported yet; record its requests at a proxy (docs/traces.md)",
    "schema": "it is a JSON Schema",
}


def detect(source: Source) -> str | None:
    """Return a name of FORMATS, None where the content is none of them."""
    kind = _kind(source)
    return kind if kind in FORMATS else None


def refusal(source: Source) -> str:
    """Return why a file is not imported."""
    kind = _kind(source)
    if kind in _REFUSED:
        return f"{source.path}: cannot be imported: {_REFUSED[kind]}."
    first = source.records[0].value
    keys = ", ".join(sorted(map(str, first))[:12]) if isinstance(first, dict) else type(first).__name__
    return (
        f"{source.path}: its format is not known (first record: {keys[:300]}); tried {', '.join(FORMATS)}. "
        "Name it with --format, or see docs/traces.md."
    )


def _kind(source: Source) -> str | None:
    if source.is_document and isinstance(source.document, list):
        return _kind_of_list(source.document)
    if "part" in source.path.parts[-3:-1] or {"message", "session"} & set(source.path.parts[-3:-2]):
        first = obj(source.records[0].value)
        if source.is_document and "id" in first:
            return "opencode"
    votes: Counter[str] = Counter()
    for record in source.records[:LOOKED_AT]:
        if isinstance(record.value, dict) and (kind := _kind_of_object(record.value)):
            votes[kind] += 1
    return votes.most_common(1)[0][0] if votes else None


def _kind_of_list(values: list[Any]) -> str | None:
    found = objects(values)[:LOOKED_AT]
    if any("traj" in each and "task_id" in each for each in found):
        return "tau-bench"
    if any("source" in each and ("action" in each or "observation" in each) for each in found):
        return "openhands"
    if any(text(each.get("kind")).endswith("Event") for each in found):
        return "openhands"
    if any(kind in ("tool_use", "tool_result") for each in found for kind in _block_types(each)):
        return "anthropic"
    if any("role" in each for each in found):
        return "mini-swe-agent" if any("extra" in each for each in found) else "openai"
    return next((kind for each in found if (kind := _kind_of_object(each))), None)


def _kind_of_object(value: Mapping[str, Any]) -> str | None:
    keys = set(value)
    for kind, needed in _BY_KEYS:
        if needed <= keys:
            return kind
    found = _by_content(value, keys) or _by_messages(value, keys)
    # One message a line is a chat as well.
    return found or ("openai" if {"role", "content"} <= keys else None)


_BY_KEYS: tuple[tuple[str, set[str]], ...] = (
    ("native", {"conversation_id", "turn", "role"}),
    ("otlp", {"resourceSpans"}),
    ("otlp", {"gen_ai.operation.name"}),
    ("weka", {"hash_id_scope", "requests"}),
    ("mooncake", {"input_length", "output_length"}),
    ("tracelab", {"round_index", "prefix_tokens"}),
    ("lmcache", {"input", "output", "timestamp", "session_id"}),
    ("swe-agent", {"trajectory", "history"}),
    ("inspect", {"eval", "samples"}),
    ("openhands", {"instance_id", "history"}),
    ("codex", {"payload", "type", "timestamp"}),
    ("gemini-cli", {"sessionId", "projectHash"}),
    ("langfuse", {"trace", "observations"}),
    ("base state", {"agent", "execution_status"}),
    ("schema", {"$defs", "type"}),
    ("atif", {"schema_version", "steps", "agent"}),
)


def _by_content(value: Mapping[str, Any], keys: set[str]) -> str | None:
    kind = text(value.get("type"))
    tests = (
        ("recording", text(value.get("_type")) in ("recording", "exchange")),
        ("atif", text(value.get("schema_version")).startswith("ATIF-")),
        ("mini-swe-agent", text(value.get("trajectory_format")).startswith("mini-swe-agent")),
        ("mini-swe-agent", "mini_version" in obj(value.get("info"))),
        ("swe-agent", any("message_type" in each for each in objects(value.get("history")))),
        ("openai", "entries" in obj(value.get("log"))),
        ("codex exec", kind in ("thread.started", "turn.started", "item.completed", "turn.completed")),
        ("kimi", kind == "metadata" and "protocol_version" in keys),
        ("copilot", kind == "session.start" and "data" in keys),
        ("pi", kind == "session" and "version" in keys),
        ("opencode", "info" in keys and any("parts" in each for each in objects(value.get("messages")))),
        ("opencode", kind.startswith(("message.part", "message.updated"))),
        ("opencode", text(obj(value.get("event")).get("type")).startswith(("message.", "session."))),
        ("openhands", text(value.get("kind")).endswith(("Event", "Condensation"))),
        ("aider analytics", "event" in keys and "properties" in keys),
        ("abench", any("input_delta" in each for each in objects(value.get("turns")))),
        ("qwen-code", "uuid" in keys and "parts" in obj(value.get("message"))),
        ("gemini-cli", "$set" in keys or (kind == "gemini" and "id" in keys)),
        ("claude-code", "sessionId" in keys and "uuid" in keys),
        ("claude-code", "session_id" in keys and kind in ("system", "assistant", "user", "result")),
    )
    return next((name for name, holds in tests if holds), None)


def _by_messages(value: Mapping[str, Any], keys: set[str]) -> str | None:
    """Tell request bodies and logs apart, also where they lie inside a container."""
    if "interactions" in keys:
        return "openai"
    body = next(
        (obj(value[key]) for key in ("request", "body", "kwargs") if isinstance(value.get(key), dict)), value
    )
    body = value if "messages" in keys or "input" in keys else body
    if not ({"messages", "input", "request", "req_body", "request_body"} & keys or "messages" in body):
        return None
    messages = objects(body.get("messages"))
    schemas = any("input_schema" in tool for tool in objects(body.get("tools")))
    blocks = any(kind in ("tool_use", "tool_result") for each in messages for kind in _block_types(each))
    if schemas or blocks or "system" in body or text(obj(value.get("response")).get("type")) == "message":
        return "anthropic"
    return "openai"


def _block_types(message: Mapping[str, Any]) -> list[str]:
    return [text(block.get("type")) for block in objects(arr(message.get("content")))]
