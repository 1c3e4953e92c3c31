"""The request of each turn, and the official trace against the fingerprints of the reference's requests."""

import hashlib
import json
from pathlib import Path

import pytest
from trace_rows import BASH, call, changed, result, small, write

from bfcl_gate.model.chat import ChatRequest
from edge_agentic import Trajectory, load_trajectories

OFFICIAL = "data/agentic_coding_2.5h.jsonl"


@pytest.fixture(scope="module")
def official(shared: Path) -> tuple[Trajectory, ...]:
    return load_trajectories(shared / OFFICIAL)


def test_a_turn_is_the_system_prompt_the_rows_before_and_its_own_messages(tmp_path: Path) -> None:
    rows = small()
    (trajectory,) = load_trajectories(write(tmp_path / "t.jsonl", rows))
    first, second = trajectory.turns
    assert first.messages == ({"role": "system", "content": "be brief"}, {"role": "user", "content": "list"})
    assert second.messages == (
        *first.messages,
        {"role": "assistant", "tool_calls": [call()]},
        {"role": "tool", "tool_call_id": "c1", "content": "x.py\n"},
    )
    assert (first.tools, second.tools) == ((BASH,), (BASH,))
    assert first.recorded == {"role": "assistant", "tool_calls": [call()]}
    assert second.recorded == {"role": "assistant", "content": "x.py is there"}
    assert [(t.number, t.recorded_row, t.line, t.delay_s) for t in trajectory.turns] == [
        (1, 2, 1, None),
        (3, 4, 3, 0.25),
    ]


def test_each_result_of_a_tool_row_is_a_message_of_its_own(tmp_path: Path) -> None:
    rows = changed(1, tool_calls=[call("c1"), call("c2")])
    rows[2]["tool_results"] = [result("c1", "one"), result("c2", "two")]
    (trajectory,) = load_trajectories(write(tmp_path / "t.jsonl", rows))
    assert trajectory.turns[1].messages[-2:] == (
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
    )


def test_an_answer_keeps_its_keys_in_the_reference_s_order_without_nulls(tmp_path: Path) -> None:
    rows = changed(1, reasoning_content="look", content="I look.", name="coder", extra=1)
    recorded = load_trajectories(write(tmp_path / "t.jsonl", rows))[0].turns[0].recorded
    assert list(recorded or ()) == ["role", "content", "name", "tool_calls", "reasoning_content"]


def test_an_empty_content_is_kept_as_the_reference_keeps_it(tmp_path: Path) -> None:
    recorded = load_trajectories(write(tmp_path / "t.jsonl", changed(1, content="")))[0].turns[0].recorded
    assert recorded == {"role": "assistant", "content": "", "tool_calls": [call()]}


def test_the_first_system_prompt_of_any_row_is_that_of_all_turns(tmp_path: Path) -> None:
    rows = changed(0, system="")
    rows[2]["system"] = "be kind"
    (trajectory,) = load_trajectories(write(tmp_path / "t.jsonl", rows))
    assert [turn.messages[0]["content"] for turn in trajectory.turns] == ["be kind", "be kind"]


def test_a_trajectory_may_have_neither_system_prompt_nor_tools(tmp_path: Path) -> None:
    rows = [small()[0], small()[3] | {"turn": 2}]
    del rows[0]["system"], rows[0]["tools"]
    (turn,) = load_trajectories(write(tmp_path / "t.jsonl", rows))[0].turns
    assert turn.request() == ChatRequest(
        messages=({"role": "user", "content": "list"},),
        tools=(),
        max_tokens=1024,
        recorded={"role": "assistant", "content": "x.py is there"},
        session="a",
    )


def test_a_row_s_own_tools_and_limit_go_before_those_of_the_first_user_row(tmp_path: Path) -> None:
    other = {"type": "function", "function": {"name": "other"}}
    rows = changed(2, tools=[other], max_new_tokens=50)
    rows[0]["max_completion_tokens"] = 200
    first, second = load_trajectories(write(tmp_path / "t.jsonl", rows))[0].turns
    assert (first.max_tokens, second.max_tokens) == (200, 50)
    assert (first.tools, second.tools) == ((BASH,), (other,))
    assert second.request(max_tokens=1024, forced=True).max_tokens == 50


def test_an_inherited_new_tokens_limit_goes_before_a_row_s_own_completion_limit(tmp_path: Path) -> None:
    rows = changed(2, max_completion_tokens=50)
    rows[0]["max_new_tokens"] = 200
    turns = load_trajectories(write(tmp_path / "t.jsonl", rows))[0].turns
    assert [turn.max_tokens for turn in turns] == [200, 200]


def test_trajectories_keep_the_order_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", [*small("b"), *small("a")])
    assert [(trajectory.id, trajectory.line) for trajectory in load_trajectories(path)] == [
        ("b", 1),
        ("a", 5),
    ]


def test_the_official_trace_has_20_trajectories_and_1007_turns_all_answered(
    official: tuple[Trajectory, ...],
) -> None:
    turns = [turn for trajectory in official for turn in trajectory.turns]
    assert (len(official), len(turns)) == (20, 1007)
    assert official[0].id == "django__django-16899"
    assert all(turn.recorded and turn.recorded_row == turn.number + 1 for turn in turns)
    assert sum(turn.delay_s is not None for turn in turns) == 987


def test_every_request_of_the_official_trace_is_the_reference_s(
    official: tuple[Trajectory, ...], shared: Path
) -> None:
    expected = json.loads((shared / "data/mlperf_request_fingerprints.json").read_text("utf-8"))["replay"]
    found = [
        {
            "conversation_id": turn.trajectory_id,
            "turn": turn.number,
            "sha256": hashlib.sha256(
                json.dumps([turn.messages, turn.tools, None], sort_keys=True).encode()
            ).hexdigest(),
        }
        for trajectory in official
        for turn in trajectory.turns
    ]
    assert found == expected
