from pathlib import Path
from typing import Any

import pytest

from bfcl_gate.errors import InputError
from bfcl_gate.marks import Mark, judge

RIGHT = {"name": "calculate_triangle_area", "arguments": '{"base": 10, "height": 5}'}


def says(*functions: dict[str, Any], **parts: Any) -> dict[str, Any]:
    tool_calls = [{"id": "call_0", "type": "function", "function": function} for function in functions]
    return {"role": "assistant", "content": None, "tool_calls": tool_calls, **parts}


@pytest.mark.parametrize("rules", ["mlperf", "official"])
def test_a_right_call_is_right_with_arguments_as_text_or_object(bfcl: Path, rules: str) -> None:
    as_object = {"name": RIGHT["name"], "arguments": {"base": 10, "height": 5}}
    for message in (says(RIGHT), says(as_object), says(RIGHT, content="Calling it now.")):
        assert judge("simple_python_0", message, rules=rules) == Mark(correct=True, error=None)


@pytest.mark.parametrize("rules", ["mlperf", "official"])
def test_a_wrong_call_carries_the_official_error_type(bfcl: Path, rules: str) -> None:
    wrong = {"name": RIGHT["name"], "arguments": '{"base": 10, "height": 6}'}
    assert judge("simple_python_0", says(wrong), rules=rules) == Mark(
        correct=False, error="value_error:others"
    )


@pytest.mark.parametrize(
    ("message", "official", "mlperf"),
    [
        ({"content": ""}, "simple_function_checker:wrong_count", "simple_function_checker:wrong_count"),
        ({"content": None}, "ast_decoder:decoder_failed", "simple_function_checker:wrong_count"),
        (
            {"content": None, "tool_calls": None},
            "ast_decoder:decoder_failed",
            "simple_function_checker:wrong_count",
        ),
        (
            {"content": "x", "tool_calls": []},
            "simple_function_checker:wrong_count",
            "simple_function_checker:wrong_count",
        ),
        ({"content": "calculate_triangle_area(base=10, height=5)"}, "ast_decoder:decoder_failed", None),
        (
            {
                "content": "base=10, height=5)",
                "reasoning_content": "calculate_triangle_area(",
                "tool_calls": [],
            },
            "simple_function_checker:wrong_count",
            None,
        ),
    ],
)
def test_what_counts_where_no_call_is_structured(
    bfcl: Path, message: dict[str, Any], official: str | None, mlperf: str | None
) -> None:
    assert judge("simple_python_0", message, rules="official").error == official
    assert judge("simple_python_0", message).error == mlperf


def test_with_structured_calls_the_text_is_ignored(bfcl: Path) -> None:
    message = says({"name": "f", "arguments": "{}"}, content="calculate_triangle_area(base=10, height=5)")
    assert judge("simple_python_0", message).error == "simple_function_checker:wrong_func_name"


@pytest.mark.parametrize(
    ("arguments", "official", "mlperf"),
    [("{}", False, False), ("{", True, False), ("[1]", True, False), ("null", True, False)],
)
def test_a_broken_call_where_none_is_due_is_credited_officially_only(
    bfcl: Path, arguments: str, official: bool, mlperf: bool
) -> None:
    message = says({"name": "f", "arguments": arguments})
    assert judge("irrelevance_0", message, rules="official").correct is official
    assert judge("irrelevance_0", message).correct is mlperf


@pytest.mark.parametrize("rules", ["mlperf", "official"])
def test_saying_nothing_is_right_where_no_call_is_due_and_wrong_where_one_is(bfcl: Path, rules: str) -> None:
    for silence in ({"content": ""}, {"content": None}, {"content": "No."}, {"role": "assistant"}, {}):
        assert judge("live_irrelevance_0-0-0", silence, rules=rules).correct
        assert judge("live_relevance_0-0-0", silence, rules=rules).error == "relevance_error:decoder_failed"


@pytest.mark.parametrize("arguments", ["null", "5", "true", '["base", "height"]', '"\\"base height\\""'])
def test_where_mlperfs_scorer_would_die_the_answer_is_wrong_with_our_own_error(
    bfcl: Path, arguments: str
) -> None:
    message = says({"name": RIGHT["name"], "arguments": arguments})
    assert judge("simple_python_0", message).error == "gate_error:arguments_not_an_object"
    assert (
        judge("simple_python_0", message, rules="official").error == "ast_decoder:decoder_wrong_output_format"
    )


@pytest.mark.parametrize("rules", ["mlperf", "official"])
def test_an_integer_too_large_for_a_float_is_wrong_with_our_own_error(bfcl: Path, rules: str) -> None:
    arguments = {"initial_velocity": 0, "acceleration": 10**400, "time": 5}
    message = says({"name": "calculate_final_velocity", "arguments": arguments})
    assert judge("simple_python_31", message, rules=rules).error == "gate_error:number_out_of_range"


@pytest.mark.parametrize("rules", ["mlperf", "official"])
def test_parallel_calls_are_matched_greedily_so_their_order_can_matter(bfcl: Path, rules: str) -> None:
    """The first expected call also accepts what only the second could do without."""
    charges = {"charge1": 5, "charge2": 10, "distance": 2}
    plain = {"name": "electromagnetic_force", "arguments": charges}
    precise = {"name": "electromagnetic_force", "arguments": charges | {"medium_permittivity": 8.854e-12}}
    assert judge("parallel_96", says(precise, plain), rules=rules).correct
    mark = judge("parallel_96", says(plain, precise), rules=rules)
    assert mark.error == "parallel_function_checker_no_order:cannot_find_match"


def test_unknown_ids_and_rules_are_refused(bfcl: Path) -> None:
    with pytest.raises(InputError, match="simple_python_9999"):
        judge("simple_python_9999", {"content": ""})
    with pytest.raises(InputError, match="mlperf, official"):
        judge("simple_python_0", {"content": ""}, rules="strict")
