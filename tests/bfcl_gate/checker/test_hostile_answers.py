"""Nothing a model says may raise, and no text may take more than linear time."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl_gate.checker import java, javascript
from bfcl_gate.checker.unscorable import UnscorableError
from bfcl_gate.marks import Mark, judge

IDS = (
    *("simple_python_0", "simple_java_1", "simple_javascript_5", "multiple_0", "parallel_0"),
    *("parallel_multiple_0", "live_simple_0-0-0", "live_multiple_0-0-0", "live_parallel_0-0-0"),
    *("live_parallel_multiple_0-0-0", "irrelevance_0", "live_irrelevance_120-9-0", "live_relevance_0-0-0"),
)
NAMES = ("calculate_triangle_area", "SQLCompletionAnalyzer_makeProposalsFromObject", "processPayload", "f")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
argument_texts = st.text(max_size=30) | json_values.map(json.dumps) | st.from_regex(r'[\[{"\\:,x1]{1,12}')
calls = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(NAMES) | json_values, "arguments": argument_texts | json_values}
)
tool_calls = json_values | st.lists(st.fixed_dictionaries({"function": calls | json_values}), max_size=3)
texts = st.text(max_size=40) | st.from_regex(r"f\((?:x=[\[{(\d'\"]*,?)*\)", fullmatch=True)
messages = st.fixed_dictionaries(
    {}, optional={"content": texts | json_values, "reasoning_content": texts, "tool_calls": tool_calls}
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sample_id=st.sampled_from(IDS), message=messages, rules=st.sampled_from(["mlperf", "official"]))
def test_every_message_gets_a_mark(bfcl: Path, sample_id: str, message: Any, rules: str) -> None:
    mark = judge(sample_id, message, rules=rules)
    assert mark.correct == (mark.error is None)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sample_id=st.sampled_from(IDS), message=json_values)
def test_what_is_no_message_at_all_gets_a_mark_too(bfcl: Path, sample_id: str, message: Any) -> None:
    assert isinstance(judge(sample_id, message), Mark)


@given(
    text=st.text(alphabet="[]{}()\"'\\,:;<> \n01Ln.efputadnewArrayListHashMapString", max_size=60),
    element=st.sampled_from(["String", "any"]),
)
def test_source_text_of_any_kind_is_read_or_kept(text: str, element: str) -> None:
    for kind in ("ArrayList", "Array", "HashMap"):
        assert isinstance(java.read(text, kind, element), (list, dict, str))
    for kind in ("array", "dict"):
        assert isinstance(javascript.read(text, kind, element), (list, dict, str))


SIZE = 100_000
REPEATED = (
    *("new ArrayList<>(Arrays.asList(", "new ArrayList<>() {{ ", "new ArrayList<>() {{ add(", "add(", "new "),
    *("new HashMap<", 'new HashMap<>() {{ put("', "new HashMap<>(", 'put("k",', '",', 'put("', "new int[]{"),
    *("[", "[[", "[1],", "[[1],", "],[", "{", "{a:", "a:", ":", ",", ", a:", "a:,", "new Array(", "[ ", "]"),
    *(
        " ",
        "\n",
        "1",
        "-",
        "1e",
        "'",
        '"',
        "\\",
        "\\'",
        "f(",
        "f('",
        "f(\\'",
        "f(x=",
        "(",
        "f(x=1)",
        "a.",
        "a ",
    ),
    *(
        "f(x=-",
        "f(x=(",
        "f(x=[",
        "lambda:",
        "{'a':",
        "f(x='",
        "f(x=1, ",
        "é(",
        "}}",
        "}",
        ")",
        "\x00",
        "\ud800",
    ),
)
PREFIXES = ("", "[[", "{k: ", "new HashMap<>() {{ ", "new ArrayList<>() {{ add(1) ", "f(x=", "new int[]{")


@pytest.mark.parametrize("repeated", REPEATED)
def test_a_hundred_thousand_hostile_characters_are_judged_like_ten(bfcl: Path, repeated: str) -> None:
    """Some of the official patterns would take years on these."""
    for prefix in PREFIXES:
        text = (prefix + repeated * SIZE)[:SIZE]
        for kind in ("ArrayList", "Array", "HashMap", "double"):
            assert java.read(text, kind, "String") is not None
        for kind in ("array", "dict", "String", "float"):
            assert javascript.read(text, kind, "String") is not None
    for text in ((repeated * SIZE)[:SIZE], ("f(x=" + repeated * SIZE)[:SIZE]):
        assert not judge("simple_python_0", {"content": text}).correct
        assert not judge("simple_python_0", with_arguments(text)).correct
        assert not judge("simple_python_0", with_arguments(text), rules="official").correct


def test_an_integer_longer_than_python_reads_is_wrong_with_an_error_of_our_own() -> None:
    for read in (java.read, javascript.read):
        with pytest.raises(UnscorableError, match="gate_error:number_out_of_range"):
            read("1" * SIZE, "integer", None)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":', '["\\"",', "[[1],"])
def test_deep_nesting_is_undecodable_not_fatal(bfcl: Path, opening: str) -> None:
    deep = with_arguments(opening * 50_000)
    assert judge("simple_python_0", deep, rules="official").error == "ast_decoder:decoder_failed"
    assert judge("simple_python_0", deep).error == "simple_function_checker:missing_required"
    assert (
        judge("simple_python_0", {"content": opening * 50_000}).error == "simple_function_checker:wrong_count"
    )


def test_nesting_is_decodable_up_to_one_documented_depth(bfcl: Path) -> None:
    def nested(depth: int) -> dict[str, Any]:
        return with_arguments('{"x": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}")

    assert judge("irrelevance_0", nested(500), rules="official").error == "irrelevance_error:decoder_success"
    assert judge("irrelevance_0", nested(501), rules="official").correct


def test_brackets_inside_strings_are_no_nesting(bfcl: Path) -> None:
    message = with_arguments(json.dumps({"x": "[{" * 50_000 + '\\"'}))
    assert judge("irrelevance_0", message, rules="official").error == "irrelevance_error:decoder_success"


def test_structures_that_are_no_json_are_wrong_everywhere_under_mlperf(bfcl: Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    for arguments in ({1, 2}, loop, {"x": b""}, 1j):
        message = {"tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
        assert judge("simple_python_0", message).error == "gate_error:not_json"
        assert judge("irrelevance_0", message).error == "gate_error:not_json"
        assert judge("simple_python_0", message, rules="official").error == "ast_decoder:decoder_failed"


def with_arguments(text: str) -> dict[str, Any]:
    function = {"name": "calculate_triangle_area", "arguments": text}
    return {"content": None, "tool_calls": [{"type": "function", "function": function}]}
