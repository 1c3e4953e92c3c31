"""What is looked at before a local run, on the scripted engine."""

from collections.abc import Sequence
from dataclasses import replace

from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import Departure, PlannedTurn, TimedResponse
from bfcl_gate.model.scripted_engine import ScriptedEngine
from edge_agentic.local_preflight import local_preflight, repeatable, template_stable
from edge_agentic.replay import ReplayOptions, TurnPlan, plan_replay, select_turns
from edge_agentic.trace import find_trace, load_trajectories


def answering(*answers: tuple[Sequence[int], str]) -> ScriptedEngine:
    """An engine that gives these tokens and hashes of logits, one after the other."""
    left = iter(answers)

    def script(request: ChatRequest) -> TimedResponse:
        assert request.fingerprint
        tokens, digest = next(left)
        return TimedResponse(
            text="",
            finish_reason="stop",
            submitted_ns=0,
            completed_ns=1,
            token_ids=tuple(tokens),
            logits_sha256=digest,
        )

    return ScriptedEngine(script)


def plans(departure: Departure | None) -> list[list[TurnPlan]]:
    """The first three turns of the smoke trace, the last of them with this departure."""
    options = ReplayOptions()
    selected = select_turns(load_trajectories(find_trace("smoke")), options, 3)
    (planned,) = plan_replay(ScriptedEngine(lambda _: "", ctx=1 << 20), selected, options)
    first, second, third = planned
    tokens = third.tokens
    assert isinstance(tokens, PlannedTurn)
    return [[first, second, replace(third, tokens=replace(tokens, departure=departure))]]


def test_the_same_tokens_and_logits_twice_are_repeatable() -> None:
    assert repeatable(answering(([1, 2], "a"), ([1, 2], "a"))).passed is True


def test_other_tokens_or_other_logits_are_not() -> None:
    other = repeatable(answering(([1, 2], "a"), ([1, 3], "b")))
    assert (other.passed, other.level) == (False, "WARN")
    assert other.detail.endswith("2 tokens, others the second time; logits differ")
    assert repeatable(answering(([1, 2], "a"), ([1, 2], "b"))).passed is False


def test_an_engine_that_tells_no_logits_proves_nothing() -> None:
    assert repeatable(ScriptedEngine(lambda _: "word")).passed is False


def test_a_template_that_only_appends_is_stable() -> None:
    found = template_stable(plans(None))
    assert (found.passed, found.detail) == (True, "2 of 2 prompts extend the conversation before them")


def test_the_first_departure_is_named() -> None:
    found = template_stable(plans(Departure(17, "<think>", "")))
    assert found.passed is False
    assert found.detail.startswith("1 of 2 prompts extend the conversation before them; first departure: ")
    assert found.detail.endswith(" turn 5, token 17: '<think>' became the end")


def test_only_a_local_engine_is_looked_at() -> None:
    assert local_preflight(ScriptedEngine(lambda _: ""), plans(None)) == ()
