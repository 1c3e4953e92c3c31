"""Bytes to rows: every line of a trace file as one JSON object, or the reason why it is none.

A trace file is untrusted: it may be huge, binary, cut off or made to exhaust a parser.
"""

import json
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bfcl_gate.errors import InputError
from bfcl_gate.files import MAX_DEPTH, NumberError, is_unicode, plain_decoder, too_deep
from edge_agentic.trace.problems import Problem

if TYPE_CHECKING:
    import hashlib

MAX_LINE_BYTES = 64 * 2**20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the file that holds a JSON object; `line` is 1-based."""

    line: int
    value: dict[str, Any]


class _NotARowError(ValueError):
    """This line cannot be used; the message says why and what to do."""


def open_trace(path: Path) -> BinaryIO:
    """Open a trace file. Raises InputError where there is no regular file to read.

    A pipe or a device may never end, and what reads a trace may want to read it again.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{path}: this is a folder; expected a trace file (JSON Lines). Name the file.")
        if not stat.S_ISREG(mode):
            raise InputError(
                f"{path}: this is a pipe, socket or device; expected a regular file (JSON Lines). Write it to a file "
                "first; `edge-agentic traces validate -` reads standard input."
            )
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        raise _unreadable(str(path), error) from error


def _unreadable(name: str, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(
        f"{name}: cannot read the trace ({reason}); expected a JSON Lines file. "
        "Check the path; `edge-agentic traces list` names the bundled traces."
    )


def rows_of(file: BinaryIO, digest: "hashlib._Hash | None" = None) -> Iterator[Row | Problem]:
    """Yield every line of a JSON Lines file as a row, or as the problem why it is none.

    Blank lines are skipped, as the MLPerf loader skips them. `digest` is given every byte. Raises InputError
    where the file cannot be read on.
    """
    for number, raw in lines_of(file):
        if digest is not None:
            digest.update(raw)
        if raw.isspace():
            continue
        try:
            row = Row(line=number, value=_parse(raw, first=number == 1))
        except _NotARowError as error:
            yield Problem(line=number, field=None, text=str(error))
        else:
            yield row


def lines_of(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines; the rest of an overlong line is dropped, its first part fails to parse."""
    number = 0
    while raw := _line(file):
        number += 1
        yield number, raw
        if len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
            return


def _line(file: BinaryIO) -> bytes:
    try:
        return file.readline(MAX_LINE_BYTES + 1)
    except OSError as error:
        raise _unreadable(str(file.name), error) from error


def _parse(raw: bytes, *, first: bool) -> dict[str, Any]:
    if len(raw) > MAX_LINE_BYTES:
        raise _NotARowError(
            f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB; expected one JSON object a line. "
            "Is this a trace file, and does it have line breaks?"
        )
    if first and raw.startswith(_BOM):
        raise _NotARowError("the file starts with a byte order mark; save it as UTF-8 without one.")
    if b"\0" in raw:
        raise _NotARowError(
            "the line holds NUL bytes; expected text. A binary or UTF-16 file cannot be read."
        )
    value = _json(_text(raw))
    if not isinstance(value, dict):
        raise _NotARowError(
            f"the line is a JSON {_kind(value)}; expected an object with conversation_id, turn and role."
        )
    # Every level takes a bracket; so few of them, those inside texts included, need no closer look.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and too_deep(value):
        raise _NotARowError(
            f"the row is nested more than {MAX_DEPTH} levels deep; no model can be given that."
        )
    if b"\\ud" in raw or b"\\uD" in raw:
        _refuse_surrogates(value)
    return value


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _NotARowError(
            f"byte {error.start + 1} of the line is not valid UTF-8; save the file as UTF-8 "
            "(a compressed file must be unpacked first)."
        ) from error


def _json(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except _NotARowError:
        raise
    except json.JSONDecodeError as error:
        raise _NotARowError(
            f"column {error.colno} is not valid JSON ({error.msg}); expected one complete JSON object a "
            "line. A last line that is cut off means that the file was not written to its end."
        ) from error
    except NumberError as error:
        raise _NotARowError(
            f"the line holds the number {error}; expected one of JSON that has 64 bits, as the MLPerf loader does. "
            "Write it as text, or null."
        ) from error
    except RecursionError as error:
        raise _NotARowError(
            "the JSON is nested too deeply to be read; no model can be given that."
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise _NotARowError(f"the key {twice[:80]!r} stands twice in one object; keep the one that is meant.")
    return value


# Made once: json.loads would make a new one for every line.
_DECODER = plain_decoder(_object)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names[type(value)]


def _refuse_surrogates(value: Any) -> None:
    if not is_unicode(json.dumps(value, ensure_ascii=False)):
        raise _NotARowError(
            "a text holds half a surrogate pair (\\ud800–\\udfff), which has no UTF-8 form and so cannot be "
            "sent to a model; replace it by \\ufffd."
        )
