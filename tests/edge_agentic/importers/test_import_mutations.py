"""No damage to a recording ends in a traceback, in a trace that does not load, or in a success without a trace.

EDGE_AGENTIC_MUTATIONS is the number of damaged copies of each recording (default 20); 10000 takes an hour.
"""

import gzip
import io
import json
import os
import sqlite3
import zipfile
from pathlib import Path
from random import Random

import pytest
from damage import mutated
from importing import RECORDINGS, SYNTHESIS

from bfcl_gate.errors import InputError
from edge_agentic.importers.convert import import_trace
from edge_agentic.importers.formats import FORMATS
from edge_agentic.importers.rows import Limits
from edge_agentic.importers.trajectories import Options

COUNT = int(os.environ.get("EDGE_AGENTIC_MUTATIONS", "20"))


def imported(source: Path, output: Path, format_name: str | None) -> bool:
    """Import and return whether it was; anything else than a refusal or a whole trace fails the test."""
    refused, trajectories = "", 0
    try:
        report = import_trace(
            source, output, Options(limits=Limits()), format_name=format_name, synthesis=SYNTHESIS, force=True
        )
        trajectories = report.counts["trajectories"]
    except InputError as error:
        refused = str(error)
    # The import has loaded what it wrote and counted its trajectories.
    assert "is no valid trace" not in refused
    assert output.exists() == (trajectories >= 1) == (not refused)
    output.unlink(missing_ok=True)
    return not refused


def play(
    name: str, data: bytes, tmp_path: Path, formats: tuple[str | None, ...], *, some: bool = True
) -> None:
    """Damage and import `data` COUNT times; `some` of it has to come through."""
    random = Random(name)
    source, output = tmp_path / name, tmp_path / "out.jsonl"
    seen = set()
    for number in range(COUNT):
        damaged = mutated(data, random)
        source.write_bytes(damaged)
        try:
            seen.add(imported(source, output, random.choice(formats)))
        except BaseException:
            kept = tmp_path / f"failed-{number}-{name}"
            kept.write_bytes(damaged)
            raise
    # A test in which everything is refused would prove little.
    assert True in seen or COUNT < 20 or not some


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_damaged_recording_imports_or_is_refused(name: str, tmp_path: Path) -> None:
    form = next(form for form in sorted(FORMATS, key=len, reverse=True) if name.startswith(form))
    play(name, RECORDINGS[name].read_bytes(), tmp_path, (None, form))


def test_a_damaged_database_imports_or_is_refused(tmp_path: Path) -> None:
    export = json.loads(RECORDINGS["opencode.json"].read_text("utf-8"))
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE session (id TEXT, parent_id TEXT)")
        db.execute("CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)")
        db.execute("CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)")
        db.execute("INSERT INTO session VALUES ('ses_1', NULL)")
        for message in export["messages"]:
            key = message["info"]["id"]
            db.execute("INSERT INTO message VALUES (?, 'ses_1', ?)", (key, json.dumps(message["info"])))
            for number, part in enumerate(message["parts"]):
                db.execute("INSERT INTO part VALUES (?, ?, ?)", (f"{key}.{number}", key, json.dumps(part)))
    db.close()
    play("damaged.db", path.read_bytes(), tmp_path, (None, "opencode"))


def test_a_damaged_compressed_recording_imports_or_is_refused(tmp_path: Path) -> None:
    # Nearly every damage makes it unreadable, so nothing has to come through.
    packed = gzip.compress(RECORDINGS["openai.jsonl"].read_bytes(), compresslevel=1, mtime=0)
    play("damaged.jsonl.gz", packed, tmp_path, (None, "openai"), some=False)


def test_a_damaged_archive_imports_or_is_refused(tmp_path: Path) -> None:
    log = json.loads(RECORDINGS["inspect.json"].read_text("utf-8"))
    (sample,) = log.pop("samples")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    play("damaged.eval", buffer.getvalue(), tmp_path, (None, "inspect"))
