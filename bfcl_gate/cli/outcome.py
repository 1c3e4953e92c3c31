"""How a gate leaves the command line: report on stdout, files for CI, exit code."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError, SourceError

if TYPE_CHECKING:
    from bfcl_gate.answers import Answer

_FEW = 20
"""Up to so many misses are listed unasked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What is reported beside the verdict: every miss, one line only, a JUnit file."""

    misses: bool = False
    summary: bool = False
    junit: Path | None = None

    def __post_init__(self) -> None:
        """Raise InputError where the JUnit file cannot be: hours of a run come before it is written."""
        if self.junit is None:
            return
        if self.junit.is_dir():
            raise InputError(f"--junit {self.junit}: is a folder; expected the name of a file to write.")
        if not self.junit.absolute().parent.is_dir():
            raise InputError(
                f"--junit {self.junit}: there is no folder {self.junit.parent}; make it, or name another file."
            )


def leave_with(gate: Mapping[str, Any], answers: "Sequence[Answer]", options: ReportOptions) -> NoReturn:
    """Print the gate and end the program: 0 when it passed or nothing was judged, else 1."""
    from bfcl_gate.gate_text import gate_text, misses_text, summary_line

    if options.summary:
        text = summary_line(gate)
    else:
        missed = [answer for answer in answers if not answer.correct]
        listed = missed if options.misses or len(missed) <= _FEW else []
        text = gate_text(gate) + misses_text(listed)
    try:
        sys.stdout.write(safe_text(text))
        sys.stdout.flush()
    finally:  # a full output is no reason to keep the result from CI
        if options.junit is not None:
            from bfcl_gate.junit import junit_xml

            _write(options.junit, junit_xml(gate))
    raise SystemExit(1 if gate["passed"] is False else 0)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise SourceError(f"--junit {path}: cannot write the file ({error.strerror}).") from error
