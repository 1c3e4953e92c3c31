"""The same turns twice: paired, taken apart, and the difference explained in numbers that can be checked by eye."""

from dataclasses import replace

import pytest
from fake_run import MS, turn

from edge_agentic.engine_comparison import (
    PromptPair,
    compare_engines,
    first_character,
    pairs_of,
    parts_s,
    same_start,
)
from edge_agentic.turns import TurnResult


def local(number: int = 1, **changes: object) -> TurnResult:
    """1,000 ms of prefill of 100 tokens, 200 ms of decode of 5, 11 ms beside."""
    return turn(turn=number, decode="natural", text="one", finish_reason="stop", **changes)


def server(number: int = 1, **changes: object) -> TurnResult:
    """The same 100 tokens and 5: 800 ms and 300 ms by the server's own times, 1,411 ms in all."""
    values = {"server_prefill_ns": 800 * MS, "server_decode_ns": 300 * MS, "rendered_ns": None, "text": "one"}
    return turn(turn=number, decode="natural", prefill_ms=1200, **{**values, **changes})


def prompts(*equal: bool | None) -> list[PromptPair]:
    return [
        PromptPair(
            trajectory_id="a",
            turn=number,
            local_tokens=100,
            server_tokens=None if same is None else 100,
            **({} if same is not False else {"at": 7, "local": "<think>", "server": "Hello"}),
        )
        for number, same in enumerate(equal)
    ]


def test_only_turns_that_both_answered_are_paired() -> None:
    found = pairs_of([local(1), local(3), local(5)], [server(3), replace(server(5), error="timeout: late")])
    assert [(one.turn, two.turn) for one, two in found] == [(3, 3)]


def test_a_turn_is_taken_apart_without_a_rest_being_left_over() -> None:
    parts = parts_s(local())
    assert parts == pytest.approx({"prefill": 1.0, "decode": 0.2, "rest": 0.011})
    parts = parts_s(server())
    assert parts == pytest.approx({"prefill": 0.8, "decode": 0.3, "rest": 0.311})
    assert parts_s(replace(server(), server_decode_ns=None)) is None


def test_the_parts_of_the_difference_add_up_to_it() -> None:
    pairs = [(local(1), server(1)), (local(3), server(3))]
    found = compare_engines(pairs, prompts(True, True), decode="natural", first_token=first_character)
    seconds = found["seconds"]
    gap = {name: seconds[name]["server"] - seconds[name]["local"] for name in seconds}
    assert gap["latency"] == pytest.approx(0.4)
    assert gap["prefill"] + gap["decode"] + gap["rest"] == pytest.approx(gap["latency"])
    assert (
        "Together: +0.40 s over 2 turns: prefill -0.40 s, decode +0.20 s, rest +0.60 s." in found["explained"]
    )
    assert found["prompts"] == {"equal": 2, "compared": 2, "turns": 2}


def test_every_cause_has_its_sentence() -> None:
    more = server(output_tokens=10, input_tokens=120, reused_tokens=0, evaluated_tokens=120)
    found = compare_engines([(local(), more)], prompts(False), decode="recorded", first_token=first_character)
    told = "\n".join(found["explained"])
    assert "0 of 1 prompts are equal token by token" in told
    assert "Cache: 100 prompt tokens were evaluated locally, 120 by the server (+20.0 %)" in told
    assert "Length: 5 output tokens locally, 10 by the server (+100.0 %)" in told
    assert "Speed of prefill: 100.0 tokens/s locally, 150.0 in the server" in told
    assert "Outside the engine: 11.0 ms a turn locally" in told
    assert found["differences"][0]["local"] == "<think>"
    assert found["starts"] == {"equal": 0, "compared": 0}


def test_a_server_that_tells_nothing_is_compared_by_latency_alone() -> None:
    silent = replace(server(), server_prefill_ns=None, evaluated_tokens=None, reused_tokens=None)
    found = compare_engines([(local(), silent)], prompts(None), decode="natural", first_token=first_character)
    told = "\n".join(found["explained"])
    assert "cannot be compared" in told
    assert "states no times of its own" in told
    assert found["seconds"]["latency"]["server"] == pytest.approx(1.411)


CALL = ({"name": "bash", "arguments": "{}"},)


@pytest.mark.parametrize(
    ("here", "there", "same"),
    [
        ({"text": "one two"}, {"text": "one three"}, True),
        ({"text": "one"}, {"text": "two"}, False),
        ({"text": ""}, {"text": ""}, True),
        ({"text": ""}, {"text": None}, True),
        ({"text": ""}, {"text": "one"}, False),
        ({"text": "<tool_call>", "tool_calls": CALL}, {"text": None, "tool_calls": CALL}, True),
        (
            {"text": "<tool_call>", "tool_calls": CALL},
            {"text": None, "tool_calls": ({"name": "ls", "arguments": "{}"},)},
            False,
        ),
        ({"text": "prose", "tool_calls": ()}, {"text": None, "tool_calls": CALL}, False),
        ({"text": "<|start|>\none two"}, {"text": "one two"}, True),
        ({"text": "<|start|><|pad.|>"}, {"text": ""}, True),
        ({"text": "<|start|>two"}, {"text": "one"}, False),
        ({"text": "<|pad!|>one"}, {"text": "one"}, False),
    ],
)
def test_answers_begin_alike_where_their_first_token_is_the_same(
    here: dict[str, object], there: dict[str, object], same: bool
) -> None:
    pair = replace(local(), **here), replace(server(), **there)
    control_texts = ("<|start|>", "<|pad.|>")
    assert same_start(pair, lambda text: text.split()[0] if text else None, control_texts) is same


def test_without_a_tokenizer_the_first_character_is_compared() -> None:
    assert (first_character("\none"), first_character("")) == ("\n", None)
