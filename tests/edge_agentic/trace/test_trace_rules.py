"""What the MLPerf loader rejects is an error that names line and field, and what it takes is none."""

from pathlib import Path
from typing import Any

import pytest
from trace_rows import BASH, Rows, call, changed, result, small, write

from edge_agentic.trace import check_trace


def errors(tmp_path: Path, rows: Rows) -> list[tuple[int, str | None, str]]:
    trace = check_trace(write(tmp_path / "t.jsonl", rows))
    return [(problem.line, problem.field, problem.text) for problem in trace.errors]


def test_the_small_trajectory_has_no_problem(tmp_path: Path) -> None:
    assert check_trace(write(tmp_path / "t.jsonl", small())).problems == ()


def test_a_dataset_metadata_row_is_no_row_of_a_trajectory(tmp_path: Path) -> None:
    metadata = {"_type": "dataset_metadata", "name": "n", "description": "d", "schema_version": 1}
    trace = check_trace(write(tmp_path / "t.jsonl", [metadata, *small()]))
    assert trace.problems == ()
    assert trace.metadata == metadata
    assert [turn.line for turn in trace.trajectories[0].turns] == [2, 4]


def test_a_file_of_metadata_only_holds_no_trajectory(tmp_path: Path) -> None:
    assert errors(tmp_path, [{"_type": "dataset_metadata"}])[0][2].startswith("holds no trajectory")


def test_metadata_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    rows = [{"_type": "dataset_metadata", "description": ["x"]}, *small()]
    assert errors(tmp_path, rows) == [(1, "description", 'is ["x"]; expected text or null.')]


@pytest.mark.parametrize(
    ("row", "fields", "field", "text"),
    [
        (0, {"conversation_id": ...}, "conversation_id", "is missing; expected printable ASCII text"),
        (0, {"conversation_id": ""}, "conversation_id", 'is ""; expected printable ASCII text'),
        (0, {"conversation_id": None}, "conversation_id", "is null; expected printable ASCII text"),
        (0, {"conversation_id": "nan"}, "conversation_id", 'is "nan"; expected printable ASCII text'),
        (0, {"conversation_id": "ä"}, "conversation_id", 'is "\\u00e4"; expected printable ASCII text'),
        (0, {"conversation_id": "a\n"}, "conversation_id", 'is "a\\n"; expected printable ASCII text'),
        (0, {"conversation_id": True}, "conversation_id", "is true; expected printable ASCII text"),
        (0, {"turn": ...}, "turn", "is missing; expected the row's number"),
        (0, {"turn": 0}, "turn", "is 0; expected the row's number"),
        (0, {"turn": 1.5}, "turn", "is 1.5; expected the row's number"),
        (0, {"turn": "1"}, "turn", 'is "1"; expected the row\'s number'),
        (0, {"role": ...}, "role", "is missing; expected user, assistant or tool"),
        (
            0,
            {"role": "system"},
            "role",
            'is "system"; expected user, assistant or tool (a system prompt goes',
        ),
        (0, {"content": ...}, "content", "is missing; expected the user's text, not empty"),
        (0, {"content": ""}, "content", 'is ""; expected the user\'s text, not empty'),
        (0, {"content": None}, "content", "is null; expected the user's text, not empty"),
        (
            0,
            {"content": [{"type": "text", "text": "x"}]},
            "content",
            'is [{"type": "text", "text": "x"}]; expected',
        ),
        (0, {"tools": {}}, "tools", "is {}; expected a list of OpenAI tools"),
        (
            0,
            {"tools": [{"name": "bash"}]},
            "tools[0].function",
            "is missing; expected an object with the function's",
        ),
        (0, {"max_new_tokens": 0}, "max_new_tokens", "is 0; expected the longest answer in tokens"),
        (0, {"delay_seconds": "1"}, "delay_seconds", 'is "1"; expected the wait before this row'),
        (0, {"delay_seconds": 1e308}, "delay_seconds", "is 1e+308; expected the wait before this row"),
        (0, {"tool_results": ["x"]}, "tool_results[0]", 'is "x"; expected a result'),
        (0, {"tool_calls": ["x"]}, "tool_calls[0]", 'is "x"; expected a call'),
        (1, {"tool_calls": ...}, "content", "is missing; expected the answer's text, not empty"),
        (3, {"content": ""}, "content", 'is ""; expected the answer\'s text, not empty'),
        (1, {"tool_calls": []}, "tool_calls", "is []; expected a list of at least one call"),
        (3, {"tool_calls": []}, "tool_calls", "is []; expected a list of at least one call"),
        (3, {"tool_calls": "ls"}, "tool_calls", 'is "ls"; expected a list of at least one call'),
        (1, {"tool_calls": ["ls"]}, "tool_calls[0]", 'is "ls"; expected a call {id, type, function}'),
        (1, {"tool_calls": [{**call(), "id": ""}]}, "tool_calls[0].id", 'is ""; expected the call\'s id'),
        (1, {"tool_calls": [{**call(), "id": 7}]}, "tool_calls[0].id", "is 7; expected the call's id"),
        (1, {"tool_calls": [{**call(), "type": "x"}]}, "tool_calls[0].type", 'is "x"; expected "function"'),
        (
            1,
            {"tool_calls": [{**call(), "function": "ls"}]},
            "tool_calls[0].function",
            'is "ls"; expected an object',
        ),
        (
            1,
            {"tool_calls": [call(), {**call("c2"), "function": {"name": "", "arguments": "{}"}}]},
            "tool_calls[1].function.name",
            'is ""; expected the function\'s name',
        ),
        (
            1,
            {"tool_calls": [{**call(), "function": {"name": "bash"}}]},
            "tool_calls[0].function.arguments",
            "is missing; expected the arguments as JSON text",
        ),
        (
            1,
            {"tool_calls": [call(arguments=None)]},
            "tool_calls[0].function.arguments",
            "is null; expected the arg",
        ),
        (
            1,
            {"tool_calls": [call(arguments=["ls"])]},
            "tool_calls[0].function.arguments",
            'is ["ls"]; expected',
        ),
        (
            2,
            {"tool_results": ...},
            "tool_results",
            "is missing; expected a list of at least one {tool_call_id",
        ),
        (2, {"tool_results": []}, "tool_results", "is []; expected a list of at least one {tool_call_id"),
        (2, {"tool_results": {}}, "tool_results", "is {}; expected a list of at least one {tool_call_id"),
        (2, {"tool_results": ["x"]}, "tool_results[0]", 'is "x"; expected a result'),
        (2, {"tool_results": [result(name="")]}, "tool_results[0].tool_call_id", 'is ""; expected the id'),
        (
            2,
            {"tool_results": [{"tool_call_id": "c1"}]},
            "tool_results[0].content",
            "is missing; expected the tool's",
        ),
        (
            2,
            {"tool_results": [result(content=None)]},
            "tool_results[0].content",
            "is null; expected the tool's",
        ),
    ],
)
def test_a_row_the_loader_rejects_is_an_error(
    tmp_path: Path, row: int, fields: dict[str, Any], field: str, text: str
) -> None:
    ((line, found, said),) = errors(tmp_path, changed(row, **fields))
    assert (line, found) == (row + 1, field)
    assert said.startswith(text)


