"""Builders for multi-turn tests: the expected calls as a model would make them, and a model that makes given calls."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gate_fakes import Endpoint, said

from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.multi_turn.data import Call, Conversation
from bfcl_gate.multi_turn.entries import Played, played
from bfcl_gate.multi_turn.runner import Policy
from bfcl_gate.multi_turn.simulation import Simulation

Step = list[tuple[str, str]]
"""The calls of one answer: name and arguments as JSON text."""

Turns = list[list[Step]]


class Model(Endpoint):
    """Says the given answers in order and keeps the requests it was asked."""

    def __init__(self, *answers: TimedResponse) -> None:
        super().__init__(*answers)  # type: ignore[arg-type]
        self.requests: list[ChatRequest] = []

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        self.requests.append(request)
        return super().generate(request, keep)


def truth(conversation: Conversation) -> Turns:
    """The expected calls, those of a turn in one step."""
    documents = {
        tool["function"]["name"]: tool["function"]["parameters"] for tool in every_tool(conversation)
    }
    return [
        [[(call.name, json.dumps(named(call, documents[call.name]))) for call in calls]] if calls else []
        for calls in conversation.truth
    ]


def every_tool(conversation: Conversation) -> list[Mapping[str, Any]]:
    return [*conversation.tools, *(tool for tools in conversation.added.values() for tool in tools)]


def named(call: Call, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {**dict(zip(parameters["properties"], call.positional, strict=False)), **call.named}


def model(turns: Iterable[Iterable[Step]]) -> Model:
    """Makes the calls of each turn step by step, then ends it in prose."""
    return Model(
        *(answer for turn in turns for answer in (*(said(None, step) for step in turn), said("Done.")))
    )


def play(simulation: Simulation, conversation: Conversation, turns: Sequence[Sequence[Step]]) -> Played:
    return played(model(turns), conversation, simulation, Policy())
