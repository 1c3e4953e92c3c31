"""One conversation with a model: the user's turns, the model's calls, their results, until it is wrong or done.

The protocol is that of the official runner (bfcl-eval 2026.3.23, inference_multi_turn_FC) at temperature 0; what
differs is listed in docs/gate.md.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from bfcl_gate.answers import REQUEST_FAILED
from bfcl_gate.errors import InputError
from bfcl_gate.gate import reply_in
from bfcl_gate.model.chat import ChatRequest, Message, Tool
from bfcl_gate.model.engine import Engine
from bfcl_gate.multi_turn.checker import FORCE_TERMINATED, Checker, Failure
from bfcl_gate.multi_turn.data import Conversation
from bfcl_gate.multi_turn.simulation import CALL_ENDED, CallEndedError, Simulation
from bfcl_gate.readings import MODES, Reading, Reply, read_answer
from bfcl_gate.samples import Sample

STEP_LIMIT = 21
"""Steps with calls in one turn; after them the conversation is over."""

REFUSED = "gate_error:conversation_refused"
"""Error type of a conversation that grew beyond the context, or that the template cannot render any more."""

_OVER = "the model still called functions after the last step allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a model is asked: which reading of its answers counts (native or lenient), and the tokens of one answer."""

    calls: str = "lenient"
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        if self.calls not in MODES:
            raise InputError(f"--calls {self.calls!r} is unknown; expected one of {', '.join(MODES)}.")


class StoppedError(Exception):
    """The model, or the request that asks it, ended the conversation."""

    def __init__(self, error: str, detail: str) -> None:
        super().__init__(detail)
        self.failure = Failure(error=error, detail=detail)


class Player:
    """A conversation under way. `said` holds the model's answers by turn and step, in bfcl-eval's layout."""

    def __init__(
        self, engine: Engine, conversation: Conversation, simulation: Simulation, policy: Policy
    ) -> None:
        self._engine, self._conversation = engine, conversation
        self._simulation, self._policy = simulation, policy
        self._messages: list[Message] = []
        self._tools: list[Tool] = list(conversation.tools)
        every = chain(conversation.tools, *conversation.added.values())
        self._names = frozenset(tool["function"]["name"] for tool in every)
        self._calls = 0
        self.said: list[list[Any]] = []
        self.replies: list[Reply] = []

    def play(self) -> Failure | None:
        """Go through the turns up to the first that is wrong; None where all are right."""
        self._engine.forget()
        self._simulation.begin(self._conversation)
        checker = Checker(self._simulation, self._conversation)
        try:
            for turn in range(len(self._conversation.turns)):
                if failure := self._play_turn(turn, checker):
                    return failure
        except CallEndedError as error:
            return Failure(error=CALL_ENDED, detail=str(error))
        except StoppedError as error:
            return error.failure
        return None

    def _play_turn(self, turn: int, checker: Checker) -> Failure | None:
        self._tools += self._conversation.added.get(turn, ())
        self._messages += self._conversation.turns[turn]
        self.said.append([])
        steps: list[list[str]] = []
        while len(steps) < STEP_LIMIT and (results := self._step()) is not None:
            steps.append(results)
        over = len(steps) == STEP_LIMIT
        if over and turn + 1 < len(self._conversation.turns):
            return Failure(error=FORCE_TERMINATED, detail=_OVER)
        return checker.check(turn, steps)

    def _step(self) -> list[str] | None:
        """Ask once and make the calls that were answered; None where there are none or one does not decode."""
        reply = self._ask()
        reading = read_answer(self._sample(), reply, self._policy.calls)
        calls = reading.attempts
        self.said[-1].append(_stored(reading))
        if not calls or not all(_decodes(call["raw_arguments"]) for call in calls):
            self._messages.append({"role": "assistant", "content": _prose(reading, reply)})
            return None
        ids = [f"call_{self._calls + number}" for number in range(len(calls))]
        self._calls += len(calls)
        results = [self._call(call["name"], call["raw_arguments"]) for call in calls]
        self._messages.append(
            {
                "role": "assistant",
                "content": reading.message.get("content") or None,
                "tool_calls": [_spoken(*pair) for pair in zip(ids, calls, strict=True)],
            }
        )
        self._messages += (
            {"role": "tool", "tool_call_id": call_id, "content": result}
            for call_id, result in zip(ids, results, strict=True)
        )
        return results

    def _call(self, name: str, arguments: str) -> str:
        """Make a call by the name of a tool; another name gives the official runner's text.

        A tool that is held back works already, as it does there: multi_turn_miss_func_49 expects it to.
        """
        if name in self._names:
            return self._simulation.call(name, arguments)
        return f"Error during execution: name {name[:200]!r} is not defined"

    def _ask(self) -> Reply:
        try:
            response = self._engine.generate(self._request())
        except InputError as error:
            if not self.replies:  # the conversation as it begins, which is none of the model's doing
                raise
            raise StoppedError(REFUSED, str(error)) from error
        reply = reply_in(response, self._engine.info())
        self.replies.append(reply)
        if reply.error is not None:
            raise StoppedError(REQUEST_FAILED, reply.error)
        return reply

    def _request(self) -> ChatRequest:
        return ChatRequest(
            messages=tuple(self._messages),
            tools=tuple(self._tools),
            max_tokens=self._policy.max_tokens,
            tool_choice="auto",
        )

    def _sample(self) -> Sample:
        return Sample(
            id=self._conversation.id,
            subset=self._conversation.subset,
            category=None,
            messages=[],
            tools=[dict(tool) for tool in self._tools],
        )


def _stored(reading: Reading) -> Any:
    """Return an answer as bfcl-eval stores it: {name: arguments} for each call, else the text."""
    if reading.attempts:
        return [{call["name"]: call["raw_arguments"]} for call in reading.attempts]
    return reading.message.get("content")


def _prose(reading: Reading, reply: Reply) -> str:
    """Return what goes into the history for an answer without usable calls: text, calls in the model's own words."""
    return (reply.text if reading.attempts else reading.message.get("content")) or ""


def _spoken(call_id: str, call: Mapping[str, str]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": call["raw_arguments"]}
    return {"id": call_id, "type": "function", "function": function}


def _decodes(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
