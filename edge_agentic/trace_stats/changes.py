"""What a redaction did to the prompts of a trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bfcl_gate.model.chat import ChatRequest
from edge_agentic.trace import Group, Scan, open_trace
from edge_agentic.trace.trajectory import build_trajectory
from edge_agentic.trace_stats.sizes import Plan


@dataclass(slots=True)
class TokenChange:
    """Prompt tokens of the trajectories that changed, summed over their turns, `largest` by any one prompt."""

    trajectories: int = 0
    turns: int = 0
    before: int = 0
    after: int = 0
    largest: int = 0


def token_change(source: Path, redacted: Path, plan: Plan) -> TokenChange:
    """Compare two files that hold the same trajectories in the same order."""
    change = TokenChange()
    with open_trace(source) as file, open_trace(redacted) as other:
        for before, after in zip(Scan(file), Scan(other), strict=True):
            if [row.value for row in before.rows] != [row.value for row in after.rows]:
                _add(change, _prompt_tokens(before, plan), _prompt_tokens(after, plan))
    return change


def _prompt_tokens(group: Group, plan: Plan) -> Sequence[int]:
    requests: list[ChatRequest] = [turn.request() for turn in build_trajectory(group.rows).turns]
    return [planned.prompt_tokens for planned in plan(requests) or ()]


def _add(change: TokenChange, before: Sequence[int], after: Sequence[int]) -> None:
    change.trajectories += 1
    change.turns += len(before)
    change.before += sum(before)
    change.after += sum(after)
    change.largest = max([change.largest, *(abs(a - b) for a, b in zip(before, after, strict=True))])
