"""`edge-agentic traces validate`: check trace files of any size."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from bfcl_gate.cli.progress import transfer
from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError, SourceError
from edge_agentic.report.words import count

if TYPE_CHECKING:
    from edge_agentic.trace import Group, Scan
    from edge_agentic.trace.validate import Verdict

STANDARD_INPUT = "-"

PathsArgument = Annotated[
    list[str],
    typer.Argument(metavar="PATH…", help="Trace files, bundled names or mlperf; - is standard input."),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings are errors.")]
MaxErrorsOption = Annotated[
    int,
    typer.Option("--max-errors", metavar="N", min=1, help="Errors and warnings named for each file."),
]


def validate_command(
    paths: PathsArgument, strict: StrictOption = False, max_errors: MaxErrorsOption = 20
) -> None:
    """Check trace files by the rules of the MLPerf loader, and warn of what is probably not meant.

    A file is read once, one trajectory in memory at a time.
    """
    refused, unseen = [], []
    for name in paths:
        try:
            refused += _judge(name, strict, max_errors)
        except InputError as error:
            refused.append(str(error))
        except SourceError as error:
            unseen.append(str(error))
    if refused:
        raise InputError("\n".join([*refused, *unseen]))
    if unseen:
        raise SourceError("\n".join(unseen))


def _judge(name: str, strict: bool, max_errors: int) -> list[str]:
    """Check one file, say how it is, and return the text of its errors."""
    from edge_agentic.trace import Scan, describe_all
    from edge_agentic.trace.validate import validate

    with _opened(name) as (path, file):
        verdict = validate(_watched(Scan(file), path, file), keep=max_errors, strict=strict)
    errors, warnings = verdict.errors, verdict.warnings
    if warnings.count:
        text = describe_all("Warning: ", path, warnings.first, warnings.count)
        sys.stderr.write(safe_text(f"{text}\n"))
    print(safe_text(f"{path}: {_said(verdict)}"))
    return [describe_all("", path, errors.first, errors.count)] if errors.count else []


@contextmanager
def _opened(name: str) -> Iterator[tuple[Path, BinaryIO]]:
    from edge_agentic.trace import find_trace, open_trace

    if name == STANDARD_INPUT:
        yield Path("standard input"), sys.stdin.buffer
        return
    path = find_trace(name, transfer)
    with open_trace(path) as file:
        yield path, file


def _watched(scan: "Scan", path: Path, file: BinaryIO) -> "Iterator[Group]":
    """Pass the trajectories on, showing how far the file was read."""
    size = path.stat().st_size if file.seekable() and path.exists() else None
    for group in scan:
        if size:
            transfer(f"Checking {path.name}", file.tell(), size)
        yield group


def _said(verdict: "Verdict") -> str:
    if verdict.errors.count:
        return count(verdict.errors.count, "error")
    return f"valid, {count(verdict.trajectories, 'trajectory')}, {count(verdict.turns, 'turn')}"
