"""Several trajectories of a replay at once, for servers that answer several requests at once."""

import sys
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event as Flag
from threading import Lock

from bfcl_gate.model.engine import Engine
from edge_agentic.replay import Event, ReplayOptions, TurnKey, TurnPlan, replay

_LOOK_AGAIN_S = 0.1
_HAND_OVER_S = 0.000_1

Trajectories = Iterator[Sequence[TurnPlan]]
News = tuple[Event, Flag] | Future[None]
"""An event and the flag that says it was kept, or the end of one that asks."""


def replay_at_once(
    engine: Engine,
    planned: Sequence[Sequence[TurnPlan]],
    options: ReplayOptions,
    done: Collection[TurnKey],
    concurrency: int,
    failed: Collection[str] = (),
) -> Iterator[Event]:
    """Replay up to `concurrency` trajectories at once, each as `edge_agentic.replay.replay` does.

    Events come as they happen. A trajectory's next turn is asked only when its event was taken and the next one
    wanted, so that it was kept. Raises what `replay` raises; the answers then under way are cancelled.
    """
    if concurrency == 1:
        yield from replay(engine, planned, options, done, failed)
        return
    with _prompt_threads():
        yield from _at_once(engine, planned, options, done, failed, concurrency)


@contextmanager
def _prompt_threads() -> Iterator[None]:
    """Let a thread whose token arrived look at the clock soon: Python hands over after 5 ms of others' work else."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_HAND_OVER_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _at_once(
    engine: Engine,
    planned: Sequence[Sequence[TurnPlan]],
    options: ReplayOptions,
    done: Collection[TurnKey],
    failed: Collection[str],
    concurrency: int,
) -> Iterator[Event]:
    trajectories, lock, stop = iter(planned), Lock(), Flag()
    news: SimpleQueue[News] = SimpleQueue()

    def pause(seconds: float) -> None:
        stop.wait(seconds)

    def ask() -> None:
        while (plans := _next(trajectories, lock)) is not None and not stop.is_set():
            for event in replay(engine, [plans], options, done, failed, pause):
                kept = Flag()
                news.put((event, kept))
                while not kept.wait(_LOOK_AGAIN_S):
                    if stop.is_set():
                        return

    with ThreadPoolExecutor(concurrency, "trajectory") as pool:
        asking = {pool.submit(ask) for _ in range(concurrency)}
        for future in asking:
            future.add_done_callback(news.put)
        try:
            yield from _events(news, len(asking))
        finally:
            stop.set()
            while wait(asking, timeout=_LOOK_AGAIN_S).not_done:
                engine.cancel()  # again, for whoever was just about to ask


def _next(trajectories: Trajectories, lock: Lock) -> Sequence[TurnPlan] | None:
    with lock:
        return next(trajectories, None)


def _events(news: "SimpleQueue[News]", asking: int) -> Iterator[Event]:
    while asking:
        found = news.get()
        if isinstance(found, Future):
            found.result()
            asking -= 1
        else:
            event, kept = found
            yield event
            kept.set()
