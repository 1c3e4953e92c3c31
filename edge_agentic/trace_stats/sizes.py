"""The sizes of turns: prompts, what a perfect cache leaves of them, answers and recorded waits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import Departure, PlannedTurn
from edge_agentic.trace import Trajectory, Turn

Plan = Callable[[Sequence[ChatRequest]], "Sequence[PlannedTurn] | None"]
"""Counts the tokens of one trajectory's requests (`Engine.plan`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSize:
    """The size of one turn. Token counts are None without a tokenizer, an answer's where none is recorded.

    `new_forced` and `new_natural` are the prompt tokens that a perfect cache leaves to be evaluated;
    `new_forced` is None for a turn that forced decoding does not ask. Characters count the texts of the
    messages, the names and arguments of their calls; `new_characters` are those the previous prompt had not.
    `departure` is where the prompt of the turn before ends to be a prefix of this one.
    """

    prompt_characters: int
    new_characters: int
    answer_characters: int | None
    delay_s: float | None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    new_forced: int | None = None
    new_natural: int | None = None
    answer_extends: bool | None = None
    departure: Departure | None = None


def measure(trajectory: Trajectory, plan: Plan | None = None) -> tuple[TurnSize, ...]:
    """Return the sizes of a trajectory's turns, in tokens too where `plan` can count them."""
    planned = _planned(trajectory.turns, plan)
    characters = _characters_up_to(trajectory.turns[-1].conversation)
    prompts = [characters[turn.prompt_end] for turn in trajectory.turns]
    return tuple(
        TurnSize(
            prompt_characters=prompt,
            new_characters=prompt - before,
            answer_characters=None if turn.recorded is None else _characters(turn.recorded),
            delay_s=turn.delay_s,
            prompt_tokens=tokens.prompt_tokens if tokens else None,
            answer_tokens=tokens.answer_tokens if tokens else None,
            new_forced=forced.prompt_tokens - forced.possible_forced if forced else None,
            new_natural=tokens.prompt_tokens - tokens.possible_natural if tokens else None,
            answer_extends=tokens.answer_extends if tokens else None,
            departure=tokens.departure if tokens else None,
        )
        for turn, (tokens, forced), prompt, before in zip(
            trajectory.turns, planned, prompts, [0, *prompts[:-1]], strict=True
        )
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
