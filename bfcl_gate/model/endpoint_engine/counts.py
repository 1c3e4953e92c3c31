"""Token counts as the server states them, never from the number of chunks. What it does not state is None."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NS_PER_MS = 1_000_000
_ABSURD = 1 << 40  # no request has so many tokens or takes so many milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Tokens of one answer; times are the server's own, of prefill and decode.

    `drafted` and `accepted` are the tokens that speculative decoding proposed and that were right.
    """

    input_tokens: int | None
    reused_tokens: int | None
    evaluated_tokens: int | None
    output_tokens: int | None
    prefill_ns: int | None
    decode_ns: int | None
    drafted_tokens: int | None
    accepted_tokens: int | None


def counts_of(usage: Any, timings: Any) -> Counts:
    """Read OpenAI's `usage` and llama.cpp's `timings`; either may be absent, partial or nonsense.

    reused = timings.cache_n or usage's cached_tokens; evaluated = timings.prompt_n or input - reused; input =
    usage.prompt_tokens or reused + evaluated; output = timings.predicted_n or usage.completion_tokens. Two
    statements of one number that differ are no statement.
    """
    usage = usage if isinstance(usage, Mapping) else {}
    timings = timings if isinstance(timings, Mapping) else {}
    cached = usage.get("prompt_tokens_details")
    stated = _count(usage, "prompt_tokens")
    reused = _agreed(
        _count(timings, "cache_n"), _count(cached if isinstance(cached, Mapping) else {}, "cached_tokens")
    )
    evaluated = _count(timings, "prompt_n")
    if evaluated is None and stated is not None and reused is not None and reused <= stated:
        evaluated = stated - reused
    summed = evaluated + reused if evaluated is not None and reused is not None else None
    return Counts(
        input_tokens=summed if stated is None else stated,
        reused_tokens=reused,
        evaluated_tokens=evaluated,
        output_tokens=_agreed(_count(timings, "predicted_n"), _count(usage, "completion_tokens")),
        prefill_ns=_ns(timings.get("prompt_ms")),
        decode_ns=_ns(timings.get("predicted_ms")),
        drafted_tokens=_count(timings, "draft_n"),
        accepted_tokens=_count(timings, "draft_n_accepted"),
    )


def _count(counts: Mapping[str, Any], key: str) -> int | None:
    value = counts.get(key)
    return value if type(value) is int and 0 <= value < _ABSURD else None


def _agreed(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return one if one == other else None


def _ns(value: Any) -> int | None:
    stated = isinstance(value, int | float) and 0 <= value < _ABSURD
    return round(value * NS_PER_MS) if stated else None
