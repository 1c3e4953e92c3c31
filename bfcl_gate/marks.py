"""Judging one answer: a sample's id and an assistant message in, right or wrong out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bfcl_gate.checker import mlperf_error, official_error
from bfcl_gate.dataset import entry
from bfcl_gate.errors import InputError

RULES = ("mlperf", "official")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Whether an answer is right; `error` is the official error type where one exists, None when right.

    Types that start with `gate_error:` are ours: the reference's own scorer would die on such an answer.
    """

    correct: bool
    error: str | None


def judge(sample_id: str, message: Mapping[str, Any], *, rules: str = "mlperf") -> Mark:
    """Judge an OpenAI assistant message as the answer to one of the 3,641 single-turn entries.

    `tool_calls` count if they are a list, else `content` is the answer as text; `arguments` may be text or an
    object. Never raises for what a model says. Raises InputError for an unknown id or rule set, SourceError
    where the BFCL data cannot be had.
    """
    found = entry(sample_id)
    if rules not in RULES:
        raise InputError(f"Unknown rules {rules!r}; expected one of {', '.join(RULES)}.")
    spoken = message if isinstance(message, Mapping) else {}
    error = official_error(found, spoken) if rules == "official" else mlperf_error(found, spoken)
    return Mark(correct=error is None, error=error)
