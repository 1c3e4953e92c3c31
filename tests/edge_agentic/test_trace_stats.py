"""Sizes of a trace, on a trajectory whose every number can be added up by eye."""

from collections.abc import Sequence
from typing import Any

from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import PlannedTurn
from edge_agentic import Trajectory, Turn
from edge_agentic.trace_stats import measure, stats


def said(role: str, length: int) -> Message:
    return {"role": role, "content": "x" * length}


def trajectory(answered: Sequence[bool] = (True, True)) -> Trajectory:
    """Two turns of 10 and 10 + 4 + 6 characters; the answers have 4 and 2."""
    conversation = (said("user", 10), said("assistant", 4), said("user", 6), said("assistant", 2))
    turns = tuple(
        Turn(
            trajectory_id="a",
            number=1 + end // 2 * 2,
            line=end,
            conversation=conversation,
            prompt_end=end,
            tools=(),
            recorded=conversation[end] if known else None,
            recorded_row=None,
            delay_s=delay_s,
            max_tokens=None,
        )
        for end, known, delay_s in zip((1, 3), answered, (None, 0.5), strict=True)
    )
    return Trajectory(id="a", line=1, turns=turns)


def tokens(message: Message | None) -> int:
    return 0 if message is None else len(message["content"])


def plan(requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...]:
    """A token a character, and a cache that keeps all it may: the rules of the design's section 1."""
    planned, held, previous = [], 0, 0
    for request in requests:
        prompt = sum(tokens(message) for message in request.messages)
        answer = tokens(request.recorded) if request.recorded else None
        planned.append(
            PlannedTurn(
                prompt_tokens=prompt,
                answer_tokens=answer,
                possible_forced=held,
                possible_natural=previous,
                keep=0,
                answer_extends=None if answer is None else True,
            )
        )
        previous, held = prompt, prompt + max(0, (answer or 0) - 1)
    return tuple(planned)


def chosen(document: dict[str, Any], *names: str) -> list[Any]:
    return [document[name] for name in names]


def test_prompts_answers_and_new_tokens_are_summed() -> None:
    numbers = stats([measure(trajectory(), plan), measure(trajectory(), plan)])
    assert chosen(numbers, "trajectories", "turns", "answered_turns") == [2, 4, 4]
    assert chosen(numbers, "largest_prompt_tokens", "total_prompt_tokens", "answer_tokens") == [20, 60, 12]
    # A trajectory: 10 new first; then 20 - (10 + 3) forced and 20 - 10 natural.
    assert numbers["new_tokens"] == {"forced": 34, "natural": 40}
    assert numbers["ideal_reuse"] == {"forced": 1 - 34 / 60, "natural": 1 - 40 / 60}
    assert numbers["answers_extending_prompt"] == 4
    assert numbers["delay_s"] == 1.0
    assert chosen(numbers, "largest_prompt_characters", "total_prompt_characters", "answer_characters") == [
        20,
        60,
        12,
    ]
    spread = numbers["distributions"]
    assert (spread["prompt_tokens"]["min"], spread["prompt_tokens"]["max"]) == (10, 20)
    assert (spread["new_tokens_forced"]["min"], spread["new_tokens_forced"]["max"]) == (7, 10)
    assert (spread["delay_s"]["count"], spread["delay_s"]["mean"]) == (2, 0.5)


def test_without_a_tokenizer_tokens_are_unknown_and_characters_are_not() -> None:
    numbers = stats([measure(trajectory())])
    names = ("largest_prompt_tokens", "total_prompt_tokens", "answer_tokens", "answers_extending_prompt")
    assert chosen(numbers, *names) == [None] * 4
    assert numbers["new_tokens"] == numbers["ideal_reuse"] == {"forced": None, "natural": None}
    assert chosen(numbers, "largest_prompt_characters", "total_prompt_characters", "answer_characters") == [
        20,
        30,
        6,
    ]
    assert numbers["distributions"]["prompt_tokens"]["count"] == 0


def test_an_engine_that_cannot_count_is_no_tokenizer() -> None:
    assert measure(trajectory(), lambda requests: None) == measure(trajectory())


def test_a_turn_without_a_recorded_answer_is_asked_in_natural_decoding_only() -> None:
    numbers = stats([measure(trajectory(answered=(False, True)), plan)])
    assert chosen(numbers, "turns", "answered_turns", "total_prompt_tokens", "answer_tokens") == [2, 1, 30, 2]
    # Forced decoding asks the second turn alone, from an empty cache.
    assert numbers["new_tokens"] == {"forced": 20, "natural": 20}
    assert numbers["ideal_reuse"] == {"forced": 0.0, "natural": 1 - 20 / 30}


def test_characters_count_the_texts_of_calls_too() -> None:
    call = {
        "id": "ignored",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command": "ls"}'},
    }
    base = trajectory().turns[1]
    answer = {"role": "assistant", "tool_calls": [call], "reasoning_content": "hm"}
    conversation = (*base.conversation[:3], answer)
    turn = Turn(
        trajectory_id="a",
        number=1,
        line=1,
        conversation=conversation,
        prompt_end=3,
        tools=(),
        recorded=answer,
        recorded_row=2,
        delay_s=None,
        max_tokens=None,
    )
    (size,) = measure(Trajectory(id="a", line=1, turns=(turn,)))
    assert size.answer_characters == len("bash") + len('{"command": "ls"}') + len("hm")


def test_no_trajectories_are_no_numbers() -> None:
    numbers = stats([])
    assert chosen(numbers, "trajectories", "turns", "delay_s") == [0, 0, 0.0]
