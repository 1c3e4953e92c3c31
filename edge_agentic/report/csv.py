"""The turns of a run as a table, one row a turn, for a spreadsheet or a notebook."""

import csv
import io
from collections.abc import Collection, Iterable
from typing import Any

from edge_agentic import metrics
from edge_agentic.report.words import clean
from edge_agentic.turns import TurnResult

FACTS = (
    "trajectory_id",
    "turn",
    "position",
    "decode",
    "input_tokens",
    "possible_tokens",
    "reused_tokens",
    "evaluated_tokens",
    "output_tokens",
    "held_tokens",
    "shielded",
    "passes",
    "drafted_tokens",
    "accepted_tokens",
    "repeated_tokens",
    "finish_reason",
    "native",
    "agreement",
    "token_agreement",
    "error",
)
TIMES = ("ttft_s", "prefill_s", "tpot_s", "decode_tokens_per_s", "turn_latency_s")
FORMULA_STARTS = ("=", "+", "-", "@")


def render_csv(turns: Iterable[TurnResult], *, gated: bool, seams: Collection[tuple[str, int]] = ()) -> str:
    """Return a header line and one line a turn; what is undefined is an empty cell.

    Without a passed gate (`gated` false) the columns of speed are empty. `seam` is 1 for a turn that a
    resume left out of statistics. Text is one printable line; what a spreadsheet would take for a formula
    begins with '.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*FACTS, "seam", *TIMES])
    for turn in turns:
        facts = [_cell(getattr(turn, name)) for name in FACTS]
        seam = int((turn.trajectory_id, turn.turn) in seams)
        writer.writerow([*facts, seam, *_times(turn, gated=gated)])
    return out.getvalue()


def _times(turn: TurnResult, *, gated: bool) -> list[float | None]:
    if not gated or turn.error is not None:
        return [None] * len(TIMES)
    of = (
        metrics.ttft_s,
        metrics.prefill_s,
        metrics.tpot_s,
        metrics.decode_tokens_per_s,
        metrics.turn_latency_s,
    )
    return [reading(turn) for reading in of]


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return f"'{clean(value)}" if value.startswith(FORMULA_STARTS) else clean(value)
