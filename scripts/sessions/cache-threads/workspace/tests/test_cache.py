import pytest
from steps import Steps

from memo import Cache


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_value_is_computed_once():
    cache = Cache()
    assert [cache.get("a", lambda: 1), cache.get("a", lambda: 2)] == [1, 1]
    assert cache.stats() == {"hits": 1, "misses": 1, "evictions": 0}


def test_the_value_used_longest_ago_goes_first():
    cache = Cache(size=2)
    for key in "aba":
        cache.get(key, lambda: key)
    cache.get("c", lambda: "c")
    assert cache.get("a", lambda: "new") == "a"
    assert cache.get("b", lambda: "new") == "new"


def test_an_old_value_is_computed_again():
    clock = Clock()
    cache = Cache(ttl=10, clock=clock)
    cache.get("a", lambda: 1)
    clock.now = 11
    assert cache.get("a", lambda: 2) == 2


def test_an_exception_is_not_stored():
    cache = Cache()
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert cache.get("a", lambda: 3) == 3


def test_two_threads_compute_a_value_once():
    cache, calls = Cache(), []
    with Steps() as steps:
        first = steps.thread(lambda pause: cache.get("a", lambda: calls.append(1) or pause("computing") or 1))
        first.until("computing")
        second = steps.thread(lambda pause: cache.get("a", lambda: calls.append(2) or 2))
        assert second.waits()
        assert (first.finish(), second.finish(), calls) == (1, 1, [1])


def test_other_keys_do_not_wait():
    cache = Cache()
    with Steps() as steps:
        first = steps.thread(lambda pause: cache.get("a", lambda: pause("computing") or 1))
        first.until("computing")
        assert steps.thread(lambda pause: cache.get("b", lambda: 2)).finish() == 2
        assert first.finish() == 1
