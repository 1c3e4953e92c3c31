"""Ends a request that is overdue: a thread of its own, because a blocked read cannot look at a clock."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from types import TracebackType

_CUT_AGAIN_S = 0.25
"""A connection may come to life after the first cut (it was still being made), so cutting is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a request may take, in seconds: until its first token, between two arrivals of tokens,
    and altogether."""

    first_s: float
    stall_s: float
    total_s: float


class Watchdog:
    """Calls `cut` once a limit has passed; from then on `reason` says which, in words.

    Used around one request. `progress` is called by the reader, `expire` from anywhere.
    """

    def __init__(self, limits: Limits, cut: Callable[[], None]) -> None:
        self.reason: str | None = None
        self._limits = limits
        self._cut = cut
        self._over = False
        self._wake = threading.Event()
        self._lock = threading.RLock()  # a signal handler may expire what its own thread is ending
        now = monotonic()
        self._end = now + limits.total_s
        self._due = now + limits.first_s
        self._late = f"no token came within {limits.first_s:g} s"
        self._unfinished = f"the answer was not finished within {limits.total_s:g} s"
        self._thread = threading.Thread(target=self._watch, name="request watchdog", daemon=True)

    def __enter__(self) -> "Watchdog":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._over = True
        self._wake.set()
        self._thread.join()

    def progress(self) -> None:
        """Note that the answer grew: the next piece is due within the stall limit."""
        self._late = f"no further token came within {self._limits.stall_s:g} s"
        self._due = monotonic() + self._limits.stall_s

    def finish_within(self, seconds: float) -> None:
        """Shorten what is left: all that matters has come."""
        self._late = "the server kept the finished answer open"
        self._due = monotonic() + seconds
        self._wake.set()

    def expire(self, reason: str) -> None:
        """Cut the connection now, for good. Returns at once; harmless after the request."""
        with self._lock:
            if not self._over:
                self.reason = self.reason or reason
                self._cut()

    def _watch(self) -> None:
        while not self._over:
            if self.reason is not None:
                self._cut()
            elif self._left_s() <= 0:
                self.expire(self._late if self._due <= self._end else self._unfinished)
            self._wake.wait(self._wait_s())
            self._wake.clear()

    def _left_s(self) -> float:
        return min(self._due, self._end) - monotonic()

    def _wait_s(self) -> float:
        return max(self._left_s(), 0.0) if self.reason is None else _CUT_AGAIN_S
