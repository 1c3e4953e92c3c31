"""Is a turn done? Two tests after each: the state of every API, then the results of the expected calls.

Source: multi_turn_checker of bfcl-eval 2026.3.23. Its third test, the order of calls, is switched off there.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bfcl_gate.multi_turn.data import Conversation
from bfcl_gate.multi_turn.simulation import Simulation

EMPTY_TURN = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"
FORCE_TERMINATED = "multi_turn:force_terminated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a conversation is wrong: the error type (official where one exists) and what was seen."""

    error: str
    detail: str


class Checker:
    """Follows one conversation turn by turn, the expected calls being made on the truth's side."""

    def __init__(self, simulation: Simulation, conversation: Conversation) -> None:
        self._simulation, self._conversation = simulation, conversation
        self._seen: Counter[str] = Counter()

    def check(self, turn: int, steps: Sequence[Sequence[str]]) -> Failure | None:
        """Judge a turn by the results of its calls, step by step; None where it is right.

        Results of earlier turns count too, in any order, so a call need not be repeated. A turn in which nothing is
        expected is right whatever happens, but its calls keep their effect. Raises CallEndedError.
        """
        expected = Counter(self._simulation.expected(call) for call in self._conversation.truth[turn])
        self._seen.update(result for step in steps for result in step)
        if not expected:
            return None
        if not steps:
            return Failure(error=EMPTY_TURN, detail="no call where calls are expected")
        if (where := self._simulation.difference()) is not None:
            return Failure(error=STATE, detail=f"{where} differs from the expected state")
        if missing := expected - self._seen:
            return Failure(error=RESPONSE, detail=f"no call returned {next(iter(missing))[:200]}")
        return None
