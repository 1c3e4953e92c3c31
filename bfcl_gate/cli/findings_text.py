"""Findings as text for a terminal: a status word, what was found, and below it what that means."""

from collections.abc import Iterable, Iterator
from textwrap import wrap

from bfcl_gate.cli.shell import safe_text
from bfcl_gate.model.findings import Finding

_WIDTH = 110


def findings_text(title: str, findings: Iterable[Finding]) -> str:
    """Return the table of findings with a title, ending in a newline."""
    return "".join(findings_lines(title, findings))


def findings_lines(title: str, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the lines of a table as its findings come: a probe of a slow server takes its time."""
    yield f"{title}\n"
    for finding in findings:
        head = f"  {finding.status:<8} {finding.name:<14} "
        detail, *more = wrap(_one_line(finding.detail), _WIDTH - len(head)) or [""]
        yield f"{head}{detail}\n"
        for line in (*more, *wrap(f"({finding.meaning})", _WIDTH - len(head))):
            yield f"{' ' * len(head)}{line}\n"


def _one_line(text: str) -> str:
    return safe_text(" ".join(text.split()))
