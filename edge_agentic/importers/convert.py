"""The import: a file or folder in, a checked trace file and a report out."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError, SourceError
from edge_agentic.importers.detect import detect, refusal
from edge_agentic.importers.files import files_of, read_file
from edge_agentic.importers.formats import read_as
from edge_agentic.importers.normal import Notes, Session
from edge_agentic.importers.recording import JOURNAL_ENDING, RECORDING
from edge_agentic.importers.report import Report, make_report
from edge_agentic.importers.shape import NEEDS_MODEL, SHAPES
from edge_agentic.importers.shape_text import Synthesis, note_exactness
from edge_agentic.importers.source import Source
from edge_agentic.importers.trajectories import Options, name_and_link
from edge_agentic.trace import Trace, check_trace
from edge_agentic.trace.write import check_output

_SHOWN = 5


def import_trace(
    source: Path,
    output: Path,
    options: Options,
    *,
    format_name: str | None = None,
    force: bool = False,
    synthesis: Synthesis | None = None,
) -> Report:
    """Import a recording, write it as a trace file and return what was done.

    Raises InputError where nothing of it can be imported, where `output` exists (without `force`), and
    where what was made does not pass the project's own loader; then nothing is left at `output`.
    """
    if not source.exists():
        raise InputError(f"{source}: there is no such file or folder; name the recording of an agent.")
    check_output(output, force=force)
    if output.exists() and output.resolve() == source.resolve():
        raise InputError(f"{output}: is the recording itself; name another file for the trace.")
    notes = Notes()
    groups = _read(source, format_name, synthesis, notes)
    taken: set[str] = set()
    named = [
        each
        for form, sessions in groups.items()
        for each in name_and_link(sessions, options, notes, form, taken)
    ]
    if not named:
        raise InputError(_nothing(source, groups, notes))
    metadata = _metadata(source, list(groups), synthesis)
    trace = _write(output, [metadata, *(row for each in named for row in each.rows)], len(named))
    if synthesis:
        note_exactness(synthesis, named, trace.trajectories, notes)
    return make_report(source, output, trace, list(groups), named, notes, options)


def _read(
    source: Path, format_name: str | None, synthesis: Synthesis | None, notes: Notes
) -> dict[str, list[Session]]:
    """Return the sessions of all files by format. One bad file of a folder is named in the report."""
    by_format: dict[str, list[Source]] = {}
    refused: list[str] = []
    for path in files_of(source):
        try:
            read = read_file(path, notes)
            form = format_name or detect(read)
        except InputError as error:
            refused.append(str(error))
            continue
        if form is None:
            refused.append(refusal(read))
        elif form in SHAPES and synthesis is None:
            refused.append(f"{path}: {NEEDS_MODEL}")
        else:
            by_format.setdefault(form, []).append(read)
    if not by_format:
        more = f" ({len(refused) - 1} more files were refused.)" if len(refused) > 1 else ""
        raise InputError((refused[0] if refused else f"{source}: holds no file to import.") + more)
    for text in refused[:_SHOWN]:
        notes.remark(f"Left out: {text}")
    if len(refused) > _SHOWN:
        notes.remark(f"Left out: {len(refused) - _SHOWN} more files.")
    return {form: read_as(form, sources, notes, synthesis) for form, sources in by_format.items()}


def _nothing(source: Path, groups: Mapping[str, Sequence[Session]], notes: Notes) -> str:
    seen = ", ".join(f"{kind} ({count})" for kind, count in notes.skipped.most_common(6))
    why = " ".join(notes.remarks) or "No reply of a model that follows a user's text was found."
    return (
        f"{source}: read as {', '.join(groups)}, but holds no conversation that could be replayed. {why}"
        f"{f' Records left out: {seen}.' if seen else ''} If the format is another one, name it with --format."
    )


def _metadata(source: Path, formats: Sequence[str], synthesis: Synthesis | None) -> dict[str, Any]:
    made = synthesis.describe() if synthesis and set(formats) & set(SHAPES) else {}
    recorded = list(formats) == [RECORDING]
    made_by = {"recorder": f"edge-agentic traces {'record' if recorded else 'import'}"}
    return {
        "_type": "dataset_metadata",
        "name": source.name.removesuffix(JOURNAL_ENDING),
        **(made_by if recorded else {**made_by, "agent": ", ".join(formats)}),
        "imported_at": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "schema_version": 1,
        **made,
    }


def _write(output: Path, rows: Sequence[Mapping[str, Any]], trajectories: int) -> Trace:
    """Write, load with the project's loader, then move into place. Returns what was loaded."""
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(_lines(rows))
        trace = check_trace(part)
        if trace.errors or len(trace.trajectories) != trajectories:
            fault = trace.errors[0].describe(output) if trace.errors else "trajectories were lost."
            raise InputError(f"{output}: what was imported is no valid trace, so nothing is written: {fault}")
        part.replace(output)
    except OSError as error:
        raise SourceError(
            f"{output}: cannot be written ({error.strerror}). Free some space, or name a file elsewhere."
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return trace


def _lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        # Only line breaks of JSON Lines end a line: others inside texts are escaped.
        yield json.dumps(row, ensure_ascii=True) + "\n"
