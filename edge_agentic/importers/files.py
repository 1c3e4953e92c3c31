"""From what the user names to files, and from a file to its JSON whatever contains it."""

import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bfcl_gate.errors import InputError
from edge_agentic.importers.llama_server_log import read_server_log
from edge_agentic.importers.normal import Notes
from edge_agentic.importers.source import (
    MAX_DOCUMENT_BYTES,
    MAX_FILES,
    UNPACKING,
    Record,
    Source,
    parse_json,
    read_bytes,
    read_source,
)
from edge_agentic.importers.yaml_cassette import is_cassette, parse_yaml

MAX_TOTAL_BYTES = 2**30
_ENDINGS = (".json", ".jsonl", ".ndjson", ".traj", ".eval", ".db", ".har", ".gz", ".yaml", ".yml", ".journal")
_SIDECARS = (".meta.json", ".part", "-wal", "-shm")


def files_of(source: Path) -> list[Path]:
    """Return the file itself, or the recordings in a folder and below it in name order."""
    if not source.is_dir():
        return [source]
    found: list[Path] = []
    for path in sorted(source.rglob("*")):
        if path.name.startswith(".") or path.name.endswith(_SIDECARS) or not path.name.endswith(_ENDINGS):
            continue
        if path.is_file():
            found.append(path)
        if len(found) > MAX_FILES:
            raise InputError(
                f"{source}: holds more than {MAX_FILES:,} files; name a folder that holds fewer sessions."
            )
    if sum(path.stat().st_size for path in found) > MAX_TOTAL_BYTES:
        raise InputError(
            f"{source}: holds more than {MAX_TOTAL_BYTES // 2**30} GiB; name a folder that holds fewer sessions."
        )
    return found


def read_file(path: Path, notes: Notes) -> Source:
    """Read JSON, JSON Lines, YAML, a llama-server log, SQLite or zip. Raises InputError for anything else."""
    if path.exists() and not path.is_file():
        raise InputError(
            f"{path}: is no regular file; expected a recording of an agent. Write it to a file first."
        )
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot read it ({reason}); expected a recording of an agent.") from error
    if start.startswith(b"SQLite format 3\0"):
        return _database(path)
    if start.startswith(b"PK\x03\x04"):
        return _archive(path)
    data = read_bytes(path)
    return _cassette(path, data) or _server_log(path, data) or read_source(path, data, notes)


def _cassette(path: Path, data: bytes) -> Source | None:
    """Read a YAML cassette."""
    if not is_cassette(data):
        return None
    try:
        value = parse_yaml(data)
    except ValueError as error:
        raise InputError(f"{path}: this YAML cassette is damaged or too large ({error}).") from error
    return Source(path=path, records=(Record(line=1, value=value),), is_document=True)


def _server_log(path: Path, data: bytes) -> Source | None:
    """Read the log of llama.cpp's server."""
    if b"log_server_r: request:" not in data:
        return None
    requests = read_server_log(data.decode("utf-8", errors="replace"))
    records = tuple(Record(line=line, value=value) for line, value in requests)
    return Source(path=path, records=records) if records else None


def _database(path: Path) -> Source:
    """Read OpenCode's database: one export-shaped document for each session."""
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=2)
        connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
        try:
            records = tuple(_sessions(connection))
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeError) as error:
        raise InputError(
            f"{path}: this SQLite file cannot be read as OpenCode's database ({error}); expected its tables "
            "session, message and part. Export a session with `opencode export` instead, or record the agent's "
            "requests (docs/traces.md)."
        ) from error
    return Source(path=path, records=records)


def _sessions(connection: sqlite3.Connection) -> Iterator[Record]:
    parts: dict[str, list[Any]] = {}
    size = 0
    for key, data, row_id in connection.execute("SELECT message_id, data, id FROM part ORDER BY id"):
        size += len(data) if isinstance(data, str | bytes) else 0
        _check_size(size)
        parts.setdefault(str(key), []).append({"id": row_id, **_object(data)})
    messages: dict[str, list[Any]] = {}
    for row_id, session, data in connection.execute("SELECT id, session_id, data FROM message ORDER BY id"):
        size += len(data) if isinstance(data, str | bytes) else 0
        _check_size(size)
        info = {"id": row_id, **_object(data)}
        messages.setdefault(str(session), []).append({"info": info, "parts": parts.get(str(row_id), [])})
    sessions = connection.execute("SELECT id, parent_id FROM session ORDER BY id")
    for number, (row_id, parent) in enumerate(sessions, start=1):
        info = {"id": str(row_id), "parentID": parent}
        yield Record(line=number, value={"info": info, "messages": messages.get(str(row_id), [])})


def _check_size(size: int) -> None:
    if size > MAX_DOCUMENT_BYTES:
        raise sqlite3.DataError(f"it holds more than {MAX_DOCUMENT_BYTES // 2**20} MiB of messages")


def _object(data: Any) -> dict[str, Any]:
    try:
        value = parse_json(data) if isinstance(data, str) else None
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _archive(path: Path) -> Source:
    """Read an Inspect log: the header and every sample as one document."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise InputError(
                    f"{path}: this zip archive is no Inspect log (it holds no header.json); unpack it and name "
                    "the file inside."
                )
            budget = MAX_DOCUMENT_BYTES
            samples = []
            for name in sorted(names):
                if name.startswith("samples/") and name.endswith(".json"):
                    data = _entry(archive, name, budget)
                    budget -= len(data)
                    samples.append(parse_json(data.decode("utf-8", errors="replace")))
            header = parse_json(_entry(archive, "header.json", budget).decode("utf-8", errors="replace"))
    except NotImplementedError as error:  # what zipfile raises for a compression it does not know
        raise InputError(
            f"{path}: its entries are compressed in a way that cannot be read here ({error}); write the log as "
            "JSON: `inspect log convert --to json`."
        ) from error
    except (*UNPACKING, ValueError, RuntimeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: this Inspect log is damaged or too large ({error}).") from error
    document = {**(header if isinstance(header, dict) else {}), "samples": samples}
    return Source(path=path, records=(Record(line=1, value=document),), is_document=True)


def _entry(archive: zipfile.ZipFile, name: str, budget: int) -> bytes:
    with archive.open(name) as file:
        data = file.read(budget + 1)
    if len(data) > budget:
        raise ValueError(f"more than {MAX_DOCUMENT_BYTES // 2**20} MiB unpacked")
    return data
