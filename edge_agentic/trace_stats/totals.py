"""Sizes of turns added up; a number takes eight bytes, so that a trace of a million turns fits."""

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from edge_agentic.distribution import distribution
from edge_agentic.trace_stats.sizes import TurnSize

_FIELDS = {
    "prompt_tokens": "prompt_tokens",
    "new_tokens_forced": "new_forced",
    "new_tokens_natural": "new_natural",
    "answer_tokens": "answer_tokens",
    "prompt_characters": "prompt_characters",
    "new_characters": "new_characters",
    "answer_characters": "answer_characters",
}


class Totals:
    """The turns of any number of trajectories.

    `columns` holds the known values of each size of a turn by its name in the document, `delays` the waits in
    seconds.
    """

    def __init__(self) -> None:
        self.trajectories = 0
        self.turns = 0
        self.columns = {name: array("q") for name in _FIELDS}
        self.delays = array("d")
        self._asked_forced = 0
        self._extending = 0

    def add(self, turns: Sequence[TurnSize]) -> None:
        """Add one trajectory."""
        self.trajectories += 1
        self.turns += len(turns)
        for name, column in self.columns.items():
            values = (getattr(turn, _FIELDS[name]) for turn in turns)
            column.extend(value for value in values if value is not None)
        self.delays.extend(turn.delay_s for turn in turns if turn.delay_s is not None)
        self._asked_forced += sum(turn.prompt_tokens or 0 for turn in turns if turn.new_forced is not None)
        self._extending += sum(turn.answer_extends is True for turn in turns)

    def merge(self, other: "Totals") -> None:
        """Add all that another one holds."""
        self.trajectories += other.trajectories
        self.turns += other.turns
        for name, column in self.columns.items():
            column.extend(other.columns[name])
        self.delays.extend(other.delays)
        self._asked_forced += other._asked_forced
        self._extending += other._extending

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of `traces stats`; what is not known is None."""
        columns = self.columns
        counted = len(columns["prompt_tokens"]) == self.turns
        sums = {name: sum(column) for name, column in columns.items()}
        total = sums["prompt_tokens"] if counted else None
        forced = sums["new_tokens_forced"] if counted else None
        natural = sums["new_tokens_natural"] if counted else None
        return {
            "trajectories": self.trajectories,
            "turns": self.turns,
            "answered_turns": len(columns["answer_characters"]),
            "largest_prompt_tokens": max(columns["prompt_tokens"], default=0) if counted else None,
            "total_prompt_tokens": total,
            "new_tokens": {"forced": forced, "natural": natural},
            "ideal_reuse": {
                "forced": _reuse(forced, self._asked_forced),
                "natural": _reuse(natural, total),
            },
            "answer_tokens": sums["answer_tokens"] if counted else None,
            "answers_extending_prompt": self._extending if counted else None,
            "delay_s": math.fsum(self.delays),
            "largest_prompt_characters": max(columns["prompt_characters"], default=0),
            "total_prompt_characters": sums["prompt_characters"],
            "answer_characters": sums["answer_characters"],
            "distributions": {
                **{name: distribution(column).to_dict() for name, column in columns.items()},
                "delay_s": distribution(self.delays).to_dict(),
            },
        }


def stats(trajectories: Iterable[Sequence[TurnSize]]) -> dict[str, Any]:
    """Return the JSON object of `traces stats` for these trajectories."""
    totals = Totals()
    for turns in trajectories:
        totals.add(turns)
    return totals.to_dict()


def _reuse(new: int | None, prompt: int | None) -> float | None:
    """Return the share of the prompt tokens that a perfect cache need not evaluate."""
    return None if new is None or not prompt else 1 - new / prompt
