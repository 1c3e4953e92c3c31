"""The verdict on a trace file of any size: what is wrong, counted, the first findings named."""

from collections.abc import Iterable
from dataclasses import dataclass

from edge_agentic.trace.problems import Findings
from edge_agentic.trace.scan import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How many usable trajectories and turns a file holds, its errors and its warnings."""

    trajectories: int
    turns: int
    errors: Findings
    warnings: Findings


def validate(groups: Iterable[Group], *, keep: int, strict: bool = False) -> Verdict:
    """Judge a file while it is read, naming `keep` errors and warnings at most; `strict` makes warnings errors."""
    errors, warnings = Findings(keep=keep), Findings(keep=keep)
    trajectories = turns = 0
    for group in groups:
        trajectories += bool(group.rows)
        turns += sum(row.value["role"] != "assistant" for row in group.rows)
        for problem in group.problems:
            (warnings if problem.warning and not strict else errors).add(problem)
    return Verdict(trajectories=trajectories, turns=turns, errors=errors, warnings=warnings)
