"""Several requests at once, their results in the order of the requests."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 4
"""So many times the requests at once may be begun while the oldest is not finished: a long answer holds up no other."""
_LOOK_AGAIN_S = 0.1


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], at_once: int, cancel: Callable[[], None]
) -> Iterator[tuple[Item, Future[Result]]]:
    """Yield every item with its finished work, in the order of the items; up to `at_once` are under way.

    When the iterator is left early, `cancel` is called until nothing is under way any more.
    """
    begun: deque[tuple[Item, Future[Result]]] = deque()
    with ThreadPoolExecutor(at_once, "sample") as pool:
        try:
            for item in items:
                begun.append((item, pool.submit(work, item)))
                if len(begun) == AHEAD * at_once:
                    yield _finished(begun)
            while begun:
                yield _finished(begun)
        finally:
            running = [future for _, future in begun if not future.cancel()]
            while wait(running, timeout=_LOOK_AGAIN_S).not_done:
                cancel()


def _finished(begun: deque[tuple[Item, Future[Result]]]) -> tuple[Item, Future[Result]]:
    """Wait for the oldest and take it out; while it is waited for it still belongs to what can be cancelled."""
    wait([begun[0][1]])
    return begun.popleft()
