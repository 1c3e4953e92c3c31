"""Volatile text near the start of prompts, and what of a cache it costs.

A time stamp in the system prompt makes all that follows it new: from turn to turn where the agent writes it anew
for each request, and between trajectories of one agent where a server could share the beginning of their prompts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from bfcl_gate.model.chat import ChatRequest
from edge_agentic.trace import Trajectory, Turn
from edge_agentic.trace.rows import Row
from edge_agentic.trace_stats.heads import Difference, Head, compare, head_of, with_head
from edge_agentic.trace_stats.sizes import Plan, TurnSize
from edge_agentic.trace_stats.volatile_forms import masked

SHOWN = 20
_FAMILIES = 1000
_FAMILY_CHARACTERS = 300
"""Trajectories whose system prompts begin with as much text alike, volatile text apart, are of one agent."""


@dataclass(slots=True)
class _Finding:
    """One place of volatile text. `possible` and `lost` are tokens where a plan could count them, else characters."""

    scope: str  # "turns" or "trajectories"
    part: str
    kind: str
    position: int
    trajectory_id: str
    was: str
    now: str
    times: int = 0
    possible: int = 0
    lost: int = 0


class VolatileText:
    """Looks at any number of trajectories: `add` each one.

    With a `plan` costs are tokens under a model's template, without one characters of the texts.
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self._plan = plan
        self._families: dict[str, tuple[Head, ChatRequest]] = {}
        self._findings: dict[tuple[str, str, str, int], _Finding] = {}

    def add(self, rows: Sequence[Row], trajectory: Trajectory, sizes: Sequence[TurnSize]) -> None:
        """Look at one trajectory, given its rows in turn order and the sizes of its turns."""
        self._between_turns(rows, trajectory, sizes)
        self._between_trajectories(trajectory)

    def _between_turns(self, rows: Sequence[Row], trajectory: Trajectory, sizes: Sequence[TurnSize]) -> None:
        """Find system prompts that rows state anew; the replay, like MLPerf's, uses the first one only."""
        recorded = _recorded_prompts(rows, trajectory.turns)
        if len(set(recorded)) < 2:
            return
        requests = [turn.request() for turn in trajectory.turns]
        sent = [
            with_head(request, head_of(request)._replace(system=system))
            for request, system in zip(requests, recorded, strict=True)
        ]
        changes = [
            (place, found)
            for place, (before, after) in enumerate(pairwise(recorded))
            if before != after and (found := compare(Head(before, "", ""), Head(after, "", "")))
        ]
        if not changes:
            return
        _, first = changes[0]
        finding = self._finding("turns", trajectory.id, first)
        finding.times += len(changes)
        possible, kept = self._kept(requests), self._kept(sent)
        if possible is None or kept is None:
            finding.possible += sum(size.prompt_characters for size in sizes[:-1])
            finding.lost += sum(sizes[place].prompt_characters - found.actual for place, found in changes)
        else:
            finding.possible += possible
            finding.lost += max(0, possible - kept)

    def _between_trajectories(self, trajectory: Trajectory) -> None:
        """Compare the beginning of a trajectory with that of the first one of the same agent."""
        request = replace(trajectory.turns[0].request(), recorded=None)
        head = head_of(request)
        family = masked(head.system[: 10 * _FAMILY_CHARACTERS])[:_FAMILY_CHARACTERS]
        if family not in self._families:
            if len(self._families) < _FAMILIES:
                self._families[family] = (head, request)
            return
        first_head, first_request = self._families[family]
        found = compare(first_head, head)
        if found is None:
            return
        finding = self._finding("trajectories", trajectory.id, found)
        finding.times += 1
        possible = self._kept([first_request, with_head(request, found.healed)])
        kept = self._kept([first_request, request])
        if possible is None or kept is None:
            finding.possible += found.possible
            finding.lost += found.possible - found.actual
        else:
            finding.possible += possible
            finding.lost += max(0, possible - kept)

    def _kept(self, requests: Sequence[ChatRequest]) -> int | None:
        """Return the prompt tokens that a cache keeps from each of these requests to the next."""
        planned = self._plan(requests) if self._plan else None
        return None if planned is None else sum(each.possible_natural for each in planned)

    def _finding(self, scope: str, trajectory_id: str, found: Difference) -> _Finding:
        key = (scope, found.part, found.kind, found.position)
        return self._findings.setdefault(
            key,
            _Finding(
                scope=scope,
                part=found.part,
                kind=found.kind,
                position=found.position,
                trajectory_id=trajectory_id,
                was=found.was,
                now=found.now,
            ),
        )

    def to_list(self) -> list[dict[str, Any]]:
        """Return the dearest findings for JSON; texts are untrusted."""
        findings = sorted(
            (each for each in self._findings.values() if each.lost), key=lambda each: -each.lost
        )
        return [
            {
                "scope": each.scope,
                "part": each.part,
                "kind": each.kind,
                "position_characters": each.position,
                "first_trajectory": each.trajectory_id,
                "was": each.was,
                "now": each.now,
                "times": each.times,
                "unit": "tokens" if self._plan else "characters",
                "possible_reuse": each.possible,
                "lost_reuse": each.lost,
                "lost_share": each.lost / each.possible if each.possible else None,
            }
            for each in findings[:SHOWN]
        ]


def _recorded_prompts(rows: Sequence[Row], turns: Sequence[Turn]) -> list[str]:
    """Return the system prompt that was recorded last at each turn, "" before there is one."""
    stated = {int(row.value["turn"]): row.value["system"] for row in rows if row.value.get("system")}
    if len(stated) < 2:
        return []
    prompts = []
    latest = stated[min(stated)]
    for row in rows:
        latest = stated.get(int(row.value["turn"]), latest)
        if row.value["role"] != "assistant":
            prompts.append(latest)
    return prompts
