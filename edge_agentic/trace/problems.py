"""What is wrong with a trace file, said so that its author can repair it."""

from collections.abc import Sequence
from dataclasses import dataclass
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


def describe_all(label: str, path: Path, problems: Sequence[Problem]) -> str:
    """Return the first `SHOWN` findings, one a line after `label`, and the number of those left out."""
    lines = [f"{label}{problem.describe(path)}" for problem in problems[:SHOWN]]
    if len(problems) > SHOWN:
        lines.append(f"{label}{path}: … and {len(problems) - SHOWN} more.")
    return "\n".join(lines)
