"""Five questions before a run: does the model attempt calls in the judged mode, and if not, why?"""

import pytest
from gate_fakes import PROSE, Endpoint, fenced_call, said, scripted

from bfcl_gate.errors import EngineError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.scripted_engine import ScriptedEngine
from bfcl_gate.preflight import PREFLIGHT_IDS, preflight
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.verdict import judge_preflight

pytestmark = pytest.mark.usefixtures("bfcl")

LENIENT, NATIVE = GatePolicy(calls="lenient"), GatePolicy(calls="native")


def test_one_attempt_among_five_answers_is_enough_even_a_wrong_one() -> None:
    wrong = '<tool_call> {"name": "nothing", "arguments": {}} </tool_call>'
    report = preflight(scripted(PREFLIGHT_IDS, lambda i: wrong if i == PREFLIGHT_IDS[3] else PROSE), NATIVE)
    assert report.passed is True
    assert (report.cause, report.raw) == (None, None)
    assert [answer.id for answer in report.answers] == [f"simple_python_{n}" for n in range(5)]


def test_fenced_calls_pass_leniently_and_fail_natively_with_that_cause() -> None:
    assert preflight(scripted(PREFLIGHT_IDS, fenced_call), LENIENT).passed is True
    report = preflight(scripted(PREFLIGHT_IDS, fenced_call), NATIVE)
    assert report.passed is False
    assert report.cause is not None
    assert "--calls lenient" in report.cause
    assert report.raw == fenced_call(PREFLIGHT_IDS[0])


@pytest.mark.parametrize(
    ("text", "tokens", "told"),
    [
        ("", 64, "every answer is empty"),
        (PROSE, 64, "prose"),
        ("I think about it for long", 3, "cut at 3 tokens"),
    ],
)
def test_the_likely_cause_is_named(text: str, tokens: int, told: str) -> None:
    report = preflight(scripted(PREFLIGHT_IDS, lambda _: text), GatePolicy(max_tokens=tokens))
    assert report.passed is False
    assert report.cause is not None
    assert told in report.cause


class Deaf(ScriptedEngine):
    """A template that renders no tools."""

    def _prompt(self, request: ChatRequest):  # type: ignore[no-untyped-def]
        return self._render(request.messages, ())


def test_a_template_that_ignores_tools_is_recognised() -> None:
    report = preflight(Deaf(lambda _: PROSE), LENIENT)
    assert report.cause is not None
    assert "ignores them" in report.cause


def test_an_endpoint_that_answers_nothing_reaches_no_verdict() -> None:
    with pytest.raises(EngineError, match="HTTP 404"):
        preflight(Endpoint(*[said(error="HTTP 404")] * 5), LENIENT)


def test_an_endpoint_without_token_counts_still_gets_a_cause() -> None:
    report = preflight(Endpoint(*[said(PROSE)] * 5), LENIENT)
    assert report.cause is not None
    assert "prose" in report.cause


def test_the_verdict_of_a_failed_preflight_is_not_passed_and_claims_no_accuracy() -> None:
    report = preflight(scripted(PREFLIGHT_IDS, lambda _: "\x1b[2J" + PROSE), LENIENT)
    gate = judge_preflight(report, LENIENT, 995, screening=False)
    assert gate["passed"] is False
    assert gate["samples"] == 0
    assert gate["overall_accuracy"] is None
    assert gate["native"]["overall_accuracy"] is None
    assert [(check["name"], check["passed"]) for check in gate["checks"]] == [("preflight", False)]
    assert gate["preflight"]["raw"] == "\x1b[2J" + PROSE
