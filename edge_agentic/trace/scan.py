"""One pass over a trace file, one trajectory in memory at a time."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from edge_agentic.trace.checks import check_further
from edge_agentic.trace.problems import Problem
from edge_agentic.trace.rows import Row, rows_of
from edge_agentic.trace.rules import check_rows, conversation_id, in_turn_order
from edge_agentic.trace.schema import check_row

_PROBLEMS_HELD = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rows of one trajectory, which stand together in the file, and what is wrong with them, by line.

    `rows` are in turn order; there are none where they break a rule. A problem of a metadata row among them is here
    too.
    """

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Run:
    """Neighbouring rows of one trajectory while they are read.

    `cut_off` says that the last line told no trajectory: it may have been the first row of the next one.
    Once `damaged`, the rows are let go, because rules about rows together say nothing useful then.
    """

    name: str | None = None
    line: int = 0
    damaged: bool = False
    cut_off: bool = False
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class Scan:
    """The trajectories of an open trace file, in file order.

    `metadata` is the first `dataset_metadata` row met so far, {} before; `sha256` that of the bytes read so
    far. What is held of earlier trajectories is their ids.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._seen: set[str] = set()
        self._faultless = True
        self.metadata: Mapping[str, Any] = {}

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[Group]:
        """Raises InputError where the file cannot be read on."""
        run = _Run()
        for item in rows_of(self._file, self._digest):
            problems = [item] if isinstance(item, Problem) else check_row(item)
            self._faultless = self._faultless and not problems
            if isinstance(item, Row) and _is_metadata(item):
                self.metadata = self.metadata or item.value
                run.problems += problems
                continue
            name = None if isinstance(item, Problem) else _name(item, problems)
            if name is not None and run.name not in (None, name):
                yield self._group(run)
                run = _Run(damaged=run.cut_off)
            _put(run, item, name, problems)
            if len(run.problems) >= _PROBLEMS_HELD:
                yield Group(rows=(), problems=tuple(run.problems))
                run.problems = []
        yield self._group(run)

    def _group(self, run: _Run) -> Group:
        rows = in_turn_order(run.rows)
        broken = self._broken_rules(run, rows)
        if run.name is not None:
            self._seen.add(run.name)
        usable = bool(rows) and not broken
        problems = [*run.problems, *broken, *(check_further(rows, run.rows) if usable else ())]
        problems.sort(key=lambda problem: problem.line)
        return Group(rows=tuple(rows) if usable else (), problems=tuple(problems))

    def _broken_rules(self, run: _Run, rows: Sequence[Row]) -> list[Problem]:
        if run.name is None:
            text = "holds no trajectory; expected at least one user row."
            return [Problem(line=0, field=None, text=text)] if self._faultless else []
        if run.name in self._seen:
            text = (
                f"returns to {run.name!r} after rows of another trajectory; "
                "all rows of a trajectory must stand together. Move them, or give them an id of their own."
            )
            return [Problem(line=run.line, field="conversation_id", text=text)]
        return list(check_rows(rows))


def _is_metadata(row: Row) -> bool:
    return row.value.get("_type") == "dataset_metadata"


def _name(row: Row, problems: list[Problem]) -> str | None:
    """Return the trajectory a row belongs to, None where its id is none."""
    if any(problem.field == "conversation_id" for problem in problems):
        return None
    return conversation_id(row)


def _put(run: _Run, item: Row | Problem, name: str | None, problems: list[Problem]) -> None:
    run.cut_off = name is None
    if run.name is None and name is not None:
        run.name, run.line = name, item.line
    run.problems += problems
    run.damaged = run.damaged or bool(problems)
    if run.damaged:
        run.rows.clear()
    elif isinstance(item, Row):
        run.rows.append(item)
