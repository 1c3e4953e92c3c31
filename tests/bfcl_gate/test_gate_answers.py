"""From what came back to both readings and both marks."""

import json

import pytest
from gate_fakes import answer, fenced_call, native_call, samples_of

from bfcl_gate.answers import REQUEST_FAILED, Answer, mark_answer, marks_of, reply_of
from bfcl_gate.readings import Reply
from bfcl_gate.ruleset import GatePolicy

pytestmark = pytest.mark.usefixtures("bfcl")

LENIENT, NATIVE = GatePolicy(calls="lenient"), GatePolicy(calls="native")
CALL = "simple_python_0"
NO_CALL = "irrelevance_0"


def marked(sample_id: str, policy: GatePolicy, **reply: object) -> Answer:
    (sample,) = samples_of([sample_id])
    return mark_answer(sample, Reply(**reply), policy)  # type: ignore[arg-type]


def test_a_native_call_is_right_in_both_readings() -> None:
    found = marked(CALL, NATIVE, text=native_call(CALL), syntax="hermes", finish_reason="stop")
    assert (found.correct_native, found.correct_lenient, found.correct, found.native) == (
        True,
        True,
        True,
        True,
    )
    assert found.mark_error is None
    assert found.parse_error is None


def test_a_fenced_call_is_right_leniently_only() -> None:
    found = marked(CALL, LENIENT, text=fenced_call(CALL), syntax="hermes", finish_reason="stop")
    assert (found.correct_native, found.correct_lenient, found.correct, found.native) == (
        False,
        True,
        True,
        False,
    )
    (call,) = found.tool_calls
    assert call["name"] == "calculate_triangle_area"
    assert json.loads(call["arguments"]) == {"base": 10, "height": 5, "unit": "units"}


def test_the_same_fenced_call_judged_natively_is_wrong_and_has_no_calls() -> None:
    found = marked(CALL, NATIVE, text=fenced_call(CALL), syntax="hermes", finish_reason="stop")
    assert (found.correct, found.tool_calls, found.attempts) == (False, (), ())
    assert found.mark_error is not None


def test_prose_is_right_where_no_tool_fits() -> None:
    found = marked(NO_CALL, LENIENT, text="No tool fits.", syntax="hermes")
    assert (found.correct_native, found.correct_lenient) == (True, True)


def test_an_undecodable_attempt_counts_as_a_call_under_mlperf_and_is_credited_officially() -> None:
    text = '<tool_call> {"name": "determine_body_mass_index", "arguments": {"weight": 70 </tool_call>'
    mlperf = marked(NO_CALL, LENIENT, text=text, syntax="hermes")
    official = marked(NO_CALL, GatePolicy(rules="official"), text=text, syntax="hermes")
    assert (mlperf.correct, official.correct) == (False, True)
    assert mlperf.tool_calls == ()
    assert mlperf.parse_error is not None
    assert [attempt["name"] for attempt in mlperf.attempts] == ["determine_body_mass_index"]


@pytest.mark.parametrize("sample_id", [CALL, NO_CALL, "live_irrelevance_0-0-0"])
def test_a_failed_request_is_wrong_on_every_subset(sample_id: str) -> None:
    found = marked(sample_id, LENIENT, text=None, error="HTTP 500")
    assert (found.correct_native, found.correct_lenient, found.correct) == (False, False, False)
    assert (found.error, found.mark_error) == ("HTTP 500", REQUEST_FAILED)


def stated(calls: object, content: str | None = None) -> dict[str, object]:
    return {"role": "assistant", "content": content, "tool_calls": calls}


def call_of(name: object, arguments: object) -> dict[str, object]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_stated_call_is_native_whether_its_arguments_are_text_or_object() -> None:
    arguments = {"base": 10, "height": 5}
    for form in (arguments, json.dumps(arguments)):
        found = marked(CALL, NATIVE, text=None, message=stated([call_of("calculate_triangle_area", form)]))
        assert (found.correct_native, found.correct_lenient, found.native) == (True, True, True)


def test_stated_content_with_a_fenced_call_is_lenient_only() -> None:
    found = marked(CALL, LENIENT, text=None, message=stated(None, fenced_call(CALL)))
    assert (found.correct_native, found.correct_lenient, found.native) == (False, True, False)


def test_stated_calls_hide_calls_in_the_content() -> None:
    message = stated([call_of("other", "{}")], fenced_call(CALL))
    assert marked(CALL, LENIENT, text=None, message=message).correct is False


@pytest.mark.parametrize(
    "calls",
    [[], None, "text", 3, [None], [{}], [call_of(3, None)], [call_of("f", "[1")], [call_of("f", [1])]],
    ids=repr,
)
def test_no_stated_shape_raises(calls: object) -> None:
    found = marked(CALL, LENIENT, text=None, message=stated(calls))
    assert found.correct is False
    json.dumps(found.to_row(), allow_nan=False)


def test_a_stated_number_beyond_json_can_be_kept_and_judged_again() -> None:
    message = stated([call_of("calculate_triangle_area", {"base": 1e999})])
    found = marked(CALL, LENIENT, text=None, message=message)
    json.dumps(found.to_row(), allow_nan=False)
    assert reply_of(found, syntax="auto", prefix="").message == message


def test_a_row_holds_at_least_the_promised_fields_and_reads_back_equal() -> None:
    found = marked(CALL, LENIENT, text=native_call(CALL), syntax="hermes", input_tokens=7, latency_ns=3)
    promised = (
        "id case subset text tool_calls attempts native finish_reason error input_tokens output_tokens latency_ns "
        "correct_native correct_lenient correct mark_error parse_error"
    )
    row = json.loads(json.dumps(found.to_row()))
    assert set(promised.split()) <= set(row)
    assert Answer.from_row(row) == found


def test_judging_a_stored_answer_again_gives_the_same_answer() -> None:
    (sample,) = samples_of([CALL])
    for text in (native_call(CALL), fenced_call(CALL), "prose"):
        first = marked(CALL, LENIENT, text=text, syntax="hermes", finish_reason="stop")
        assert mark_answer(sample, reply_of(first, syntax="hermes", prefix=""), LENIENT) == first


def test_marks_are_those_of_the_mode_asked_for() -> None:
    given = [answer("simple_python_0", False, True), answer("simple_python_1", True, True)]
    assert marks_of(given, "native") == [("simple_python_0", False), ("simple_python_1", True)]
    assert marks_of(given, "lenient") == [("simple_python_0", True), ("simple_python_1", True)]
