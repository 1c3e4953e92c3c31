"""Importing small recordings, for the tests beside this file."""

import json
from pathlib import Path
from typing import Any

from bfcl_gate.model.scripted_engine import ScriptedEngine
from edge_agentic.importers.convert import import_trace
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolCall, ToolResult, UserText
from edge_agentic.importers.report import Report
from edge_agentic.importers.rows import Limits, Row, build_rows
from edge_agentic.importers.shape_text import Synthesis
from edge_agentic.importers.trajectories import Options
from edge_agentic.trace import read_trace

Rows = dict[str, list[Row]]
"""The rows of each trajectory of a trace file, without the extra keys that every row may have."""

RECORDINGS = {path.name: path for path in sorted((Path(__file__).parent / "recordings").iterdir())}
"""Small recordings of our own, one at least in each format; the name begins with the format's."""

SYNTHESIS = Synthesis(model="scripted", plan=ScriptedEngine(lambda request: "").plan)
"""Texts for traces of lengths, for an engine whose tokens are words."""

EXTRA = (
    "conversation_id",
    "turn",
    "max_new_tokens",
    "stream",
    "source",
    "model",
    "repairs",
    "delay_source",
    "recorded_input_tokens",
    "recorded_output_tokens",
    "recorded_finish_reason",
    "folded",
)


def write_lines(path: Path, *records: Any) -> Path:
    """Write records as JSON Lines; a string stands for itself."""
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def run(source: Path, **options: Any) -> tuple[list[Row], Report]:
    """Import and return all rows of the trace file, and the report. The project's loader has accepted it."""
    output = source.parent / "imported.trace"
    format_name = options.pop("format_name", None)
    options.setdefault("limits", Limits())
    report = import_trace(
        source, output, Options(**options), format_name=format_name, force=True, synthesis=SYNTHESIS
    )
    assert not read_trace(output).errors
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert rows[0]["_type"] == "dataset_metadata"
    return rows[1:], report


def bare(rows: list[Row]) -> Rows:
    """Return the rows by trajectory with only what a model is given, and how they are linked."""
    found: Rows = {}
    for row in rows:
        kept = {key: value for key, value in row.items() if key not in EXTRA}
        found.setdefault(row["conversation_id"], []).append(kept)
    return found


def built(*items: Item, **session: Any) -> tuple[list[Row], dict[str, int]]:
    """Return the bare rows of a session and the repairs it took."""
    notes = Notes()
    rows = build_rows(Session(id="s", items=items, **session), Limits(), notes)
    return [{k: v for k, v in row.items() if k not in EXTRA} for row in rows], dict(notes.repairs)


def user(text: str) -> UserText:
    """A user's text."""
    return UserText(text=text)


def said(text: str, *calls: ToolCall, **fields: Any) -> Reply:
    """A reply with a text and calls."""
    return Reply(text=text, calls=calls, **fields)


def call(id_: str | None = "c1", arguments: Any = '{"command": "ls"}', name: str = "bash") -> ToolCall:
    """A call of bash."""
    return ToolCall(id=id_, name=name, arguments=arguments)


def result(id_: str | None = "c1", text: str = "x.py\n", **times: float) -> ToolResult:
    """A result of a call."""
    return ToolResult(call_id=id_, text=text, **times)


def call_row(id_: str = "c1", arguments: str = '{"command": "ls"}', name: str = "bash") -> Row:
    """A call as the rows hold it."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def result_row(id_: str = "c1", text: str = "x.py\n") -> Row:
    """A result as the rows hold it."""
    return {"tool_call_id": id_, "content": text}
