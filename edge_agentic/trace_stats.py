"""How much work a trace is: prompts, what a perfect cache leaves of them, answers and recorded waits."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import PlannedTurn
from edge_agentic.distribution import distribution
from edge_agentic.trace import Trajectory, Turn

Plan = Callable[[Sequence[ChatRequest]], "Sequence[PlannedTurn] | None"]
"""Counts the tokens of one trajectory's requests (`Engine.plan`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSize:
    """The size of one turn. Token counts are None without a tokenizer, an answer's where none is recorded.

    `new_forced` and `new_natural` are the prompt tokens that a perfect cache leaves to be evaluated;
    `new_forced` is None for a turn that forced decoding does not ask. Characters count the texts of the
    messages, the names and arguments of their calls.
    """

    prompt_characters: int
    answer_characters: int | None
    delay_s: float | None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    new_forced: int | None = None
    new_natural: int | None = None
    answer_extends: bool | None = None


def measure(trajectory: Trajectory, plan: Plan | None = None) -> tuple[TurnSize, ...]:
    """Return the sizes of a trajectory's turns, in tokens too where `plan` can count them."""
    planned = _planned(trajectory.turns, plan)
    characters = _characters_up_to(trajectory.turns[-1].conversation)
    return tuple(
        TurnSize(
            prompt_characters=characters[turn.prompt_end],
            answer_characters=None if turn.recorded is None else _characters(turn.recorded),
            delay_s=turn.delay_s,
            prompt_tokens=tokens.prompt_tokens if tokens else None,
            answer_tokens=tokens.answer_tokens if tokens else None,
            new_forced=forced.prompt_tokens - forced.possible_forced if forced else None,
            new_natural=tokens.prompt_tokens - tokens.possible_natural if tokens else None,
            answer_extends=tokens.answer_extends if tokens else None,
        )
        for turn, (tokens, forced) in zip(trajectory.turns, planned, strict=True)
    )


def _planned(turns: Sequence[Turn], plan: Plan | None) -> list[tuple[PlannedTurn | None, PlannedTurn | None]]:
    """Return each turn's counts among all turns, and among those that forced decoding asks."""
    every = plan([turn.request() for turn in turns]) if plan else None
    if plan is None or every is None:
        return [(None, None)] * len(turns)
    answered = [turn for turn in turns if turn.recorded is not None]
    asked = every if len(answered) == len(turns) else plan([turn.request(forced=True) for turn in answered])
    forced = iter(asked or ())
    return [
        (tokens, next(forced) if turn.recorded is not None else None)
        for turn, tokens in zip(turns, every, strict=True)
    ]


def _characters_up_to(conversation: Sequence[Message]) -> list[int]:
    """Return the characters of the first 0, 1, 2 … messages."""
    sums = [0]
    for message in conversation:
        sums.append(sums[-1] + _characters(message))
    return sums


def _characters(message: Message) -> int:
    calls = [call["function"] for call in message.get("tool_calls", ())]
    texts = [message.get("content"), message.get("reasoning_content")]
    texts += [part for call in calls for part in (call["name"], call["arguments"])]
    return sum(len(text if isinstance(text, str) else str(text)) for text in texts if text is not None)


def stats(trajectories: Sequence[Sequence[TurnSize]]) -> dict[str, Any]:
    """Return the JSON object of `traces stats` for these trajectories; what is not known is None."""
    sizes = [size for turns in trajectories for size in turns]
    counted = all(size.prompt_tokens is not None for size in sizes)
    total = _sum(size.prompt_tokens for size in sizes) if counted else None
    forced = _sum(size.new_forced for size in sizes) if counted else None
    natural = _sum(size.new_natural for size in sizes) if counted else None
    asked = _sum(size.prompt_tokens for size in sizes if size.new_forced is not None)
    return {
        "trajectories": len(trajectories),
        "turns": len(sizes),
        "answered_turns": sum(size.answer_characters is not None for size in sizes),
        "largest_prompt_tokens": max((size.prompt_tokens or 0 for size in sizes), default=0)
        if counted
        else None,
        "total_prompt_tokens": total,
        "new_tokens": {"forced": forced, "natural": natural},
        "ideal_reuse": {"forced": _reuse(forced, asked), "natural": _reuse(natural, total)},
        "answer_tokens": _sum(size.answer_tokens for size in sizes) if counted else None,
        "answers_extending_prompt": sum(size.answer_extends is True for size in sizes) if counted else None,
        "delay_s": math.fsum(size.delay_s for size in sizes if size.delay_s is not None),
        "largest_prompt_characters": max((size.prompt_characters for size in sizes), default=0),
        "total_prompt_characters": _sum(size.prompt_characters for size in sizes),
        "answer_characters": _sum(size.answer_characters for size in sizes),
        "distributions": {
            "prompt_tokens": distribution(size.prompt_tokens for size in sizes).to_dict(),
            "new_tokens_forced": distribution(size.new_forced for size in sizes).to_dict(),
            "new_tokens_natural": distribution(size.new_natural for size in sizes).to_dict(),
            "answer_tokens": distribution(size.answer_tokens for size in sizes).to_dict(),
            "prompt_characters": distribution(size.prompt_characters for size in sizes).to_dict(),
            "answer_characters": distribution(size.answer_characters for size in sizes).to_dict(),
            "delay_s": distribution(size.delay_s for size in sizes).to_dict(),
        },
    }


def _sum(values: Iterable[int | None]) -> int:
    return sum(value for value in values if value is not None)


def _reuse(new: int | None, prompt: int | None) -> float | None:
    """Return the share of the prompt tokens that a perfect cache need not evaluate."""
    return None if new is None or not prompt else 1 - new / prompt
