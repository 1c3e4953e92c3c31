"""Ends a request that is overdue: a thread of its own, because a blocked read cannot look at a clock.

One thread looks after all requests of the process: to start one for each would be a part of every TTFT.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from queue import Empty, SimpleQueue
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
        self._lock = threading.RLock()  # a signal handler may expire what its own thread is ending
        now = monotonic()
        self._end = now + limits.total_s
        self._due = now + limits.first_s
        self._late = f"no token came within {limits.first_s:g} s"
        self._stalled = f"no further token came within {limits.stall_s:g} s"
        self._unfinished = f"the answer was not finished within {limits.total_s:g} s"

    def __enter__(self) -> "Watchdog":
        _GUARD.watch(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._over = True
        _GUARD.release(self)

    def progress(self) -> None:
        """Note that the answer grew: the next piece is due within the stall limit."""
        self._late = self._stalled
        self._due = monotonic() + self._limits.stall_s

    def finish_within(self, seconds: float) -> None:
        """Shorten what is left: all that matters has come."""
        self._late = "the server kept the finished answer open"
        self._due = monotonic() + seconds
        _GUARD.hurry()

    def expire(self, reason: str) -> None:
        """Cut the connection now, for good. Returns at once; harmless after the request."""
        self._expire(reason)
        _GUARD.hurry()

    def _expire(self, reason: str) -> None:
        with self._lock:
            if not self._over:
                self.reason = self.reason or reason
                self._cut()

    @property
    def first_look(self) -> float:
        """The instant (of `monotonic`) before which nothing can be overdue."""
        return min(self._due, self._end)

    def look(self) -> float:
        """Cut what is overdue, again where it was cut before; return the seconds until the next look."""
        if self._over:
            return inf
        left = self.first_look - monotonic()
        if self.reason is None and left > 0:
            return left
        self._expire(self._late if self._due <= self._end else self._unfinished)
        return _CUT_AGAIN_S


class _Guard:
    """The thread that looks after all watchdogs. It runs from the first request on, as long as the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dogs: set[Watchdog] = set()
        self._next_look = inf
        self._woken: SimpleQueue[None] = SimpleQueue()  # its `put` may be called from a signal handler
        self._thread: threading.Thread | None = None

    def watch(self, dog: Watchdog) -> None:
        with self._lock:
            self._dogs.add(dog)
            early = dog.first_look < self._next_look
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="watchdog of all requests", daemon=True
                )
                self._thread.start()
        if early:
            self.hurry()

    def release(self, dog: Watchdog) -> None:
        with self._lock:
            self._dogs.discard(dog)

    def hurry(self) -> None:
        self._woken.put(None)

    def _run(self) -> None:
        while True:
            with self._lock:
                dogs = tuple(self._dogs)
                self._next_look = inf  # whoever comes from now on wakes this thread
            self._sleep(min((dog.look() for dog in dogs), default=inf))

    def _sleep(self, wait_s: float) -> None:
        with self._lock:
            self._next_look = monotonic() + wait_s
        try:
            self._woken.get(timeout=None if wait_s == inf else max(wait_s, 0.0))
            while True:
                self._woken.get_nowait()
        except Empty:
            pass


_GUARD = _Guard()
