"""Counts what happened."""

from collections import Counter


class Stats:
    def __init__(self):
        self.by_handler = {}
        self.tags = set()

    def _counter(self, job):
        return self.by_handler.setdefault(job.name, Counter())

    def added(self, job):
        self._counter(job)["added"] += 1
        self.tags |= job.tags

    def retried(self, job):
        self._counter(job)["retried"] += 1

    def failed(self, job):
        self._counter(job)["failed"] += 1

    def done(self, job):
        self._counter(job)["done"] += 1

    def text(self):
        lines = [
            f"{name}: " + ", ".join(f"{count} {what}" for what, count in counter.items())
            for name, counter in self.by_handler.items()
        ]
        return "\n".join([*lines, "tags: " + ", ".join(self.tags)])
