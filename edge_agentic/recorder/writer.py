"""The journal of a recording, written by a thread of its own: the agent never waits for the disk."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import perf_counter_ns
from types import TracebackType
from typing import Any

from bfcl_gate.errors import SourceError
from bfcl_gate.http.passed import Passed
from bfcl_gate.journal import Journal, read_journal
from edge_agentic.importers.deltas import Deltas
from edge_agentic.importers.recording import RECORDING
from edge_agentic.importers.source import parse_json
from edge_agentic.recorder.answers import answer_of, text_of

_KINDS_NAMED = 50


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was recorded so far. `conversations` are told apart by how they begin; the trace knows forks too.
    `earlier` counts the exchanges of the sessions that this one continues."""

    earlier: int = 0
    conversations: int = 0
    turns: int = 0
    unanswered: int = 0
    passed_on: Counter[str] = field(default_factory=Counter)

    @property
    def exchanges(self) -> int:
        """The requests in the journal."""
        return self.earlier + self.turns + self.unanswered


class Writer:
    """Writes what comes through `queue` into a journal until the block ends; a journal that exists is continued.

    `tally` may be read by any thread. Entering raises SourceError where the journal cannot be opened, InputError
    where it is damaged. Where the disk refuses later, `trouble` says so and nothing more is written: the agent
    goes on. A journal that holds no exchange in the end is removed.
    """

    def __init__(self, path: Path, queue: "SimpleQueue[Passed | None]") -> None:
        self.tally = Tally()
        self.trouble: SourceError | None = None
        self._path = path
        self._queue = queue
        self._number = 0
        self._beginnings: set[int] = set()
        self._deltas = Deltas()
        self._thread = Thread(target=self._work, name="recording journal")

    def __enter__(self) -> "Writer":
        if self._path.exists():
            self._number = self.tally.earlier = sum(
                row.get("_type") == "exchange" for row in read_journal(self._path)
            )
        self._journal = Journal(self._path)
        now = datetime.now(timezone.utc)
        # One clock for all exchanges of a session: the date it began plus the monotonic time since then.
        self._began_s, self._began_ns = now.timestamp(), perf_counter_ns()
        self._append({"_type": RECORDING, "schema_version": 1, "began_at": now.isoformat()})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        self._thread.join()
        if self.tally.passed_on:
            self._append({"_type": "passed on", "requests": dict(self.tally.passed_on)})
        try:
            self._journal.close()
        except SourceError as full:
            self.trouble = self.trouble or full
        if not self.tally.exchanges:
            self._path.unlink()

    def _work(self) -> None:
        while (passed := self._queue.get()) is not None:
            self._keep(passed)

    def _keep(self, passed: Passed) -> None:
        text = text_of(passed.request)
        messages = _messages(text)
        if text is None or messages is None:
            kind = f"{passed.method} {passed.path}"
            known = kind in self.tally.passed_on or len(self.tally.passed_on) < _KINDS_NAMED
            self.tally.passed_on[kind if known else "others"] += 1
            return
        answer = answer_of(passed)
        self._number += 1
        self._append(
            {
                "_type": "exchange",
                "number": self._number,
                "path": passed.path,
                "status": passed.status,
                "ended": passed.ended,
                "started_s": self._seconds(passed.started_ns),
                "ended_s": self._seconds(passed.ended_ns),
                "request": self._deltas.shorten(self._number, text),
                "response": answer.reply,
                "complete": answer.complete,
            }
        )
        self._count(messages, answer.complete)

    def _seconds(self, clock_ns: int) -> float:
        return round(self._began_s + (clock_ns - self._began_ns) / 1e9, 6)

    def _count(self, messages: list[Any], complete: bool) -> None:
        if not complete:
            self.tally.unanswered += 1
            return
        self.tally.turns += 1
        self._beginnings.add(hash(json.dumps(list(_beginning(messages)))))
        self.tally.conversations = len(self._beginnings)

    def _append(self, row: Mapping[str, Any]) -> None:
        if self.trouble is None:
            try:
                self._journal.append(row)
            except SourceError as error:
                self.trouble = error


def _messages(text: str | None) -> list[Any] | None:
    """Return the messages of a request's body in any of the three protocols, None where it has none."""
    try:
        body = parse_json(text or "")
    except ValueError:
        return None
    found = body.get("messages", body.get("input")) if isinstance(body, dict) else None
    return [found] if isinstance(found, str) else found if isinstance(found, list) else None


def _beginning(messages: list[Any]) -> Iterator[Any]:
    """Yield what stands before the model's first word."""
    for message in messages:
        if isinstance(message, dict) and message.get("role", "assistant") == "assistant":
            return
        yield message
