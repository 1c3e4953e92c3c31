"""Everything `traces stats` tells of some files, gathered while they are read: one trajectory in memory at a time."""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from edge_agentic.trace import Group, Scan, open_trace
from edge_agentic.trace.secrets import secrets_in
from edge_agentic.trace.trajectory import build_trajectory
from edge_agentic.trace_stats.sizes import Plan, TurnSize, measure
from edge_agentic.trace_stats.stability import Stability
from edge_agentic.trace_stats.totals import Totals
from edge_agentic.trace_stats.volatile import VolatileText

DRAWN = 200

Watch = Callable[[str, int, int], None]
"""Is told how far a file was read: what is done, bytes read, bytes in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The prompts of one trajectory, turn by turn, in tokens where they are known, else in characters."""

    trajectory_id: str
    prompts: "array[int]"
    delay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedFile:
    """One file and the sizes of its turns."""

    path: Path
    sha256: str
    totals: Totals


@dataclass(slots=True, kw_only=True)
class Survey:
    """What was found. `growth` holds the first `DRAWN` trajectories; `secrets` counts rows by kind of key."""

    plan: Plan | None
    files: list[SurveyedFile] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    stability: Stability = field(default_factory=Stability)
    volatile: VolatileText = field(init=False)
    secrets: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.volatile = VolatileText(self.plan)

    def read(self, path: Path, watch: Watch) -> None:
        """Add a file. Raises InputError where it is no valid trace."""
        totals = Totals()
        with open_trace(path) as file:
            scan = Scan(file)
            size = path.stat().st_size
            for group in _sound(scan, path):
                self._add(group, totals)
                watch(f"Measuring {path.name}", file.tell(), size)
        self.files.append(SurveyedFile(path=path, sha256=scan.sha256, totals=totals))

    def _add(self, group: Group, totals: Totals) -> None:
        trajectory = build_trajectory(group.rows)
        sizes = measure(trajectory, self.plan)
        totals.add(sizes)
        if sizes[0].prompt_tokens is not None:
            self.stability.add(trajectory.turns, [size.departure for size in sizes])
        self.volatile.add(group.rows, trajectory, sizes)
        for kind, rows in secrets_in(row.value for row in group.rows).items():
            self.secrets[kind] = self.secrets.get(kind, 0) + rows
        if len(self.growth) < DRAWN:
            self.growth.append(_growth(trajectory.id, sizes))

    def totals(self) -> Totals:
        """Return the sizes of all files together."""
        if len(self.files) == 1:
            return self.files[0].totals
        together = Totals()
        for file in self.files:
            together.merge(file.totals)
        return together

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of `traces stats`; what is not known is None."""
        return {
            **self.totals().to_dict(),
            "template_stability": self.stability.to_dict() if self.plan else None,
            "volatile_text": self.volatile.to_list(),
            "secrets": dict(sorted(self.secrets.items())),
            "files": [
                {"path": str(file.path), "sha256": file.sha256, **file.totals.to_dict()}
                for file in self.files
            ],
        }


def _sound(scan: Scan, path: Path) -> Iterator[Group]:
    for group in scan:
        errors = [problem for problem in group.problems if not problem.warning]
        if errors:
            raise InputError(
                f"{errors[0].describe(path)} A trace that does not validate is not measured; "
                "`edge-agentic traces validate` lists all errors."
            )
        yield group


def _growth(trajectory_id: str, sizes: tuple[TurnSize, ...]) -> Growth:
    tokens = [size.prompt_tokens for size in sizes if size.prompt_tokens is not None]
    prompts = tokens if len(tokens) == len(sizes) else [size.prompt_characters for size in sizes]
    return Growth(
        trajectory_id=trajectory_id,
        prompts=array("q", prompts),
        delay_s=sum(size.delay_s or 0.0 for size in sizes),
    )
