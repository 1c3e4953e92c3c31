"""Parts of Gemini's messages, as Gemini CLI and Qwen Code store them."""

import json
from collections.abc import Mapping
from typing import Any

from edge_agentic.importers.content import placeholder
from edge_agentic.importers.normal import Notes, ToolCall, ToolResult
from edge_agentic.importers.values import arr, name, obj, text


def said(content: Any, notes: Notes, *, thought: bool = False) -> str:
    """Return the text of a string or of parts; with `thought` that of the thoughts among them."""
    if isinstance(content, str):
        return "" if thought else content
    parts = []
    for part in arr([content] if isinstance(content, dict) else content):
        fields = obj(part)
        if isinstance(part, str) and not thought:
            parts.append(part)
        elif isinstance(fields.get("text"), str) and (fields.get("thought") is True) == thought:
            parts.append(fields["text"])
        elif not thought and ("inlineData" in fields or "fileData" in fields):
            notes.repair("R15")
            parts.append(placeholder("file", obj(fields.get("inlineData") or fields.get("fileData"))))
    notes.repair("R14", int(len(parts) > 1))
    return "\n".join(parts)


def call(fields: Mapping[str, Any]) -> ToolCall:
    """Return a functionCall."""
    return ToolCall(id=name(fields.get("id")), name=text(fields.get("name")), arguments=fields.get("args"))


def result(fields: Mapping[str, Any], call_id: str | None, ended_s: float | None) -> ToolResult:
    """Return a functionResponse: its output or error as text, any other response as JSON."""
    response = fields.get("response")
    shown = next((v for key in ("output", "error") if isinstance(v := obj(response).get(key), str)), None)
    if shown is None:
        shown = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    return ToolResult(call_id=name(fields.get("id")) or call_id, text=shown, ended_s=ended_s)
