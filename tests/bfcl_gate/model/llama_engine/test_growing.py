"""Tokens of a conversation that grows are those of its whole text."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.cli.engine import EngineOptions, local_settings
from bfcl_gate.model.catalog import DEFAULT
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.llama_engine import LlamaEngine
from bfcl_gate.model.llama_engine.growing import GrowingTokens, Special, certain_tokens
from bfcl_gate.model.llama_engine.vocabulary import Vocabulary
from edge_agentic.trace import read_trace

PIECES = st.sampled_from(
    [
        "<|im_start|>",
        "<|im_end|>",
        "<|im_",
        "<tool_call>",
        "user\n",
        "the  in",
        "\n\n",
        " ",
        "é",
        "⸨1⸩",
        "⸨2⸩x",
        "=" * 600,
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def specials(*texts: str, strips: str = "", other: str = "") -> list[Special]:
    return [Special(i, text, text != other, text == strips) for i, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("texts", "certain"),
    [
        (("<|im_start|>", "<|im_end|>", "</tool_call>"), {"<|im_start|>", "<|im_end|>", "</tool_call>"}),
        (("<s>", "<s>x"), set()),  # the one inside the other
        (("[A]", "]["), set()),  # they overlap at an end
        (("<a>", "a>b", "<c>"), {"<c>"}),
        (("abca", "<c>"), {"<c>"}),  # it overlaps itself
        (("<a>", "<a>", "<b>"), {"<b>"}),  # one text, two tokens
        (("1", "<1>", "⸨x"), set()),  # a number may be part of a mark
        (("", "<a>"), {"<a>"}),
    ],
)
def test_only_what_nothing_overlaps_is_certain(texts: Sequence[str], certain: set[str]) -> None:
    assert set(certain_tokens(specials(*texts))) == certain


def test_what_takes_white_space_along_or_is_no_control_token_is_no_place_to_cut() -> None:
    assert certain_tokens(specials("<a>", "<b>", "<c>", strips="<a>", other="<b>")) == {"<c>": 2}


@pytest.fixture(scope="module")
def vocabulary(model: Callable[..., Path], settings_of: Callable[..., Any]) -> Vocabulary:
    return LlamaEngine(settings_of(model(add_bos=True), vocab_only=True), (0, 0))._vocabulary


@given(texts=st.lists(TEXTS, min_size=2, max_size=5), shared=TEXTS)
def test_any_texts_one_after_another_have_the_tokens_of_each(
    vocabulary: Vocabulary, texts: list[str], shared: str
) -> None:
    growing = vocabulary.growing()
    for text in [*texts, *(shared + text for text in texts)]:
        assert growing.tokenise(text) == vocabulary.tokenise(text)


def test_what_is_shared_is_not_tokenised_again_and_what_is_returned_may_be_altered() -> None:
    seen: list[str] = []

    def tokens(text: str) -> "array[int]":
        seen.append(text)
        return array("i", (0 if c == "|" else ord(c) for c in text))

    growing = GrowingTokens({"|": 0}, tokens, tokens)
    assert len(growing.tokenise("a|b|c")) == 5
    whole = growing.tokenise("a|b|c and more|")
    del whole[3:]
    assert growing.tokenise("a|b|c and more| d") == tokens("a|b|c and more| d")
    growing.forget()
    growing.tokenise("a|b")
    assert seen == ["a|b|c", "|c and more|", "| d", "a|b|c and more| d", "a|b"]


def test_a_place_to_cut_is_found_however_far_back_it_is() -> None:
    growing = GrowingTokens({"|": 0}, *[lambda t: array("i", (0 if c == "|" else ord(c) for c in t))] * 2)
    long = "x|" + "y" * 100_000
    growing.tokenise(long)
    assert growing._last_certain(long + "z", len(long)) == (1, "|")
    assert len(growing.tokenise(long + "z")) == len(long) + 1


@pytest.mark.model
def test_the_official_trace_has_the_tokens_of_each_whole_prompt(shared: Path) -> None:
    settings = local_settings(EngineOptions(model=DEFAULT))
    engine = LlamaEngine(replace(settings, vocab_only=True, ctx=256), (0, 0))
    trace = read_trace(shared / "data" / "agentic_coding_2.5h.jsonl")
    try:
        counts = [same_tokens(engine, [turn.request() for turn in t.turns]) for t in trace.trajectories]
    finally:
        engine.close()
    assert sum(counts) == 1007


def same_tokens(engine: LlamaEngine, requests: Sequence[ChatRequest]) -> int:
    """Compare the prompts, asked for as `plan` does: each followed by its text with the recorded answer, of which every
    tenth is compared too. Return the number of prompts."""
    for number, request in enumerate(requests):
        for answer in (None, request.recorded):
            messages = request.messages if answer is None else (*request.messages, answer)
            text = engine._template.render(messages, request.tools, generation_prompt=answer is None)
            tokens = engine._planned.tokenise(text)
            if answer is None or number % 10 == 0:
                assert tokens == engine._vocabulary.tokenise(text)
    return len(requests)
