"""Checks beyond the MLPerf loader's: warnings, each with line and field."""

from pathlib import Path
from typing import Any

import pytest
from trace_rows import Rows, call, changed, result, small, write

from edge_agentic.trace import check_trace, load_trajectories


def warnings(tmp_path: Path, rows: Rows) -> list[tuple[int, str | None, str]]:
    trace = check_trace(write(tmp_path / "t.jsonl", rows))
    assert trace.errors == ()
    assert trace.trajectories == load_trajectories(trace.path)
    return [(problem.line, problem.field, problem.text) for problem in trace.warnings]


@pytest.mark.parametrize(
    ("row", "fields", "field", "text"),
    [
        (
            2,
            {"tool_results": [result(), result("c9")]},
            "tool_results",
            "answers the call 'c9', which the row before",
        ),
        (2, {"tool_results": [result(), result()]}, "tool_results", "answers one call twice"),
        (1, {"tool_calls": [call(), call("c2")]}, "tool_results", "has no result for the call 'c2'"),
        (1, {"tool_calls": [call(), call()]}, "tool_calls", "holds the id 'c1' 2 times"),
        (
            1,
            {"tool_calls": [call(arguments='{"command": "l')]},
            "tool_calls[0].function.arguments",
            "is not the JSON",
        ),
        (1, {"tool_calls": [call(arguments="[1]")]}, "tool_calls[0].function.arguments", "is not the JSON"),
        (
            1,
            {"tool_calls": [call(arguments="[" * 99_999)]},
            "tool_calls[0].function.arguments",
            "is not the JSON",
        ),
        (2, {"delay_seconds": -1}, "delay_seconds", "is -1; a wait below zero is taken as none"),
        (3, {"delay_seconds": 1}, "delay_seconds", "stands in an assistant row"),
        (0, {"temperature": 0.7}, "temperature", "is not used"),
        (0, {"tool_calls": [call("c0")]}, "tool_calls", "stands in a user row"),
        (3, {"tool_results": [result()]}, "tool_results", "stands in a row of role assistant"),
        (0, {"tools": ...}, "tools", "is missing although tools are called"),
        (2, {"system": "be long"}, "system", "differs from an earlier row's"),
    ],
)
def test_what_is_hardly_meant_is_a_warning(
    tmp_path: Path, row: int, fields: dict[str, Any], field: str, text: str
) -> None:
    ((_, found, said),) = warnings(tmp_path, changed(row, **fields))
    assert found == field
    assert said.startswith(text)


@pytest.mark.parametrize("name", ["007", "12", "1e5", "inf", 7])
def test_an_id_that_looks_like_a_number_is_a_warning(tmp_path: Path, name: Any) -> None:
    ((line, field, _),) = warnings(tmp_path, small(name))
    assert (line, field) == (1, "conversation_id")
    assert load_trajectories(tmp_path / "t.jsonl")[0].id == str(name)


def test_a_trailing_client_row_is_a_turn_without_a_recorded_answer(tmp_path: Path) -> None:
    ((line, field, text),) = warnings(tmp_path, small()[:3])
    assert (line, field) == (3, "role")
    assert text.startswith("is tool and is the last row")
    last = load_trajectories(tmp_path / "t.jsonl")[0].turns[-1]
    assert (last.number, last.recorded, last.recorded_row) == (3, None, None)


def test_a_tool_row_before_a_user_row_is_a_request_of_its_own(tmp_path: Path) -> None:
    rows = changed(3, role="user", content="and now?")
    rows.append({"conversation_id": "a", "turn": 5, "role": "assistant", "content": "done"})
    ((line, _, text),) = warnings(tmp_path, rows)
    assert line == 3
    assert text.startswith("is tool and is followed by a user row")
    turns = load_trajectories(tmp_path / "t.jsonl")[0].turns
    assert [(turn.number, turn.recorded_row) for turn in turns] == [(1, 2), (3, None), (4, 5)]


def test_a_call_id_of_an_earlier_row_is_a_warning(tmp_path: Path) -> None:
    rows = changed(3, tool_calls=[call()])
    rows.append({"conversation_id": "a", "turn": 5, "role": "tool", "tool_results": [result()]})
    rows.append({"conversation_id": "a", "turn": 6, "role": "assistant", "content": "done"})
    assert [(line, text[:34]) for line, _, text in warnings(tmp_path, rows)] == [
        (4, "uses the id 'c1' of an earlier row")
    ]
