"""The protocol of a conversation: what the model is shown, when a turn ends, what is whose fault."""

import json

import pytest
from gate_fakes import said
from multi_turn_fakes import Model, model, play, truth

from bfcl_gate.errors import ContextOverflowError, InputError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.scripted_engine import ScriptedEngine
from bfcl_gate.multi_turn.data import NEW_FUNCTIONS, conversations
from bfcl_gate.multi_turn.entries import played
from bfcl_gate.multi_turn.runner import STEP_LIMIT, Policy
from bfcl_gate.multi_turn.simulation import Simulation

pytestmark = pytest.mark.usefixtures("bfcl")

LOOK = [("ls", '{"a": true}')]


def test_results_follow_their_calls_by_id_and_the_next_turn_follows_the_prose(simulation: Simulation) -> None:
    found = conversations("base")[0]
    engine = model(truth(found))
    assert played(engine, found, simulation, Policy()).correct
    spoken = list(engine.requests[2].messages)
    assert [message["role"] for message in spoken] == [
        "user",
        "assistant",
        *["tool"] * 3,
        "assistant",
        "user",
    ]
    assert [call["id"] for call in spoken[1]["tool_calls"]] == ["call_0", "call_1", "call_2"]
    assert [message["tool_call_id"] for message in spoken[2:5]] == ["call_0", "call_1", "call_2"]
    assert spoken[2]["content"] == '{"current_working_directory": "document"}'
    assert spoken[5] == {"role": "assistant", "content": "Done."}
    assert all(request.tool_choice == "auto" for request in engine.requests)
    last = engine.requests[-1].messages
    assert len({call["id"] for m in last for call in m.get("tool_calls", ())}) == 10


def test_held_back_tools_appear_with_their_turn_and_are_announced(simulation: Simulation) -> None:
    found = conversations("miss_func")[0]
    engine = model(truth(found))
    assert played(engine, found, simulation, Policy()).correct
    names = [[tool["function"]["name"] for tool in request.tools] for request in engine.requests]
    assert "sort" not in names[0]
    assert names[-1] == [*names[0], "sort"]
    asked = [message["content"] for message in engine.requests[-1].messages if message["role"] == "user"]
    assert asked[3] == NEW_FUNCTIONS
    assert len(asked) == 5


def test_the_last_step_allowed_ends_the_conversation_as_wrong(simulation: Simulation) -> None:
    found = conversations("base")[0]
    row = played(Model(*[said(None, LOOK)] * 30), found, simulation, Policy())
    assert (row.correct, row.error, row.turn, row.steps) == (
        False,
        "multi_turn:force_terminated",
        0,
        STEP_LIMIT,
    )


def test_in_the_last_turn_the_last_step_allowed_is_judged_like_any_other(simulation: Simulation) -> None:
    found = conversations("base")[0]
    turns = truth(found)
    turns[-1] += [LOOK] * (STEP_LIMIT - 1)
    row = played(model(turns), found, simulation, Policy())
    assert (row.correct, row.steps) == (True, 2 * 3 + STEP_LIMIT)


def test_the_first_wrong_turn_ends_the_conversation(simulation: Simulation) -> None:
    found = conversations("base")[0]
    row = play(simulation, found, [[LOOK]] * 4)
    assert (row.error, row.turn, row.steps) == ("multi_turn:instance_state_mismatch", 0, 2)
    assert row.detail == "GorillaFileSystem.root differs from the expected state"
    assert row.result == ([[{"ls": '{"a": true}'}], "Done."],)


def test_a_result_that_was_expected_and_is_missing_is_named(simulation: Simulation) -> None:
    found = conversations("base")[0]
    turns = truth(found)
    turns[1] = [[call for call in turns[1][0] if call[0] == "cd"]]
    row = play(simulation, found, turns)
    assert (row.error, row.turn) == ("multi_turn:execution_response_mismatch", 1)
    assert row.detail is not None
    assert row.detail.startswith('no call returned {"matching_lines": ["Year2024')


@pytest.mark.parametrize("name", ["no_such", "__init__", "_load_scenario", "post'x", ""])
def test_a_name_that_is_no_tool_gives_the_official_text(simulation: Simulation, name: str) -> None:
    found = conversations("base")[0]
    engine = Model(said(None, [(name, "{}")]), said("Done."))
    played(engine, found, simulation, Policy())
    told = engine.requests[1].messages[-1]
    assert told["content"] == f"Error during execution: name {name!r} is not defined"


@pytest.mark.parametrize("arguments", ["{", "[1]", "null", "", "[" * 100_000])
def test_one_call_that_does_not_decode_voids_the_step_and_ends_the_turn(
    simulation: Simulation, arguments: str
) -> None:
    found = conversations("base")[0]
    row = played(Model(said(None, [*truth(found)[0][0], ("ls", arguments)])), found, simulation, Policy())
    assert (row.error, row.steps) == ("multi_turn:empty_turn_model_response", 1)


def test_a_call_that_takes_too_long_is_the_models_error(bfcl: object) -> None:
    found = next(
        found for found in conversations("base") if found.classes == ("GorillaFileSystem", "MathAPI")
    )
    with Simulation(bfcl, found.classes, 0.2) as process:  # type: ignore[arg-type]
        call = ("power", '{"base": 10, "exponent": 1000000000}')
        row = played(Model(said(None, [call])), found, process, Policy())
    assert (row.error, row.detail) == ("gate_error:call_ended_the_simulation", "signal SIGPROF")


def test_a_failed_request_is_wrong(simulation: Simulation) -> None:
    row = played(Model(said(None, error="timeout")), conversations("base")[0], simulation, Policy())
    assert (row.correct, row.error, row.detail) == (False, "gate_error:request_failed", "timeout")


class Small(Model):
    """Refuses every request after the first `room`."""

    def __init__(self, room: int, *answers: TimedResponse) -> None:
        super().__init__(*answers)
        self._room = room

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        if len(self.requests) == self._room:
            raise ContextOverflowError("too long")
        return super().generate(request, keep)


def test_a_conversation_that_outgrows_the_context_is_wrong_and_one_that_never_fitted_is_the_users(
    simulation: Simulation,
) -> None:
    found = conversations("base")[0]
    row = played(Small(1, said(None, LOOK)), found, simulation, Policy())
    assert (row.error, row.detail) == ("gate_error:conversation_refused", "too long")
    with pytest.raises(InputError, match="too long"):
        played(Small(0), found, simulation, Policy())


def test_native_and_lenient_readings_drive_the_conversation_apart(simulation: Simulation) -> None:
    found = conversations("base")[0]
    (calls,) = truth(found)[0]
    fenced = json.dumps([{"name": name, "arguments": json.loads(given)} for name, given in calls])
    rows = {}
    for reading in ("native", "lenient"):
        answers = iter([f"```json\n{fenced}\n```", *["Done."] * 9])
        engine = ScriptedEngine(lambda _, answers=answers: next(answers), ctx=100_000)  # type: ignore[misc]
        rows[reading] = played(engine, found, simulation, Policy(calls=reading))
    assert (rows["native"].error, rows["native"].turn) == ("multi_turn:empty_turn_model_response", 0)
    assert (rows["lenient"].error, rows["lenient"].turn) == ("multi_turn:empty_turn_model_response", 1)
    assert rows["lenient"].output_tokens is not None
    with pytest.raises(InputError, match="--calls"):
        Policy(calls="both")
