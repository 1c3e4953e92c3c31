"""Races in a cache, made to come out the same way every time; one tool."""

from steps import act, agent, bash, replacing, say, shell_task, think

SYSTEM, TOOLS = agent("shell")

TASK = shell_task("""
Under load our server computes the same expensive value many times, now and then get() raises KeyError from inside the cache, and the numbers of stats() do not add up.
README.md says what memo.Cache promises. Please make it keep these promises. Every race you repair needs a test that failed before and comes out the same
way each time: use tests/steps.py, no sleeping and hoping. Put them into tests/test_races.py.
""")

CHECK = "python -m pytest -q && python -m pytest -q && grep -c 'def test' tests/test_races.py | awk '{exit $1 < 6}' && ! grep -q 'time.sleep' tests/test_races.py"

STEPS = [
    think("Overview first.", bash("cat README.md; find . -name '*.py' | sort | xargs wc -l")),
    act(bash("cat memo/cache.py memo/entry.py memo/order.py")),
    act(bash("cat tests/steps.py")),
    act(bash("cat tests/test_cache.py; python -m pytest -q 2>&1 | grep -E '^E  |^FAILED|passed|failed'")),
    say(
        "One listed test fails: nothing makes the second thread wait. Before I design anything I want the other two reports as facts. KeyError: where could it come from? `del self._entries[oldest]` when the order holds a key that is no longer there, which `invalidate` causes without any thread.",
        bash(
            "python - <<'EOF'\nfrom memo import Cache\ncache = Cache(size=2)\ncache.get('a', lambda: 1)\ncache.invalidate('a')\ncache.get('b', lambda: 2)\ncache.get('c', lambda: 3)\ntry:\n    cache.get('d', lambda: 4)\nexcept KeyError as error:\n    print('KeyError', error, cache._order._keys)\nEOF"
        ),
    ),
    say(
        "That is one: invalidate forgets the order. A race gives the same: a hit touches the order after another thread has evicted the key, so the order holds a key without an entry. I will show it with a clock that pauses, since `get` looks at the clock between finding the entry and touching it.",
        bash(
            "cat > race.py <<'EOF'\nimport sys; sys.path.insert(0, 'tests')\nfrom steps import Steps\nfrom memo import Cache\npausing = {}\ndef clock():\n    import threading\n    pause = pausing.get(threading.current_thread())\n    if pause: pause('looking')\n    return 0.0\ncache = Cache(size=1, clock=clock)\ncache.get('a', lambda: 1)\nwith Steps() as steps:\n    def reader(pause):\n        import threading\n        pausing[threading.current_thread()] = pause\n        return cache.get('a', lambda: 'again')\n    first = steps.thread(reader)\n    first.until('looking')\n    cache.get('b', lambda: 2)\n    print('first got', first.finish(), 'order', cache._order._keys, 'entries', list(cache._entries))\n    try:\n        cache.get('c', lambda: 3); cache.get('d', lambda: 4)\n    except KeyError as error:\n        print('KeyError', error)\nEOF\npython race.py"
        ),
    ),
    say(
        "Reproduced without chance: the order has `b, a`, the entries only `b`, and two calls later the KeyError. Next: an expired key that is stored again evicts another although the number of values does not grow.",
        bash(
            "python - <<'EOF'\nfrom memo import Cache\nnow = 0.0\ncache = Cache(size=2, ttl=10, clock=lambda: now)\ncache.get('a', lambda: 1); cache.get('b', lambda: 2)\nnow = 11.0\ncache.get('b', lambda: 3)\nprint(cache.stats(), list(cache._entries), cache._order._keys)\ncache = Cache(size=0)\ntry:\n    cache.get('a', lambda: 1)\nexcept Exception as error:\n    print('size 0:', type(error).__name__, error)\nEOF"
        ),
    ),
    say(
        "`a` was evicted for storing `b` again. And a size of 0 is an IndexError; README says 'at most size values', so 0 should mean no caching. And stats: `self._hits += 1` outside the lock is read, add, write. Python may switch threads in between; how could a test force that? With an int that pauses while it is added:",
        bash(
            "python - <<'EOF'\nimport dis\nfrom memo.cache import Cache\nfor instruction in list(dis.get_instructions(Cache.get))[:60]:\n    if instruction.argval in ('_hits', '+=') or 'BINARY' in instruction.opname:\n        print(instruction.opname, instruction.argval)\nEOF"
        ),
    ),
    think(
        "Load, add, store: three instructions. A subclass of int with a pausing __add__ makes the loss certain: cache._hits = Pausing(0). It touches a private name; acceptable in a test? It couples the test to internals. Alternative: hits are counted under the same lock as the lookup; tested by the sum of calls with many threads, which is chance. I'd use the pausing int only for my own proof.",
        bash(
            "cat > lost.py <<'EOF'\nimport sys; sys.path.insert(0, 'tests')\nimport threading\nfrom steps import Steps\nfrom memo import Cache\nclass Slow(int):\n    def __add__(self, other):\n        if threading.current_thread() in pausing: pausing[threading.current_thread()]('adding')\n        return Slow(int(self) + other)\npausing = {}\ncache = Cache()\ncache.get('a', lambda: 1)\ncache._hits = Slow(0)\ndef reader(pause):\n    pausing[threading.current_thread()] = pause\n    return cache.get('a', lambda: 2)\nwith Steps() as steps:\n    first = steps.thread(reader)\n    first.until('adding')\n    second = steps.thread(lambda pause: cache.get('a', lambda: 2))\n    print('second waits:', second.waits())\n    first.finish(); second.finish()\nprint('two more hits, counted:', int(cache._hits))\nEOF\npython lost.py"
        ),
    ),
    say(
        "One of two hits is lost. Design: one lock for all state; nothing slow happens under it. A key that is being computed has a `Pending` in a second dictionary; others wait for its event outside of the lock. "
        "States of a call: hit → return; pending → wait, then, if it succeeded, take its value (a hit: it did not compute), else try again; neither → become the one who computes.\n\n"
        "Invalidate during a computation: the value is returned to those who wait but not stored; so invalidate removes the pending from the dictionary (and a later get starts a new computation), and the computing thread stores only if the dictionary still holds its own pending.",
        bash(r'''cat > memo/cache.py <<'EOF'
"""The cache."""

import threading
import time

from memo.entry import Entry, Pending
from memo.order import Order


class Cache:
    """Values by key, shared by threads. `clock` returns seconds.

    All state changes under one lock, which is never held while a value is computed or waited for.
    """

    def __init__(self, size=128, ttl=60.0, clock=time.monotonic):
        self._size = size
        self._ttl = ttl
        self._clock = clock
        self._entries = {}
        self._pending = {}
        self._order = Order()
        self._lock = threading.Lock()
        self._hits = 0
        self._misses = 0
        self._evictions = 0

    def get(self, key, compute):
        """Return the value of a key, computing it if it is not there and no other thread is at it."""
        while True:
            with self._lock:
                entry = self._entries.get(key)
                if entry is not None and not self._expired(entry):
                    self._hits += 1
                    self._order.touch(key)
                    return entry.value
                pending = self._pending.get(key)
                mine = pending is None
                if mine:
                    pending = self._pending[key] = Pending()
            if mine:
                return self._computed(key, pending, compute)
            pending.done.wait()
            if pending.succeeded:
                with self._lock:
                    self._hits += 1
                return pending.value

    def _computed(self, key, pending, compute):
        try:
            value = compute()
        except BaseException:
            self._end(key, pending)
            raise
        with self._lock:
            self._misses += 1
            # Invalidated in the meantime, the value goes to those who wait but is not kept.
            if self._pending.get(key) is pending:
                self._store(key, value)
        pending.value, pending.succeeded = value, True
        self._end(key, pending)
        return value

    def _end(self, key, pending):
        with self._lock:
            if self._pending.get(key) is pending:
                del self._pending[key]
        pending.done.set()

    def _expired(self, entry):
        return self._clock() - entry.stored > self._ttl

    def _store(self, key, value):
        self._entries[key] = Entry(value, self._clock())
        self._order.touch(key)
        while len(self._entries) > self._size:
            del self._entries[self._order.pop_oldest()]
            self._evictions += 1

    def invalidate(self, key):
        """Remove the value of a key, if there is one; what is being computed will not be kept."""
        with self._lock:
            self._pending.pop(key, None)
            if self._entries.pop(key, None) is not None:
                self._order.discard(key)

    def stats(self):
        """Return hits, misses and evictions."""
        with self._lock:
            return {"hits": self._hits, "misses": self._misses, "evictions": self._evictions}

    def __len__(self):
        with self._lock:
            return len(self._entries)
EOF
cat >> memo/entry.py <<'EOF'


class Pending:
    """A value that a thread computes while others may wait for it."""

    def __init__(self):
        self.done = threading.Event()
        self.succeeded = False
        self.value = None
EOF
sed -i 's/^from dataclasses import dataclass/import threading\nfrom dataclasses import dataclass/' memo/entry.py
python -m pytest -q 2>&1 | tail -n 3'''),
    ),
    say(
        "The listed tests pass. The two proofs from before; the first pauses in the clock, which is now called under the lock, so `cache.get('b')` of the main thread must wait and my script would hang. I give it a limit.",
        bash('timeout 20 python race.py; echo "exit $?"; timeout 20 python lost.py'),
    ),
    say(
        "race.py ends after the 5 s of the pause with the right state: the main thread waited for the lock, as it should. And lost.py shows the second one waiting while the first is adding; both hits are counted. "
        "But a clock that takes long holds up all others now. It is a clock; fine. Yet a *user-supplied* clock that calls the cache would deadlock. I could read the clock before taking the lock: cheaper under contention too.",
        replacing(
            "memo/cache.py",
            (
                "        while True:\n            with self._lock:\n                entry",
                "        while True:\n            now = self._clock()\n            with self._lock:\n                entry",
            ),
            (
                "if entry is not None and not self._expired(entry):",
                "if entry is not None and now - entry.stored <= self._ttl:",
            ),
            (
                "    def _expired(self, entry):\n        return self._clock() - entry.stored > self._ttl\n\n",
                "",
            ),
            (
                "        with self._lock:\n            self._misses += 1\n",
                "        now = self._clock()\n        with self._lock:\n            self._misses += 1\n",
            ),
            (
                "                self._store(key, value)\n",
                "                self._store(key, Entry(value, now))\n",
            ),
            (
                "    def _store(self, key, value):\n        self._entries[key] = Entry(value, self._clock())\n",
                "    def _store(self, key, entry):\n        self._entries[key] = entry\n",
            ),
            then='python -m pytest -q 2>&1 | tail -n 1; timeout 20 python race.py; echo "exit $?"',
        ),
    ),
    think(
        "Now race.py passes through immediately: 'first' paused at the clock before the lookup; then b evicts a; first finds nothing and computes 'again'. Right.\n"
        "If self._clock() raises after compute: pending never ends → waiting threads hang forever. Put it in the try. Also KeyboardInterrupt between? BaseException handled in compute; the gap between creating the pending and try is tiny; async exceptions only.",
        replacing(
            "memo/cache.py",
            (
                "            value = compute()\n        except",
                "            value = compute()\n            now = self._clock()\n        except",
            ),
            ("            raise\n        now = self._clock()\n", "            raise\n"),
            then="sed -n '/def _computed/,/return value/p' memo/cache.py; python -m pytest -q 2>&1 | tail -n 1",
        ),
    ),
    say(
        "What if `compute` itself asks the cache for the same key? Before: endless recursion or a value; now the thread waits for itself for ever. A deadlock without a message is the worst outcome. README does not mention it; raising is right. Pending knows its thread.",
        bash(
            "timeout 5 python - <<'EOF'\nfrom memo import Cache\ncache = Cache()\nprint(cache.get('a', lambda: cache.get('b', lambda: 1) + 1))\nprint(cache.get('c', lambda: cache.get('c', lambda: 1)))\nEOF\necho \"exit $?\""
        ),
    ),
    act(
        replacing(
            "memo/cache.py",
            (
                "            if mine:\n                return self._computed(key, pending, compute)\n",
                '            if mine:\n                return self._computed(key, pending, compute)\n            if pending.thread is threading.current_thread():\n                raise RuntimeError(f"the computation of {key!r} asks for itself")\n',
            ),
            then="sed -i 's/        self.done = threading.Event()/        self.thread = threading.current_thread()\\n        self.done = threading.Event()/' memo/entry.py; timeout 5 python -c \"\nfrom memo import Cache\nCache().get('c', lambda: 1)\ncache = Cache()\ncache.get('c', lambda: cache.get('c', lambda: 1))\" 2>&1 | tail -n 1; python -m pytest -q 2>&1 | tail -n 1",
        )
    ),
    say(
        "Two keys that need each other in two threads can still deadlock (a needs b, b needs a). That is a cycle in what the user computes, and detecting it needs a graph of waits; I leave it and mention it.\n\nNow the tests. Each has to fail on the old code; I rebuild the old files from the output above to prove that. "
        "Cases: KeyError after invalidate, eviction by storing again, hit during an eviction, waiting threads after an exception, invalidate during a computation, sums of stats, size 0, self-asking.",
        bash(r'''cat > tests/test_races.py <<'EOF'
import pytest
from steps import Steps

from memo import Cache


def pausing_get(cache, key, value, calls):
    """Return a thread's work: get the key, pausing while it is computed."""

    def compute(pause):
        calls.append(value)
        pause("computing")
        return value

    return lambda pause: cache.get(key, lambda: compute(pause))


def fails(pause):
    pause("computing")
    raise ZeroDivisionError


def test_an_invalidated_key_is_no_longer_in_the_order():
    cache = Cache(size=2)
    cache.get("a", lambda: 1)
    cache.invalidate("a")
    for key in "bcd":
        cache.get(key, lambda: key)
    assert (len(cache), cache.stats()["evictions"]) == (2, 1)


def test_storing_a_key_again_evicts_no_other():
    now = 0.0
    cache = Cache(size=2, ttl=10, clock=lambda: now)
    cache.get("a", lambda: 1)
    now = 8.0
    cache.get("b", lambda: 2)
    now = 11.0
    cache.get("a", lambda: 3)
    assert (cache.get("b", lambda: 4), cache.stats()["evictions"]) == (2, 0)


def test_a_thread_that_looks_while_its_key_is_evicted_leaves_no_trace():
    pauses = []
    cache = Cache(size=1, clock=lambda: pauses and pauses.pop()("looking") or 0.0)
    cache.get("a", lambda: 1)
    with Steps() as steps:
        first = steps.thread(lambda pause: pauses.append(pause) or cache.get("a", lambda: "again"))
        first.until("looking")
        cache.get("b", lambda: 2)
        first.finish()
    for key in "cde":
        cache.get(key, lambda: key)
    assert len(cache) == 1


def test_those_who_wait_try_again_after_a_failure():
    cache, calls = Cache(), []
    with Steps() as steps:
        first = steps.thread(lambda pause: cache.get("a", lambda: fails(pause)))
        first.until("computing")
        second = steps.thread(pausing_get(cache, "a", 2, calls))
        third = steps.thread(lambda pause: cache.get("a", lambda: calls.append(3) or 3))
        assert second.waits(0.1)
        assert third.waits(0.1)
        with pytest.raises(ZeroDivisionError):
            first.finish()
        second.release()
        assert second.finish() == third.finish() == calls[0]
    assert len(calls) == 1
    assert cache.stats() == {"hits": 1, "misses": 1, "evictions": 0}


def test_what_was_invalidated_while_it_was_computed_is_returned_but_not_kept():
    cache, calls = Cache(), []
    with Steps() as steps:
        first = steps.thread(pausing_get(cache, "a", 1, calls))
        first.until("computing")
        waiting = steps.thread(lambda pause: cache.get("a", lambda: "not called"))
        assert waiting.waits(0.1)
        cache.invalidate("a")
        assert steps.thread(pausing_get(cache, "a", 2, calls)).finish() == 2
        assert (first.finish(), waiting.finish()) == (1, 1)
    assert cache.get("a", lambda: 3) == 2


def test_hits_and_misses_are_all_calls_that_returned_a_value():
    cache, calls = Cache(), []
    with Steps() as steps:
        first = steps.thread(pausing_get(cache, "a", 1, calls))
        first.until("computing")
        others = [steps.thread(lambda pause: cache.get("a", lambda: calls.append(2))) for _ in range(5)]
        assert all(other.waits(0.05) for other in others)
        first.finish()
        assert [other.finish() for other in others] == [1] * 5
    assert (calls, cache.stats()) == ([1], {"hits": 5, "misses": 1, "evictions": 0})


def test_a_cache_of_size_nought_keeps_nothing():
    cache = Cache(size=0)
    assert [cache.get("a", lambda: 1), cache.get("a", lambda: 2), len(cache)] == [1, 2, 0]


def test_a_computation_that_asks_for_itself_is_refused():
    cache = Cache()
    with pytest.raises(RuntimeError, match="'a' asks for itself"):
        cache.get("a", lambda: cache.get("a", lambda: 1))
    assert cache.get("a", lambda: 2) == 2
EOF
python -m pytest -q 2>&1 | grep -E '^E  |^FAILED|passed|failed' '''),
    ),
    think(
        "Now the proof that they fail on the old code. I write the old `get`, `_store`, `invalidate` into a copy.",
        bash(r"""rm -rf mutant; mkdir mutant; cp -r memo tests mutant; cat > mutant/memo/cache.py <<'EOF'
import threading
import time
from memo.entry import Entry
from memo.order import Order
class Cache:
    def __init__(self, size=128, ttl=60.0, clock=time.monotonic):
        self._size, self._ttl, self._clock = size, ttl, clock
        self._entries, self._order, self._lock = {}, Order(), threading.Lock()
        self._hits = self._misses = self._evictions = 0
    def get(self, key, compute):
        entry = self._entries.get(key)
        if entry is not None and not self._clock() - entry.stored > self._ttl:
            self._hits += 1
            self._order.touch(key)
            return entry.value
        value = compute()
        with self._lock:
            self._misses += 1
            if len(self._entries) >= self._size:
                del self._entries[self._order.pop_oldest()]
                self._evictions += 1
            self._entries[key] = Entry(value, self._clock())
            self._order.touch(key)
        return value
    def invalidate(self, key):
        if key in self._entries:
            del self._entries[key]
    def stats(self):
        return {"hits": self._hits, "misses": self._misses, "evictions": self._evictions}
    def __len__(self):
        return len(self._entries)
EOF
(cd mutant && python -m pytest -q 2>&1 | grep -E '^FAILED|passed|failed' | cut -c1-130); rm -rf mutant"""),
    ),
    say(
        "All eight fail on the old code, besides the listed one. Now single faults put into the new code, to see that the finer points are held too.",
        bash(r"""try() { rm -rf mutant; mkdir mutant; cp -r memo tests mutant; sed -i "$1" mutant/memo/cache.py; cmp -s memo/cache.py mutant/memo/cache.py && echo 'NOT CHANGED'
  (cd mutant && timeout 100 python -m pytest -q -x 2>&1 | grep -E '^(FAILED|[0-9]+ (passed|failed))' | sed 's/ in .*//' | cut -c1-110); }
try 's/            if self._pending.get(key) is pending:\n                self._store/            if True:\n                self._store/; s/^            self._pending.pop(key, None)$/            pass/'
try 's/                self._order.discard(key)/                pass/'
try 's/            if pending.succeeded:/            if True:/'
try 's/while len(self._entries) > self._size/while len(self._entries) >= self._size/'
rm -rf mutant"""),
    ),
    say(
        "Each is noticed. The tests must come out the same each time; ten runs in a row, also with a very short switch interval between threads.",
        bash(
            "for i in 1 2 3 4 5; do python -m pytest -q 2>&1 | tail -n 1 | sed 's/ in .*//'; done | sort | uniq -c; for i in 1 2 3 4 5; do python -c \"import sys, pytest; sys.setswitchinterval(1e-6); sys.exit(pytest.main(['-q']))\" 2>&1 | tail -n 1 | sed 's/ in .*//'; done | sort | uniq -c"
        ),
    ),
    say(
        "And one run that does rely on chance, only as a cross-check and not as a test: 8 threads, few keys, small size, invalidations, a short interval. Sums and sizes must hold.",
        bash("""timeout 50 python - <<'EOF'
import random, sys, threading
from memo import Cache
sys.setswitchinterval(1e-6)
cache = Cache(size=3, ttl=1000)
returned, errors = [0] * 8, []
def work(me):
    rng = random.Random(me)
    for _ in range(3000):
        key = rng.randrange(6)
        try:
            if rng.random() < 0.1:
                cache.invalidate(key)
            value = cache.get(key, lambda: 1 / 0 if rng.random() < 0.05 else key * 10)
            assert value == key * 10
            returned[me] += 1
        except ZeroDivisionError:
            pass
        except Exception as error:
            errors.append(error)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
stats = cache.stats()
print('errors', errors, 'size', len(cache), 'pending', len(cache._pending), 'sum agrees', stats['hits'] + stats['misses'] == sum(returned), 'order agrees', sorted(cache._order._keys) == sorted(cache._entries))
EOF"""),
    ),
    say(
        "Everything holds. `Order.touch` searches a list; with the default size of 128 that is nothing, but it happens under the lock. A dict keeps insertion order and does it in one step; a small change with a clear gain, so I make it.",
        bash(r'''cat > memo/order.py <<'EOF'
"""Keys in the order of their last use."""


class Order:
    def __init__(self):
        self._keys = {}

    def touch(self, key):
        """Make a key the one used last."""
        self._keys.pop(key, None)
        self._keys[key] = None

    def pop_oldest(self):
        """Remove and return the key used longest ago."""
        key = next(iter(self._keys))
        del self._keys[key]
        return key

    def discard(self, key):
        self._keys.pop(key, None)
EOF
python -m pytest -q 2>&1 | tail -n 1; grep -rn 'Order\b' --include=*.py . | grep -v 'order.py' '''),
    ),
    act(
        bash(
            "rm -f race.py lost.py; cat memo/cache.py | sed -n '/def get/,/def _store/p'; find . -name __pycache__ -prune -o -type f -print | sort"
        )
    ),
    say(
        "Cache keeps the promises of README.md now; all tests pass, ten times in a row, also with a tiny switch interval.\n\n"
        "- Values were computed several times: nothing made threads wait. A pending computation is now shared; other keys do not wait.\n"
        "- KeyError: `invalidate` left the key in the order, and a hit could touch a key that had just been evicted. All state changes under one lock now, which is never held while computing or waiting.\n"
        "- stats(): hits were counted without the lock and got lost; those who wait count as hits. Storing a key again evicted another one.\n"
        "- Also: a failing computation lets the others try again, invalidation during a computation, size 0, and a computation that asks for itself raises RuntimeError instead of hanging.\n\n"
        "tests/test_races.py has eight tests; all fail on the old code. Left alone: two computations in two threads that need each other's key would wait for ever."
    ),
]
