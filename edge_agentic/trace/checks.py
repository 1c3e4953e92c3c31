"""Checks beyond the MLPerf loader's: warnings about what would be replayed, but hardly as it was meant."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from edge_agentic.trace.problems import Problem
from edge_agentic.trace.rows import Row
from edge_agentic.trace.rules import conversation_id

_IGNORED = ("temperature", "top_p", "top_k", "seed", "stop", "n", "logit_bias", "chat_template")
_IGNORED_NAMES = frozenset(_IGNORED)


def check_further(members: Sequence[Row], as_written: Sequence[Row]) -> Iterator[Problem]:
    """Yield the warnings about a trajectory that breaks no rule: its rows in turn order, and as the file has them."""
    yield from _check_id(members[0])
    yield from _check_file_order(as_written)
    previous: Row | None = None
    for row in members:
        if row.value.get("tool_calls"):
            yield from _check_calls(row)
        if row.value["role"] == "tool":
            yield from _check_results(previous, row)
        yield from _check_misplaced(row)
        yield from _check_unused(row)
        previous = row
    yield from _check_reused_ids(members)
    yield from _check_unanswered(members)
    yield from _check_tools(members)


def _warning(row: Row, field: str, text: str) -> Problem:
    return Problem(line=row.line, field=field, text=text, warning=True)


def _check_id(row: Row) -> Iterator[Problem]:
    name = conversation_id(row)
    try:
        float(name)
    except ValueError:
        return
    yield _warning(
        row,
        "conversation_id",
        f"{name!r} looks like a number, and the MLPerf loader may read it as one; put a letter in front.",
    )


def _check_file_order(as_written: Sequence[Row]) -> Iterator[Problem]:
    for before, row in pairwise(as_written):
        if row.value["turn"] < before.value["turn"]:
            yield _warning(
                row,
                "turn",
                f"is {row.value['turn']} after {before.value['turn']}; rows are taken in the order of their turns, "
                "as the MLPerf loader sorts them. Write them so.",
            )
            return


def _calls(row: Row | None) -> list[dict[str, Any]]:
    return [] if row is None else row.value.get("tool_calls") or []


def _check_calls(row: Row) -> Iterator[Problem]:
    calls = _calls(row)
    names = [call["id"] for call in calls]
    for name, count in Counter(names).items() if len(set(names)) < len(names) else ():
        if count > 1:
            yield _warning(
                row, "tool_calls", f"holds the id {name!r} {count} times; results cannot be told apart."
            )
    for index, call in enumerate(calls):
        arguments = call["function"]["arguments"]
        if isinstance(arguments, str) and not _is_object(arguments):
            yield _warning(
                row,
                f"tool_calls[{index}].function.arguments",
                "is not the JSON text of an object; many servers refuse a history that holds it. Repair it.",
            )


def _check_reused_ids(members: Sequence[Row]) -> Iterator[Problem]:
    seen: set[str] = set()
    for row in members:
        names = {call["id"] for call in _calls(row)}
        if names & seen:
            yield _warning(
                row,
                "tool_calls",
                f"uses the id {min(names & seen)!r} of an earlier row again; give it a new one.",
            )
            return
        seen |= names


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _check_results(previous: Row | None, row: Row) -> Iterator[Problem]:
    called = [call["id"] for call in _calls(previous)]
    answered = [result["tool_call_id"] for result in row.value["tool_results"]]
    if called == answered and len(answered) == 1:
        return
    for name in sorted(set(answered) - set(called)):
        yield _warning(row, "tool_results", f"answers the call {name!r}, which the row before does not make.")
    for name in sorted(set(called) - set(answered)):
        yield _warning(row, "tool_results", f"has no result for the call {name!r} of the row before.")
    if len(set(answered)) < len(answered):
        yield _warning(row, "tool_results", "answers one call twice.")


def _check_misplaced(row: Row) -> Iterator[Problem]:
    role = row.value["role"]
    if role != "assistant" and row.value.get("tool_calls"):
        yield _warning(row, "tool_calls", f"stands in a {role} row; only the assistant calls tools.")
    if role != "tool" and row.value.get("tool_results"):
        yield _warning(
            row,
            "tool_results",
            f"stands in a row of role {role} and is put to the model instead of the content.",
        )


def _check_unused(row: Row) -> Iterator[Problem]:
    delay = row.value.get("delay_seconds")
    if delay is not None and delay < 0:
        yield _warning(row, "delay_seconds", f"is {delay}; a wait below zero is taken as none.")
    if delay is not None and row.value["role"] == "assistant":
        yield _warning(
            row, "delay_seconds", "stands in an assistant row and is not used; it belongs to the next row."
        )
    for field in () if _IGNORED_NAMES.isdisjoint(row.value) else _IGNORED:
        if row.value.get(field) is not None:
            yield _warning(row, field, "is not used: answers are greedy and the ruleset sets the seed.")


def _check_unanswered(members: Sequence[Row]) -> Iterator[Problem]:
    for row, following in zip(members, [*members[1:], None], strict=True):
        if row.value["role"] == "assistant" or (following and following.value["role"] == "assistant"):
            continue
        where = "is the last row" if following is None else "is followed by a user row"
        yield _warning(
            row,
            "role",
            f"is {row.value['role']} and {where}, so this turn has no recorded answer and is asked in "
            "natural decoding only; drop it, or join it with its neighbour.",
        )


def _check_tools(members: Sequence[Row]) -> Iterator[Problem]:
    first = next(row for row in members if row.value["role"] == "user")
    if any(_calls(row) for row in members) and not any(row.value.get("tools") for row in members):
        yield _warning(
            first,
            "tools",
            "is missing although tools are called, so the prompt is shorter than the agent's was. Add them.",
        )
    prompts = {row.value["system"]: row for row in members if row.value.get("system")}
    for row in list(prompts.values())[1:]:
        yield _warning(
            row, "system", "differs from an earlier row's; the first one is used for the whole trajectory."
        )
