"""What speculative decoding did for the turns of a run. Everything derives from stored turns."""

from collections.abc import Iterable
from typing import Any

from edge_agentic.turns import TurnResult

PARTS = ("framing", "argument", "free_text")
"""What an answer consists of, as `bfcl_gate.model.toolcalls.parts` tells it apart."""


def speculation(turns: Iterable[TurnResult]) -> dict[str, Any]:
    """Return what the local engine's drafts did, pooled over the turns that were decoded with them; {} without any.

    acceptance = Σ accepted / Σ drafted tokens; tokens_per_pass = Σ (OSL - 1) / Σ passes, 1 without drafts;
    `undrafted_turns` are those in which nothing was drafted; `parts` holds for framing, arguments and free text the
    output tokens, those of them that came from a draft, and their share.
    """
    own = [turn for turn in turns if turn.passes is not None]
    if not own:
        return {}
    drafted, accepted, passes, repeated = (
        sum(getattr(turn, name) or 0 for turn in own)
        for name in ("drafted_tokens", "accepted_tokens", "passes", "repeated_tokens")
    )
    steps = sum(max((turn.output_tokens or 0) - 1, 0) for turn in own)
    return {
        "turns": len(own),
        "undrafted_turns": sum(not turn.drafted_tokens for turn in own),
        "drafted_tokens": drafted,
        "accepted_tokens": accepted,
        "acceptance": accepted / drafted if drafted else None,
        "passes": passes,
        "tokens_per_pass": steps / passes if passes else None,
        "repeated_tokens": repeated,
        "parts": {part: _part(own, part) for part in PARTS},
    }


def _part(turns: Iterable[TurnResult], part: str) -> dict[str, Any]:
    pairs = [(getattr(t, f"{part}_tokens") or 0, getattr(t, f"{part}_accepted") or 0) for t in turns]
    tokens, accepted = sum(tokens for tokens, _ in pairs), sum(accepted for _, accepted in pairs)
    return {"tokens": tokens, "accepted": accepted, "share": accepted / tokens if tokens else None}
