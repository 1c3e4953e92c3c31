"""A new trace file, which appears whole and valid or not at all."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from bfcl_gate.errors import InputError, SourceError
from edge_agentic.trace.rows import open_trace
from edge_agentic.trace.scan import Scan
from edge_agentic.trace.validate import validate


@contextmanager
def new_trace(output: Path, *, source: Path | None = None, force: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write a trace into; it becomes `output` once the project's own loader has accepted it.

    Raises InputError where `output` exists (without `force`), is `source` or has no folder, and where what was
    written is no valid trace; SourceError where the disk refuses.
    """
    check_output(output, source=source, force=force)
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            yield file
        _require_valid(part, output)
        part.replace(output)
    except OSError as error:
        raise SourceError(
            f"{output}: cannot be written ({error.strerror}). Free some space, or name a file elsewhere."
        ) from error
    finally:
        part.unlink(missing_ok=True)


def check_output(output: Path, *, source: Path | None = None, force: bool = False) -> None:
    """Raise InputError where a trace cannot be written to `output`, or would overwrite a file unasked."""
    if str(output) == "-":
        raise InputError(
            "-: a trace is checked before it is there, so none is written to standard output; name a file."
        )
    if output.exists() and source is not None and output.resolve() == source.resolve():
        raise InputError(f"{output}: is the trace that is read; name another file for the new one.")
    if output.exists() and not output.is_file():
        raise InputError(f"{output}: is no regular file; name a file for the new trace.")
    if output.exists() and not force:
        raise InputError(
            f"{output}: exists already, and nothing is overwritten unasked. Name another file, or give --force."
        )
    if not output.parent.is_dir():
        raise InputError(f"{output}: its folder does not exist; make it first, or name another file.")


def _require_valid(part: Path, output: Path) -> None:
    with open_trace(part) as file:
        errors = validate(Scan(file), keep=1).errors
    if errors.count:
        raise InputError(
            f"What was made is no valid trace, so nothing is written: {errors.first[0].describe(output)}"
        )


def write_rows(file: BinaryIO, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON Lines, in ASCII: no character inside a text can be taken for the end of a line."""
    for row in rows:
        file.write(json.dumps(row).encode("ascii") + b"\n")
