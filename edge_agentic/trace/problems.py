"""What is wrong with a trace file, said so that its author can repair it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SHOWN = 20
"""Problems named in one message; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One finding: `line` is 1-based (0: the file as a whole), `field` a path such as `tool_calls[0].id`.

    A warning does not keep the file from being replayed; an error is what the MLPerf loader would refuse,
    or what cannot be put to a model at all.
    """

    line: int
    field: str | None
    text: str
    warning: bool = False

    def describe(self, path: Path) -> str:
        """Return the finding as one line, `path:line: field …`."""
        place = f"{path}:{self.line}" if self.line else str(path)
        return f"{place}: {f'`{self.field}` ' if self.field else ''}{self.text}"


@dataclass(slots=True, kw_only=True)
class Findings:
    """The first `keep` problems, and the count of all: a file may have as many as it has lines."""

    keep: int
    first: list[Problem] = field(default_factory=list)
    count: int = 0

    def add(self, problem: Problem) -> None:
        """Count one more."""
        self.count += 1
        if len(self.first) < self.keep:
            self.first.append(problem)


def describe_all(label: str, path: Path, problems: Sequence[Problem], count: int | None = None) -> str:
    """Return the first findings, one a line after `label`, and the number of those left out.

    `problems` are all there are, of which `SHOWN` are named, or the first of `count`.
    """
    shown = problems[:SHOWN] if count is None else problems
    left = (len(problems) if count is None else count) - len(shown)
    lines = [f"{label}{problem.describe(path)}" for problem in shown]
    if left:
        lines.append(f"{label}{path}: … and {left} more.")
    return "\n".join(lines)
