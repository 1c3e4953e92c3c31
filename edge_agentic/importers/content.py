"""Message content to text: parts joined, everything that is no text replaced by a placeholder."""

import json
from collections.abc import Mapping
from typing import Any

from edge_agentic.importers.normal import Notes
from edge_agentic.importers.values import arr, number, obj, text

_TEXT = {
    "text",
    "input_text",
    "output_text",
    "summary_text",
    "reasoning_text",
    "refusal",
    "thinking",
    "reasoning",
}
_MEDIA = {"image": "image", "audio": "audio", "document": "document", "file": "file", "video": "video"}


def flatten(content: Any, notes: Notes) -> str:
    """Return the text of a message's content: a string as it is, parts joined by newlines (R14).

    Images and other media become a line that names their type and size (R15).
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return json.dumps(content)
    parts = [part for each in content if (part := _part(each, notes)) is not None]
    if len(parts) > 1:
        notes.repair("R14")
    return "\n".join(parts)


def _part(part: Any, notes: Notes) -> str | None:
    if isinstance(part, str):
        return part
    fields = obj(part)
    kind = text(fields.get("type"))
    if kind in _TEXT or (not kind and isinstance(fields.get("text"), str)):
        return next((fields[k] for k in ("text", "content", kind) if isinstance(fields.get(k), str)), None)
    if media := next((word for word in _MEDIA if word in kind), None):
        notes.repair("R15")
        return placeholder(media, fields)
    notes.skip(f"content part {kind or 'without a type'}")
    return None


def placeholder(media: str, fields: Mapping[str, Any]) -> str:
    """Return what stands for a media part: kind, media type and size where they are recorded."""
    source = obj(fields.get("source"))
    url = fields.get("image_url") or fields.get("url") or source.get("data") or fields.get("data")
    url = obj(url).get("url") if isinstance(url, dict) else url
    mime = text(source.get("media_type")) or text(fields.get("mime")) or text(fields.get("mimeType"))
    encoded = text(url)
    if encoded.startswith("data:"):
        head, _, encoded = encoded.partition(",")
        mime = mime or head[5:].split(";")[0]
    elif "://" in encoded[:20]:
        encoded = ""
    size = f", {max(1, round(len(encoded) * 3 / 4 / 1000))} kB" if encoded else ""
    return f"[{' '.join(word for word in (media, mime[:60]) if word)}{size} removed]"


def thinking_text(parts: Any) -> str:
    """Return the visible text of reasoning parts; encrypted or redacted ones have none."""
    found = []
    for part in arr(parts):
        fields = obj(part)
        shown = part if isinstance(part, str) else fields.get("text") or fields.get("thinking")
        if isinstance(shown, str) and shown:
            found.append(shown)
    return "\n".join(found)


def tokens(usage: Any, *keys: str) -> int | None:
    """Return the sum of the usage fields that are there, None where none is."""
    found = [value for key in keys if (value := number(obj(usage).get(key))) is not None and value >= 0]
    return int(sum(found)) if found and sum(found) < 1e12 else None
