"""How fast a server was seen to evaluate prompts: what later answers may reasonably take."""

from threading import Lock

from bfcl_gate.model.engine import TimedResponse

LEAST_TOKENS = 64
"""Below so many evaluated tokens the time to the first token says more about the network than about prefill."""


class Pace:
    """The slowest prefill rate of a server's answers so far."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._slowest: float | None = None

    def note(self, response: TimedResponse) -> None:
        """Take an answer into account where it tells how much was evaluated, and for how long."""
        tokens, first_ns = response.evaluated_tokens, response.first_token_ns
        if tokens is None or tokens < LEAST_TOKENS or first_ns is None or response.error is not None:
            return
        rate = tokens / max((first_ns - response.submitted_ns) / 1e9, 1e-9)
        with self._lock:
            self._slowest = rate if self._slowest is None else min(rate, self._slowest)

    def prefill_tokens_per_s(self, at_once: int) -> float | None:
        """Return the rate to expect while `at_once` requests share the server; None before any was measured."""
        return None if self._slowest is None else self._slowest / max(at_once, 1)
