"""The cache."""

import threading
import time

from memo.entry import Entry
from memo.order import Order


class Cache:
    """Values by key, shared by threads. `clock` returns seconds."""

    def __init__(self, size=128, ttl=60.0, clock=time.monotonic):
        self._size = size
        self._ttl = ttl
        self._clock = clock
        self._entries = {}
        self._order = Order()
        self._lock = threading.Lock()
        self._hits = 0
        self._misses = 0
        self._evictions = 0

    def get(self, key, compute):
        """Return the value of a key, computing it if it is not there."""
        entry = self._entries.get(key)
        if entry is not None and not self._expired(entry):
            self._hits += 1
            self._order.touch(key)
            return entry.value
        value = compute()
        with self._lock:
            self._misses += 1
            self._store(key, value)
        return value

    def _expired(self, entry):
        return self._clock() - entry.stored > self._ttl

    def _store(self, key, value):
        if len(self._entries) >= self._size:
            oldest = self._order.pop_oldest()
            del self._entries[oldest]
            self._evictions += 1
        self._entries[key] = Entry(value, self._clock())
        self._order.touch(key)

    def invalidate(self, key):
        """Remove the value of a key, if there is one."""
        if key in self._entries:
            del self._entries[key]

    def stats(self):
        """Return hits, misses and evictions."""
        return {"hits": self._hits, "misses": self._misses, "evictions": self._evictions}

    def __len__(self):
        return len(self._entries)
