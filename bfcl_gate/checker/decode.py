"""From an assistant message to calls, for both rule sets. JSON only; nothing a model wrote is evaluated."""

import json
import re
from collections.abc import Mapping
from typing import Any

from bfcl_gate.checker.calls import Call
from bfcl_gate.checker.unscorable import NOT_JSON, UnscorableError

DEPTH = 500
"""JSON nested deeper than this is undecodable everywhere, whatever the interpreter's own limit is."""

_BRACKETS = re.compile(r'[\[\]{}"\\]')


class UndecodableError(Exception):
    """The official decoder finds no calls in this message; its argument is the official error type."""


def loads(text: str) -> Any:
    """Return the decoded JSON (NaN and Infinity allowed, as in Python's decoder). Raises ValueError."""
    if _too_deep(text):
        raise ValueError(f"nested deeper than {DEPTH}")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def dumps(value: Any) -> str:
    """Return the value as JSON text. Raises UnscorableError where it is none, or nested too deep."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnscorableError(NOT_JSON) from error
    if _too_deep(text):
        raise UnscorableError(NOT_JSON)
    return text


def _too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= DEPTH:
        return False
    depth, quoted, escaped = 0, False, -1
    for found in _BRACKETS.finditer(text):
        mark = found.group()
        if found.start() == escaped:
            continue
        if mark == '"':
            quoted = not quoted
        elif mark == "\\":
            escaped = found.end()
        elif not quoted:
            depth += 1 if mark in "[{" else -1
            if depth > DEPTH:
                return True
    return False


def official_calls(message: Mapping[str, Any]) -> list[Call]:
    """Return the calls the leaderboard's function-calling handler decodes.

    Raises UndecodableError. Text is never a call; empty text is an empty list of calls.
    """
    structured = message.get("tool_calls")
    if not isinstance(structured, list):
        if message.get("content") == "":
            return []
        raise UndecodableError("ast_decoder:decoder_failed")
    calls = [_official_call(item) for item in structured]
    if any(not isinstance(call.arguments, dict) for call in calls):
        raise UndecodableError("ast_decoder:decoder_wrong_output_format")
    return calls


def _official_call(item: Any) -> Call:
    function = item.get("function") if isinstance(item, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise UndecodableError("ast_decoder:decoder_failed")
    arguments = function.get("arguments", "")
    try:
        text = arguments if isinstance(arguments, str) else dumps(arguments)
        return Call(name=function["name"], arguments=loads(text))
    except (ValueError, UnscorableError) as error:
        raise UndecodableError("ast_decoder:decoder_failed") from error


def mlperf_text(message: Mapping[str, Any]) -> str:
    """Return what MLPerf scores: the structured calls as JSON if there are any, else reasoning and text."""
    structured = message.get("tool_calls")
    if isinstance(structured, list) and structured:
        return dumps(structured)
    parts = (message.get("reasoning_content"), message.get("content"))
    return "".join(part for part in parts if isinstance(part, str))
