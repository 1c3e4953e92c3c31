"""Files to JSON values, within bounds. What a recording agent left half written is counted, not fatal."""

import gzip
import json
import lzma
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from bfcl_gate.errors import InputError
from edge_agentic.importers.normal import Notes

MAX_FILE_BYTES = 512 * 2**20
MAX_DOCUMENT_BYTES = 256 * 2**20
MAX_LINE_BYTES = 64 * 2**20
MAX_FILES = 20_000
MAX_DEPTH = 90
UNPACKING = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What damaged or unreadable files raise while they are unpacked."""
_BOM = b"\xef\xbb\xbf"
_MEANINGS = {
    b"\x28\xb5\x2f\xfd": "it is compressed with zstd; unpack it first (`zstd -d FILE`)",
    b"PK\x03\x04": "it is a zip archive of an unknown kind; unpack it first",
    b"\x7fELF": "it is a program",
    b"%PDF": "it is a PDF",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One JSON value of a file with its 1-based line (1 for a whole document)."""

    line: int
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file: a JSON document (`document` is its value) or JSON Lines (`records`, one or many)."""

    path: Path
    records: tuple[Record, ...]
    is_document: bool = False

    @property
    def document(self) -> Any:
        """The value of a file that holds one JSON document, else None."""
        return self.records[0].value if self.is_document else None

    @property
    def stem(self) -> str:
        """The file's name without the endings recordings have."""
        stem = self.path.name
        for ending in (
            ".journal",
            ".gz",
            ".jsonl",
            ".json",
            ".yaml",
            ".yml",
            ".traj",
            ".eval",
            ".trajectory",
            ".cassette",
        ):
            stem = stem.removesuffix(ending)
        return stem or "trace"


def read_source(path: Path, data: bytes, notes: Notes) -> Source:
    """Read a file's bytes as JSON. Raises InputError where it is too large or holds no JSON at all."""
    for magic, meaning in _MEANINGS.items():
        if data.startswith(magic):
            raise InputError(f"{path}: cannot be imported: {meaning}.")
    data = data.removeprefix(_BOM)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path}: cannot be imported: it is UTF-16; save it as UTF-8.")
    first_line, _, rest = data.partition(b"\n")
    # A first line that is complete JSON, and more behind it, is JSON Lines; all else is tried as a document.
    if not (rest.strip() and _parses(first_line)):
        if len(data) > MAX_DOCUMENT_BYTES:
            raise InputError(
                f"{path}: is one JSON document of more than {MAX_DOCUMENT_BYTES // 2**20} MiB; export one session."
            )
        try:
            return Source(path=path, records=(Record(line=1, value=_loads(data, notes)),), is_document=True)
        except ValueError:
            pass
    records = tuple(_records(data, notes))
    if not records:
        raise InputError(f"{path}: cannot be imported: no line of it is JSON. {_no_json(data)}")
    return Source(path=path, records=records)


def _no_json(data: bytes) -> str:
    if b"log_server_r: " in data or b"streamed chunk: data: " in data:
        return (
            "It is a log of llama.cpp's server without the bodies of requests: older versions log them with `-v`, "
            "newer ones do not; record them with `edge-agentic traces record`."
        )
    if b"# aider chat started at" in data[:4096]:
        return (
            "It is Aider's Markdown history, which holds neither system prompt nor files nor tool calls; "
            "record Aider's requests at a proxy instead (docs/traces.md)."
        )
    return "docs/traces.md names the files that agents write."


def read_bytes(path: Path) -> bytes:
    """Return what is in a file, unpacked where it is gzip. Raises InputError where that cannot be, or is nothing."""
    try:
        with path.open("rb") as file:
            data = _limited(file, path)
        if data.startswith(b"\x1f\x8b"):
            with gzip.open(path) as unpacked:
                data = _limited(unpacked, path)
    except (*UNPACKING, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot read it ({reason}); expected a recording of an agent.") from error
    if not data.strip():
        raise InputError(f"{path}: cannot be imported: the file is empty.")
    return data


def _limited(file: "BinaryIO | gzip.GzipFile", path: Path) -> bytes:
    data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise InputError(
            f"{path}: is larger than {MAX_FILE_BYTES // 2**20} MiB; export one session, or split the file at "
            "its lines."
        )
    return data


def _records(data: bytes, notes: Notes) -> Iterator[Record]:
    start, line = 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        raw, start, line = data[start:end], end + 1, line + 1
        if not raw.strip():
            continue
        try:
            if len(raw) > MAX_LINE_BYTES:
                raise ValueError
            value = _loads(raw, notes)
        except ValueError:
            notes.repair("R18")
            continue
        if isinstance(value, dict | list):
            yield Record(line=line, value=value)
        else:
            notes.repair("R18")


def _parses(raw: bytes) -> bool:
    try:
        return isinstance(_loads(raw, Notes()), dict | list)
    except ValueError:
        return False


def _loads(raw: bytes, notes: Notes) -> Any:
    """Return the JSON value, not finite numbers as null. Raises ValueError for every reason not to."""
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        decoded = raw.decode("utf-8", errors="replace")
        notes.repair("R17")
    return parse_json(decoded)


def parse_json(document: str) -> Any:
    """Parse JSON of unknown origin. Raises ValueError also where it is nested too deeply."""
    try:
        return _not_deep(json.loads(document, parse_constant=lambda _: None, parse_float=_finite))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_json_at(text: str, start: int) -> Any:
    """Parse the JSON value that begins at a position of a text, whatever follows it. Raises ValueError."""
    decoder = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)
    try:
        return _not_deep(decoder.raw_decode(text, start)[0])
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _not_deep(value: Any) -> Any:
    if too_deep(value):
        raise ValueError("nested too deeply")
    return value


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def too_deep(value: Any) -> bool:
    """Whether containers lie inside each other more than MAX_DEPTH levels."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (
                parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list) else ()
            )
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
