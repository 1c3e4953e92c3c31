"""A small valid trajectory and ways to change it, for the tests beside this file."""

import json
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]

BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


def call(name: str = "c1", arguments: Any = '{"command": "ls"}') -> dict[str, Any]:
    """One call of the bash tool."""
    return {"id": name, "type": "function", "function": {"name": "bash", "arguments": arguments}}


def result(name: str = "c1", content: Any = "x.py\n") -> dict[str, Any]:
    """One result of a call."""
    return {"tool_call_id": name, "content": content}


def small(name: Any = "a") -> Rows:
    """user, assistant with one call, its result, assistant with text."""
    rows: Rows = [
        {"turn": 1, "role": "user", "content": "list", "system": "be brief", "tools": [BASH]},
        {"turn": 2, "role": "assistant", "tool_calls": [call()]},
        {"turn": 3, "role": "tool", "tool_results": [result()], "delay_seconds": 0.25},
        {"turn": 4, "role": "assistant", "content": "x.py is there"},
    ]
    return [{"conversation_id": name, **row} for row in rows]


def changed(row: int, **fields: Any) -> Rows:
    """The small trajectory with fields of one row (0-based) replaced; `...` takes a field out."""
    rows = small()
    merged = {**rows[row], **fields}
    rows[row] = {key: value for key, value in merged.items() if value is not ...}
    return rows


def write(path: Path, rows: Rows) -> Path:
    """Write rows as JSON Lines and return the path."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
