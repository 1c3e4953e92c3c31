"""A trace file, read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.words import count
from edge_agentic.trace.problems import Problem
from edge_agentic.trace.rows import open_trace
from edge_agentic.trace.scan import Scan
from edge_agentic.trace.trajectory import Trajectory, build_trajectory

MAX_ERRORS = 1000


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
    """Read a trace whole and find its problems, the first `MAX_ERRORS` errors at least.

    Raises InputError only where there is no file to read.
    """
    trajectories: list[Trajectory] = []
    errors: list[Problem] = []
    warnings: list[Problem] = []
    with open_trace(path) as file:
        scan = Scan(file)
        for group in scan:
            for problem in group.problems:
                (warnings if problem.warning else errors).append(problem)
            if len(errors) >= MAX_ERRORS:
                break
            if group.rows and not errors:
                trajectories.append(build_trajectory(group.rows))
    return Trace(
        path=path,
        sha256=scan.sha256,
        metadata=scan.metadata,
        trajectories=() if errors else tuple(trajectories),
        problems=tuple(sorted(errors + warnings, key=lambda problem: problem.line)),
    )


def read_trace(path: Path) -> Trace:
    """Read a trace that can be replayed. Raises InputError naming the first error and their number."""
    trace = check_trace(path)
    if trace.errors:
        more = len(trace.errors) - 1
        rest = f" `edge-agentic traces validate` lists {count(more, 'more error')}." if more else ""
        raise InputError(f"{trace.errors[0].describe(path)}{rest}")
    return trace


def load_trajectories(path: str | Path) -> tuple[Trajectory, ...]:
    """Return the trajectories of a trace file in file order. Raises InputError where it breaks a rule."""
    return read_trace(Path(path)).trajectories
