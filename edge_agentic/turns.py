"""The record everything here speaks: one replayed turn with its readings."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from bfcl_gate.model.engine import READINGS, Readings


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult(Readings):
    """One row of turns.jsonl. Times are integer nanoseconds; what is not known is None.

    `turn` is the trace row's turn number, `position` the 0-based place among the turns of the run.
    `possible_tokens` is what a perfect cache could have reused. `agreed_tokens` is the number of forced
    steps whose argmax was the recorded token and `token_agreement` its share of the output tokens.
    """

    trajectory_id: str
    turn: int
    position: int
    decode: str  # forced or natural
    input_tokens: int | None
    possible_tokens: int | None
    reused_tokens: int | None
    evaluated_tokens: int | None
    output_tokens: int | None
    submitted_ns: int
    rendered_ns: int | None
    first_token_ns: int | None
    token_ns: tuple[int, ...]
    completed_ns: int
    text: str | None
    tool_calls: tuple[Mapping[str, Any], ...] | None
    native: bool | None
    finish_reason: str | None
    error: str | None
    agreement: float | None
    token_agreement: float | None
    agreed_tokens: int | None = None
    answer_extends: bool | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the journal row: a flat JSON object, the readings last."""
        own = [f.name for f in fields(self) if f.name not in READINGS]
        row = {name: getattr(self, name) for name in (*own, *READINGS)}
        row["token_ns"] = list(self.token_ns)
        row["tool_calls"] = None if self.tool_calls is None else [dict(c) for c in self.tool_calls]
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "TurnResult":
        """Build a turn from its journal row; unknown keys are ignored."""
        names = {f.name for f in fields(cls)}
        values = {key: value for key, value in row.items() if key in names}
        values["token_ns"] = tuple(row["token_ns"])
        values["tool_calls"] = None if row["tool_calls"] is None else tuple(row["tool_calls"])
        return cls(**values)
