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
]
