"""Replay on the scripted engine: what is asked, in which order, and what is kept of it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.scripted_engine import DECODE_NS, PREFILL_NS, RENDER_NS, Answer, ScriptedEngine
from edge_agentic import load_trajectories
from edge_agentic.replay import (
    Event,
    ReplayOptions,
    plan_replay,
    replay,
    requests_of,
    select_turns,
    widest_turns,
)
from edge_agentic.trace import Trajectory

BASH = {
    "type": "function",
    "function": {
        "name": "bash",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}
NATURAL, FORCED = ReplayOptions(decode="natural"), ReplayOptions(decode="forced")
CALL = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'


def rows(conversation: str, last_answered: bool = True) -> list[dict[str, object]]:
    base = {"conversation_id": conversation}
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    found = [
        {
            **base,
            "turn": 1,
            "role": "user",
            "content": "Fix it.",
            "system": "You are an agent.",
            "tools": [BASH],
        },
        {**base, "turn": 2, "role": "assistant", "tool_calls": [call], "reasoning_content": "Look first."},
        {
            **base,
            "turn": 3,
            "role": "tool",
            "content": None,
            "tool_results": [{"tool_call_id": "c1", "content": "a.py"}],
            "delay_seconds": 0.25,
        },
        {**base, "turn": 4, "role": "assistant", "content": "It is fixed."},
        {**base, "turn": 5, "role": "user", "content": "Thanks, and now the tests."},
        {**base, "turn": 6, "role": "assistant", "content": "They pass."},
    ]
    return found if last_answered else found[:-1]


def trajectories(path: Path, *groups: list[dict[str, object]]) -> tuple[Trajectory, ...]:
    path.write_text("".join(json.dumps(row) + "\n" for group in groups for row in group), encoding="utf-8")
    return load_trajectories(path)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Trajectory, ...]:
    return trajectories(tmp_path / "t.jsonl", rows("a"), rows("b"))


def answering(text: Answer = CALL) -> ScriptedEngine:
    return ScriptedEngine(lambda request: text)


def run(
    engine: ScriptedEngine, found: tuple[Trajectory, ...], options: ReplayOptions, **more: object
) -> list[Event]:
    planned = plan_replay(engine, select_turns(found, options), options)
    return list(replay(engine, planned, options, **more))  # type: ignore[arg-type]


def test_turns_are_asked_in_trace_order_on_the_recorded_history(two: tuple[Trajectory, ...]) -> None:
    engine = answering("anything")
    events = run(engine, two, NATURAL)
    assert [(e.plan.key, e.plan.position) for e in events] == [
        (("a", 1), 0), (("a", 3), 1), (("a", 5), 2), (("b", 1), 3), (("b", 3), 4), (("b", 5), 5),
    ]  # fmt: skip
    assert [message["role"] for message in engine.calls[2].messages] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert all("anything" not in json.dumps(call.messages) for call in engine.calls)


def test_each_trajectory_starts_from_an_empty_cache_and_reuses_what_the_rules_allow(
    two: tuple[Trajectory, ...],
) -> None:
    for options in (FORCED, NATURAL):
        results = [event.result for event in run(answering(), two, options)]
        assert [r.reused_tokens for r in results if r] == [r.possible_tokens for r in results if r]
        assert [r.reused_tokens == 0 for r in results if r] == [True, False, False, True, False, False]


def test_forced_turns_decode_the_recording_and_say_nothing(two: tuple[Trajectory, ...]) -> None:
    for event in run(answering(), two, FORCED):
        result = event.result
        assert result is not None
        assert (result.text, result.tool_calls, result.native, result.agreement) == (None, None, None, None)
        assert (result.finish_reason, result.token_agreement) == ("forced", 1.0)
        assert result.evaluated_tokens is not None
        assert result.first_token_ns == result.submitted_ns + RENDER_NS + PREFILL_NS * result.evaluated_tokens
        assert result.completed_ns == result.first_token_ns + DECODE_NS * (len(result.token_ns) - 1)


def test_natural_turns_are_parsed_and_scored_against_the_recording(two: tuple[Trajectory, ...]) -> None:
    first, second, *_ = (event.result for event in run(answering(), two, NATURAL))
    assert first is not None
    assert second is not None
    assert first.tool_calls == ({"name": "bash", "arguments": '{"command": "ls"}'},)
    assert (first.native, first.agreement, first.token_agreement) == (True, 1.0, None)
    assert second.agreement is None  # the recording calls nothing there, so there is nothing to score


def test_a_turn_without_a_recorded_answer_is_asked_in_natural_mode_only(tmp_path: Path) -> None:
    found = trajectories(tmp_path / "t.jsonl", rows("a", last_answered=False))
    assert [len(turns) for turns in select_turns(found, FORCED)] == [2]
    assert [len(turns) for turns in select_turns(found, NATURAL)] == [3]


def test_a_limit_cuts_in_trace_order(two: tuple[Trajectory, ...]) -> None:
    assert [[t.number for t in turns] for turns in select_turns(two, NATURAL, 4)] == [[1, 3, 5], [1]]


def test_a_failed_turn_drops_the_later_turns_of_its_trajectory_only(two: tuple[Trajectory, ...]) -> None:
    def script(request: ChatRequest) -> Answer:
        if request.session == "a" and len(request.messages) > 2:
            return TimedResponse(
                text=None, finish_reason=None, error="timed out", submitted_ns=1, completed_ns=2
            )
        return "fine"

    events = run(ScriptedEngine(script), two, NATURAL)
    errors = [event.result.error for event in events if event.result]
    assert errors[:2] == [None, "timed out"]
    assert errors[2] is not None
    assert "earlier turn" in errors[2]
    assert errors[3:] == [None, None, None]


def test_a_trajectory_that_failed_before_an_interruption_stays_given_up(two: tuple[Trajectory, ...]) -> None:
    engine = answering(CALL)
    events = run(engine, two, NATURAL, done={("a", 1)}, failed={"a"})
    assert [(e.kind, e.plan.key) for e in events[:2]] == [("turn", ("a", 3)), ("turn", ("a", 5))]
    assert [e.result.error is None for e in events if e.result] == [False, False, True, True, True]
    assert len(engine.calls) == 3


def test_an_engine_that_is_gone_ends_the_replay(two: tuple[Trajectory, ...]) -> None:
    with pytest.raises(EngineError, match="gone"):
        run(answering(EngineError("gone")), two, NATURAL)


@pytest.mark.parametrize("options", [FORCED, NATURAL])
def test_a_resumed_trajectory_is_primed_to_the_cache_it_had(
    two: tuple[Trajectory, ...], options: ReplayOptions
) -> None:
    whole = run(answering(), two, options)
    resumed = run(answering(), two, options, done={e.plan.key for e in whole[:2]})
    assert [e.kind for e in resumed] == ["priming", "priming", "seam", "turn", "turn", "turn", "turn"]
    assert [e.result and e.result.reused_tokens for e in resumed[3:]] == [
        e.result and e.result.reused_tokens for e in whole[2:]
    ]


def test_finished_trajectories_are_not_primed(two: tuple[Trajectory, ...]) -> None:
    whole = run(answering(), two, FORCED)
    resumed = run(answering(), two, FORCED, done={e.plan.key for e in whole[:3]})
    assert [e.kind for e in resumed] == ["turn", "turn", "turn"]


def test_recorded_tool_delays_are_waited_for_when_asked(two: tuple[Trajectory, ...]) -> None:
    waits: list[float] = []
    run(answering(), two, replace(FORCED, tool_delay="recorded"), sleep=waits.append)
    assert waits == [0.25, 0.25]
    waits.clear()
    run(answering(), two, FORCED, sleep=waits.append)
    assert waits == []


def test_reasoning_can_be_left_out_of_history_and_recording(two: tuple[Trajectory, ...]) -> None:
    kept = requests_of(two[0].turns, FORCED)
    stripped = requests_of(two[0].turns, replace(FORCED, reasoning="strip"))
    assert "Look first." in json.dumps(kept[1].messages)
    assert "Look first." not in json.dumps([[*r.messages, r.recorded] for r in stripped])


def test_a_prompt_larger_than_the_context_is_found_before_anything_runs(two: tuple[Trajectory, ...]) -> None:
    engine = ScriptedEngine(lambda request: "x", ctx=20)
    with pytest.raises(InputError, match=r"line 1 of the trace, conversation a, turn 1: .* context of 20"):
        plan_replay(engine, select_turns(two, FORCED), FORCED)
    assert engine.calls == []


def test_the_widest_turns_are_those_before_a_user_message_and_the_last(two: tuple[Trajectory, ...]) -> None:
    turns = two[0].turns
    assert [t.number for t in widest_turns(turns)] == [3, 5]
    assert widest_turns((replace(turns[0], max_tokens=8_192), *turns[1:])) == (
        replace(turns[0], max_tokens=8_192),
        *turns[1:],
    )
