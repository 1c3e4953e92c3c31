"""A trace file, read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from edge_agentic.trace.checks import check_further
from edge_agentic.trace.problems import Problem
from edge_agentic.trace.rows import RawFile, Row, read_rows
from edge_agentic.trace.rules import check_file, group
from edge_agentic.trace.schema import check_row
from edge_agentic.trace.trajectory import Trajectory, build_trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A file's content: empty `trajectories` where `problems` holds an error.

    `sha256` is that of the bytes that were read, `metadata` the leading `dataset_metadata` row or {}.
    """

    path: Path
    sha256: str
    metadata: Mapping[str, Any]
    trajectories: tuple[Trajectory, ...]
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep the file from being replayed."""
        return tuple(problem for problem in self.problems if not problem.warning)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that do not."""
        return tuple(problem for problem in self.problems if problem.warning)


def check_trace(path: Path) -> Trace:
    """Read a trace and find all its problems. Raises InputError only where there is no file to read."""
    raw = read_rows(path)
    rows = [row for row in raw.rows if not _is_metadata(row)]
    problems = [*raw.problems, *(problem for row in raw.rows for problem in check_row(row))]
    # Rules about rows together say nothing useful while single rows are broken.
    problems = problems or list(check_file(rows))
    usable = not problems
    if usable:
        problems = list(check_further(rows))
    problems.sort(key=lambda problem: problem.line)
    return Trace(
        path=path,
        sha256=raw.sha256,
        metadata=_metadata(raw),
        trajectories=tuple(map(build_trajectory, group(rows))) if usable else (),
        problems=tuple(problems),
    )


def read_trace(path: Path) -> Trace:
    """Read a trace that can be replayed. Raises InputError naming the first error and their number."""
    trace = check_trace(path)
    if trace.errors:
        more = len(trace.errors) - 1
        rest = f" There are {more} more errors; `edge-agentic traces validate` lists them." if more else ""
        raise InputError(f"{trace.errors[0].describe(path)}{rest}")
    return trace


def load_trajectories(path: str | Path) -> tuple[Trajectory, ...]:
    """Return the trajectories of a trace file in file order. Raises InputError where it breaks a rule."""
    return read_trace(Path(path)).trajectories


def _is_metadata(row: Row) -> bool:
    return row.value.get("_type") == "dataset_metadata"


def _metadata(raw: RawFile) -> Mapping[str, Any]:
    return next((row.value for row in raw.rows if _is_metadata(row)), {})