@pytest.mark.parametrize(
    ("roles", "line", "text"),
    [
        (["assistant"], 1, "is assistant first; expected user."),
        (["tool"], 1, "is tool first; expected user."),
        (["user", "user"], 2, "is user after user; expected assistant."),
        (["user", "tool"], 2, "is tool after user; expected assistant."),
        (["user", "assistant", "assistant"], 3, "is assistant after assistant; expected tool or user."),
        (["user", "call", "tool", "tool"], 4, "is tool after tool; expected assistant or user."),
        (["user", "assistant", "tool"], 3, "is tool after an assistant row without tool_calls"),
        (["user", "call", "user"], 3, "is user after an assistant row with tool_calls"),
    ],
)
def test_roles_out_of_order_are_an_error(tmp_path: Path, roles: list[str], line: int, text: str) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "user": {"role": "user", "content": "x"},
        "assistant": {"role": "assistant", "content": "x"},
        "call": {"role": "assistant", "tool_calls": [call()]},
        "tool": {"role": "tool", "tool_results": [result()]},
    }
    rows = [{"conversation_id": "a", "turn": i, **bodies[role]} for i, role in enumerate(roles, start=1)]
    ((found, field, said),) = errors(tmp_path, rows)
    assert (found, field) == (line, "role")
    assert said.startswith(text)


@pytest.mark.parametrize(
    ("turns", "line", "expected"), [((2, 3, 4, 5), 1, 1), ((1, 2, 4, 5), 3, 3), ((1, 2, 2, 3), 3, 3)]
)
def test_turn_numbers_run_from_one_without_gap_or_repeat(
    tmp_path: Path, turns: tuple[int, ...], line: int, expected: int
) -> None:
    rows = [{**row, "turn": turn} for row, turn in zip(small(), turns, strict=True)]
    ((found, field, said),) = errors(tmp_path, rows)
    assert (found, field) == (line, "turn")
    assert f"expected {expected}," in said


def test_the_rows_of_a_trajectory_stand_together(tmp_path: Path) -> None:
    rows = [*small("a")[:2], *small("b"), *small("a")[2:]]
    ((line, field, text),) = errors(tmp_path, rows)
    assert (line, field) == (7, "conversation_id")
    assert text.startswith("returns to 'a' after rows of another trajectory")


def test_every_trajectory_is_checked(tmp_path: Path) -> None:
    rows = [*small("a")[1:], *small("b")[:1], *small("b")[:1]]
    assert [(line, field) for line, field, _ in errors(tmp_path, rows)] == [(1, "turn"), (5, "turn")]


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        (1, {"content": None}),
        (1, {"content": ""}),
        (1, {"reasoning_content": None}),
        (3, {"tool_calls": None}),
        (1, {"tool_calls": [call(arguments={"command": "ls"})]}),
        (2, {"content": 5}),
        (2, {"tool_results": [result(content="")]}),
        (0, {"turn": 1.0}),
        (0, {"max_completion_tokens": 7.0}),
        (0, {"system": ""}),
        (0, {"tools": None}),
        (0, {"anything": {"else": [1]}}),
    ],
)
def test_what_the_loader_takes_is_no_error(tmp_path: Path, row: int, fields: dict[str, Any]) -> None:
    assert errors(tmp_path, changed(row, **fields)) == []


def test_rows_of_a_trajectory_may_stand_in_any_order(tmp_path: Path) -> None:
    trace = check_trace(write(tmp_path / "t.jsonl", small()[::-1]))
    (trajectory,) = trace.trajectories
    assert trajectory.line == 1
    assert [(turn.number, turn.line) for turn in trajectory.turns] == [(1, 4), (3, 2)]
    assert trajectory.turns[1].tools == (BASH,)
