"""What holds for every answer: round trips, truncation that invents nothing, and no text that raises."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from toolcall_writers import FRAGMENTS, SYNTAXES, TOOLS, Call, Syntax, hermes, qwen_xml

from bfcl_gate.model.toolcalls import ParsedAnswer, parse_tool_calls
from bfcl_gate.model.toolcalls.parse import SYNTAXES as READERS

every_syntax = pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda syntax: syntax.write.__name__)
EXAMPLES = 20  # a syntax and test; each is read in two families and both modes
hostile = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=5)), max_size=12).map("".join)


def said(answer: ParsedAnswer) -> list[Call]:
    return [(call.name, call.arguments) for call in answer.calls]


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1, 1.0 and True apart."""
    return json.dumps(left) == json.dumps(right)


def test_every_syntax_has_a_writer() -> None:
    assert {syntax.family for syntax in SYNTAXES} == set(READERS)


@every_syntax
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_what_was_written_is_read(syntax: Syntax, data: st.DataObject) -> None:
    calls = data.draw(syntax.calls)
    text = syntax.write(calls)
    for family in (syntax.family, "auto"):
        for mode in ("native", "lenient"):
            answer = parse_tool_calls(text, TOOLS, syntax=family, mode=mode)
            assert same(said(answer), calls)
            assert (answer.native, answer.error, answer.content) == (True, None, None)


@every_syntax
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_cut_answer_yields_the_calls_that_were_complete_and_no_others(
    syntax: Syntax, data: st.DataObject
) -> None:
    calls = data.draw(syntax.calls)
    text = syntax.write(calls)
    cut = text[: data.draw(st.integers(0, len(text)))]
    for family in (syntax.family, "auto"):
        for mode in ("native", "lenient"):
            found = said(parse_tool_calls(cut, TOOLS, syntax=family, mode=mode, finish="length"))
            assert same(found, calls[: len(found)])


@every_syntax
@settings(max_examples=5)
@given(data=st.data(), before=st.sampled_from(("", "Let me see.\n\n", "<think>\nWhy?\n</think>\n\n")))
def test_the_first_argument_begins_behind_what_was_said_before(
    syntax: Syntax, data: st.DataObject, before: str
) -> None:
    text = before + syntax.write(data.draw(syntax.calls))
    answer = parse_tool_calls(text, TOOLS, syntax=syntax.family)
    offset = answer.first_argument_offset
    assert offset is None or len(before) < offset < len(text)


@given(
    text=hostile,
    syntax=st.sampled_from(("auto", "fenced-json", *READERS)),
    mode=st.sampled_from(("native", "lenient")),
    prefix=st.sampled_from(("", "<think>\n", "<|channel>thought\n", ">>>", "[THINK]")),
    finish=st.sampled_from(("stop", "length")),
)
@example(text='\ud800<tool_call>{"\ud800', syntax="auto", mode="lenient", prefix="", finish="stop")
def test_any_text_is_split_without_raising(
    text: str, syntax: str, mode: str, prefix: str, finish: str
) -> None:
    answer = parse_tool_calls(text, TOOLS, syntax=syntax, mode=mode, prefix=prefix, finish=finish)
    assert [a.arguments for a in answer.attempts if a.arguments is not None] == [
        call.arguments for call in answer.calls
    ]
    for attempt in answer.attempts:
        assert 0 <= attempt.offset <= len(text)
        if attempt.arguments is not None:
            assert json.loads(attempt.raw_arguments) == attempt.arguments
    assert answer.content is None or answer.content == answer.content.strip() != ""
    assert answer.reasoning is None or answer.reasoning == answer.reasoning.strip() != ""
    assert (answer.native is None) == (not answer.attempts)
    assert answer.native is not False or mode == "lenient"


DEEP = ("[" * 100_000, '{"a":' * 50_000, "(" * 100_000, "f(a=" * 50_000, "-" * 100_000, "{{" * 50_000)
ENDLESS = ('"', "\\", '"\\', "'", "`", "\n{", "\n[", '\n{"a":', '<tool_call>{"', "<think>", "<think></think>")


@pytest.mark.parametrize("head", ["", "<tool_call>\n", '{"name": "ping", "arguments": {"a": ', "[ping(a="])
@pytest.mark.parametrize(
    "tail", [*DEEP, *(unit * (100_000 // len(unit)) for unit in ENDLESS)], ids=lambda t: t[:9]
)
def test_deep_and_endless_texts_are_no_calls(head: str, tail: str) -> None:
    answer = parse_tool_calls(head + tail, TOOLS)
    assert answer.calls == ()


@pytest.mark.parametrize("opener", [fragment for fragment in FRAGMENTS if len(fragment) > 5])
def test_a_repeated_marker_is_read_to_its_end(opener: str) -> None:
    answer = parse_tool_calls(opener * 3_000, TOOLS, finish="length")
    assert all(call.name == "ping" for call in answer.calls)


def test_many_calls_are_all_read() -> None:
    calls: list[Call] = [("ping", {"count": n, "text": "x"}) for n in range(500)]
    for write in (hermes, qwen_xml):
        assert said(parse_tool_calls(write(calls), TOOLS)) == calls
