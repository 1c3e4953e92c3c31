"""A trace as the MLPerf loader takes it, with nothing left for it to assume.

That loader reads the file into columns and takes 128 tokens and no streaming where a row says nothing. In a
column with gaps, whole numbers become floats and true becomes 1.0; so the limit and `stream` stand on every row,
and the metadata row, which would be a gap in each column, stays behind. Ids that look like numbers would become
numbers. Source: `agentic_inference_dataset.py` of mlcommons/endpoints, pandas.read_json.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.words import count
from edge_agentic.trace.rows import Row, open_trace
from edge_agentic.trace.rules import conversation_id
from edge_agentic.trace.scan import Group, Scan
from edge_agentic.trace.secrets import secrets_in
from edge_agentic.trace.trajectory import Turn, build_trajectory
from edge_agentic.trace.write import new_trace, write_rows


@dataclass(slots=True)
class Export:
    """What was written: counts of trajectories and turns, ids that had to change, rows by kind of secret."""

    trajectories: int = 0
    turns: int = 0
    renamed: int = 0
    secrets: dict[str, int] = field(default_factory=dict)


def export_trace(
    source: Path, output: Path, *, max_tokens: int, allow_secrets: bool = False, force: bool = False
) -> Export:
    """Write a trace for exchange with MLPerf; `max_tokens` is the limit of turns that state none.

    Raises InputError where `source` is no valid trace or holds secrets (without `allow_secrets`), and as
    `new_trace` does; then nothing is written.
    """
    export = Export()
    with open_trace(source) as file, new_trace(output, source=source, force=force) as new:
        for group in Scan(file):
            _require_sound(group, source)
            rows = list(exported_rows(group.rows, max_tokens))
            for kind, found in secrets_in(rows).items():
                export.secrets[kind] = export.secrets.get(kind, 0) + found
            export.trajectories += 1
            export.turns += sum(row["role"] != "assistant" for row in rows)
            export.renamed += rows[0]["conversation_id"] != conversation_id(group.rows[0])
            write_rows(new, rows)
        if export.secrets and not allow_secrets:
            raise InputError(_secrets_found(source, export.secrets))
    return export


def _require_sound(group: Group, source: Path) -> None:
    errors = [problem for problem in group.problems if not problem.warning]
    if errors:
        raise InputError(
            f"{errors[0].describe(source)} Nothing is exported; `edge-agentic traces validate` lists all errors."
        )


def _secrets_found(source: Path, secrets: Mapping[str, int]) -> str:
    found = ", ".join(f"{kind} in {count(rows, 'row')}" for kind, rows in secrets.items())
    return (
        f"{source}: holds what looks like secrets ({found}), so nothing is exported. Replace them with "
        "`edge-agentic traces redact`, or export all the same with --allow-secrets."
    )


def exported_rows(members: Sequence[Row], max_tokens: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one trajectory, given in turn order, as they are exported."""
    turns = {turn.number: turn for turn in build_trajectory(members).turns}
    name = _safe_id(conversation_id(members[0]))
    first = min((row for row in members if row.value["role"] == "user"), key=lambda row: row.line)
    stream = True if first.value.get("stream") is None else first.value["stream"]
    limit = max_tokens
    for row in members:
        number = int(row.value["turn"])
        turn = turns.get(number)
        limit = (turn.max_tokens or max_tokens) if turn else limit
        own = {"conversation_id": name, "turn": number, "max_new_tokens": limit}
        if row.value.get("stream") is None:
            own["stream"] = stream
        yield {**row.value, **own, **(_tools(turn, row, members[0]) if turn else {})}


def _tools(turn: Turn, row: Row, first: Row) -> dict[str, Any]:
    """Return the tools a row has to state: those it would not be given by the first row, which is its default."""
    stated = row.value.get("tools")
    given = (first.value.get("tools") or []) if stated is None else stated
    return {} if list(turn.tools) == given else {"tools": list(turn.tools)}


def _safe_id(name: str) -> str:
    try:
        float(name)
    except ValueError:
        return name
    return f"id-{name}"
