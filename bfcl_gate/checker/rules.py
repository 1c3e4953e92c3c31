"""The two rule sets: one message to one entry's verdict."""

from collections.abc import Mapping
from typing import Any

from bfcl_gate.checker.calls import calls_error
from bfcl_gate.checker.decode import UndecodableError, mlperf_text, official_calls
from bfcl_gate.checker.extract import extract_calls, has_structured_calls
from bfcl_gate.checker.unscorable import UnscorableError
from bfcl_gate.dataset import WITHOUT_ANSWERS, Entry

VERSION = 1
"""Part of every gate's identity; raised whenever a verdict can change."""


def official_error(entry: Entry, message: Mapping[str, Any]) -> str | None:
    """Return the leaderboard's error type for a function-calling model, None where the message is right.

    A list of calls of which one does not decode counts as no call at all: right where none was due.
    """
    try:
        calls = official_calls(message)
        if entry.subset in WITHOUT_ANSWERS:
            return _presence_error(entry.subset, bool(calls))
        return calls_error(entry, calls)
    except UndecodableError as failure:
        error: str = failure.args[0]
        return _presence_error(entry.subset, False) if entry.subset in WITHOUT_ANSWERS else error
    except UnscorableError as failure:
        return failure.error


def mlperf_error(entry: Entry, message: Mapping[str, Any]) -> str | None:
    """Return the error type under MLPerf v6.1's rules, None where the message is right.

    Undecodable arguments are an empty object, text may hold calls, and where no call is due every structured
    one is wrong, decodable or not.
    """
    try:
        text = mlperf_text(message)
        calls = extract_calls(text)
        if entry.subset in WITHOUT_ANSWERS:
            return _presence_error(entry.subset, has_structured_calls(text))
        return calls_error(entry, calls)
    except UnscorableError as failure:
        return failure.error


def _presence_error(subset: str, called: bool) -> str | None:
    if subset == "live_relevance":
        return None if called else "relevance_error:decoder_failed"
    return "irrelevance_error:decoder_success" if called else None
