"""Whether a template keeps what it wrote: is each prompt of a trajectory a prefix of the next one's?

A cache holds the tokens of the last prompt. A template that changes the past (drops reasoning, moves a
reminder, writes the time) makes it evaluate again all that follows the change.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bfcl_gate.model.engine import Departure
from edge_agentic.trace import Turn

SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstableTurn:
    """The first turn of a trajectory whose prompt does not begin with the prompt of the turn before.

    `position` is the first differing token (0-based), `lost_tokens` what the cache holds from there on in vain;
    `kept` ends before that token, `was` and `now` begin with it, untrusted text as it is. `turns` counts such
    turns of the trajectory.
    """

    trajectory_id: str
    turn: int
    turns: int
    position: int
    lost_tokens: int
    kept: str
    was: str
    now: str


class Stability:
    """The check of any number of trajectories: `add` each one's turns, as an engine has planned them.

    `checked` counts the prompts that follow another, `unstable` those of them that leave it, `first` has the first
    such turn of each trajectory, `SHOWN` at most.
    """

    def __init__(self) -> None:
        self.checked = 0
        self.unstable = 0
        self.lost_tokens = 0
        self.first: list[UnstableTurn] = []

    def add(self, turns: Sequence[Turn], departures: Sequence[Departure | None]) -> None:
        """Add one trajectory's turns and `PlannedTurn.departure` of each."""
        found = [(turn, each) for turn, each in zip(turns, departures, strict=True) if each]
        self.checked += max(0, len(turns) - 1)
        self.unstable += len(found)
        self.lost_tokens += sum(each.held - each.at for _, each in found)
        if found and len(self.first) < SHOWN:
            turn, each = found[0]
            self.first.append(
                UnstableTurn(
                    trajectory_id=turn.trajectory_id,
                    turn=turn.number,
                    turns=len(found),
                    position=each.at,
                    lost_tokens=each.held - each.at,
                    kept=each.kept,
                    was=each.before,
                    now=each.now,
                )
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of `traces stats`."""
        return {
            "checked_turns": self.checked,
            "unstable_turns": self.unstable,
            "lost_tokens": self.lost_tokens,
            "first": [asdict(each) for each in self.first],
        }
