"""Append-only journals: one flat JSON object a line, `crc32` last, on disk before `append` returns."""

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.files import MAX_DEPTH, read_bytes, too_deep

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # a module has no optional type


def _encode(row: Mapping[str, Any]) -> bytes:
    body = json.dumps(row, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return f'{body[:-1]}{"," if row else ""}"crc32":{zlib.crc32(body.encode())}}}\n'.encode()


def _decode(line: bytes) -> dict[str, Any] | None:
    """Return the row, or None where the line is torn or altered."""
    try:
        row = json.loads(line)
        if not isinstance(row, dict) or "crc32" not in row or _nested(row, line):
            return None
        stored = row.pop("crc32")
        written = _encode(row)
    except (ValueError, RecursionError):  # no JSON, or a NaN or Infinity, which is never written
        return None
    return row if written.rsplit(b":", 1)[1] == f"{stored}}}\n".encode() else None


def _nested(row: dict[str, Any], line: bytes) -> bool:
    """Whether a row is nested deeper than any that is written; so few brackets, texts included, need no look."""
    return line.count(b"{") + line.count(b"[") > MAX_DEPTH and too_deep(row)


# A whole record with something behind it on the same line: its newline was lost, so nothing here is a torn tail.
_HIDDEN_RECORD = re.compile(rb'"crc32":[0-9]+\}.', re.DOTALL)


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a journal without their checksum; a torn tail (a crash while writing) is left out.

    Raises InputError for a file that cannot be read and for a damaged line that was once whole.
    """
    for row, _ in _rows(path):
        yield row


def _rows(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each row with the place in the file, in bytes, at which its line ends."""
    data = read_bytes(path, "the journal of a run")
    if not data.startswith((b"{", b"\0")) and data:  # a power cut may leave zeros
        raise InputError(f"{path}:1: does not begin with a JSON object; expected the journal of a run.")
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
    end = 0
    for number, line in enumerate(lines, start=1):
        end += len(line)
        row = _decode(line) if line.endswith(b"\n") else None
        if row is not None:
            yield row, end
        elif number < len(lines) or line.endswith(b"\n") or _HIDDEN_RECORD.search(line):
            raise InputError(
                f"{path}:{number}: this journal line does not match its checksum, so the file was altered or the "
                "disk is failing; expected one JSON object ending in its crc32. Start a new run in another folder."
            )


def _require_alone(path: Path, file: BinaryIO) -> None:
    """Lock a journal until it is closed. Raises InputError where another process writes it: rows would be lost.

    A system or a disk without such locks goes without.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(
            f"{path}: another process is writing this run. Wait until it is done, or end it and repeat the command."
        ) from error
    except OSError:
        return


class Journal:
    """The open end of one journal file. A torn last line of an earlier crash is cut off on opening.

    Raises InputError for a damaged one and for one that another process writes, SourceError when the disk refuses.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("r+b" if path.exists() else "xb")
            _require_alone(path, self._file)
            keep = max((end for _, end in _rows(path)), default=0)
            self._file.truncate(keep)
            self._file.seek(keep)
        except OSError as error:
            raise SourceError(f"{path}: cannot write the journal ({error.strerror}).") from error
        except InputError:
            self._file.close()
            raise

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row and wait until it is on disk. Raises SourceError when the disk refuses."""
        self.extend((row,))

    def extend(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows that exist already and wait once until they are on disk. Raises SourceError."""
        try:
            self._file.writelines(_encode(row) for row in rows)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SourceError(
                f"{self._path}: cannot write the journal ({error.strerror}). What was finished before is kept; "
                "free some space and continue with --resume."
            ) from error

    def close(self) -> None:
        """Close the file. Raises SourceError when the disk refuses what was not yet written."""
        try:
            self._file.close()
        except OSError as error:
            raise SourceError(f"{self._path}: cannot write the journal ({error.strerror}).") from error

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except SourceError:
            # A full disk refuses the last row again; the error that is on its way already says so.
            if error is None:
                raise
