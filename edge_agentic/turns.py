"""The record everything here speaks: one replayed turn with its readings."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

ENDPOINT_READINGS = (
    "request_bytes",
    "first_piece_ns",
    "first_text_ns",
    "first_call_ns",
    "server_prefill_ns",
    "server_decode_ns",
)
"""What only a server's stream tells: fields of TimedResponse, None from a local engine."""

DRAFT_READINGS = (
    "drafted_tokens",
    "accepted_tokens",
    "passes",
    "repeated_tokens",
    "framing_tokens",
    "framing_accepted",
    "argument_tokens",
    "argument_accepted",
    "free_text_tokens",
    "free_text_accepted",
)
"""What speculative decoding did: fields of TimedResponse, None without it; of an endpoint only the first two."""

PROMPT_READINGS = ("held_tokens", "shielded")
"""What is known of the prompt beside its counts: fields of TimedResponse."""

LIBRARY_READINGS = ("library_prefill_ns", "library_decode_ns", "prepare_ns")
"""What only the local engine can tell: fields of TimedResponse, None from an endpoint."""

PASSED_ON = (*ENDPOINT_READINGS, *LIBRARY_READINGS, *DRAFT_READINGS, *PROMPT_READINGS)
"""The fields of a response that a turn keeps as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """One row of turns.jsonl. Times are integer nanoseconds; what is not known is None.

    `turn` is the trace row's turn number, `position` the 0-based place among the turns of the run.
    `possible_tokens` is what a perfect cache could have reused. `agreed_tokens` is the number of forced
    steps whose argmax was the recorded token and `token_agreement` its share of the output tokens. The fields of
    PASSED_ON are as in TimedResponse.
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
    request_bytes: int | None = None
    library_prefill_ns: int | None = None
    library_decode_ns: int | None = None
    prepare_ns: int | None = None
    first_piece_ns: int | None = None
    first_text_ns: int | None = None
    first_call_ns: int | None = None
    server_prefill_ns: int | None = None
    server_decode_ns: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    passes: int | None = None
    repeated_tokens: int | None = None
    framing_tokens: int | None = None
    framing_accepted: int | None = None
    argument_tokens: int | None = None
    argument_accepted: int | None = None
    free_text_tokens: int | None = None
    free_text_accepted: int | None = None
    held_tokens: int | None = None
    shielded: int | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the journal row: a flat JSON object."""
        row = {f.name: getattr(self, f.name) for f in fields(self)}
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
