"""The queue."""

import heapq
import itertools
import time

from jobqueue.handlers import Retry, find
from jobqueue.stats import Stats


class Job:
    """One piece of work."""

    def __init__(self, name, payload, priority, tags, due):
        self.name = name
        self.payload = payload
        self.priority = priority
        self.tags = tags
        self.due = due
        self.attempts = 0

    def __lt__(self, other):
        return (self.due, -self.priority) < (other.due, -other.priority)


class Queue:
    """Jobs in memory. `clock` returns seconds, `sleep` waits for so many."""

    def __init__(self, clock=time.monotonic, sleep=time.sleep, max_attempts=4, stats=Stats()):
        self._clock = clock
        self._sleep = sleep
        self._max_attempts = max_attempts
        self._heap = []
        self._stats = stats
        self._numbers = itertools.count(1)

    def put(self, name, payload=None, priority=0, tags=frozenset(), delay=0.0):
        """Add a job. It is due after `delay` seconds."""
        job = Job(name, payload, priority, set(tags), self._clock() + delay)
        heapq.heappush(self._heap, job)
        self._stats.added(job)
        return next(self._numbers)

    def run_until_idle(self):
        """Run jobs until none is left, waiting for those that are not due yet."""
        while self._heap:
            job = heapq.heappop(self._heap)
            wait = job.due - self._clock()
            if wait > 0:
                self._sleep(wait)
            self._run(job)

    def _run(self, job):
        job.attempts += 1
        try:
            find(job.name)(job.payload)
        except Retry:
            if job.attempts < self._max_attempts:
                job.due = self._clock() + 2 ** (job.attempts - 1)
                heapq.heappush(self._heap, job)
                self._stats.retried(job)
            else:
                self._stats.failed(job)
        else:
            self._stats.done(job)

    def report(self):
        """Return what was done, as text."""
        return self._stats.text()
