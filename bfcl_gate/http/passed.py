"""What is kept of a request that goes through a relay, and of the answer to it. Never its headers: they hold keys."""

from dataclasses import dataclass
from time import perf_counter_ns
from typing import Literal

MAX_BODY_BYTES = 64 * 2**20
"""A longer body is passed on and not kept."""

Ended = Literal["whole", "client left", "server left", "unreachable", "bad HTTP", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The bytes of a body without transfer coding; `coding` is its content coding ("" for none)."""

    data: bytes
    coding: str = ""
    content_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """One request and what became of it. `path` has no query; `status` is None where no answer began.

    Bodies are None where they were not asked for or are longer than MAX_BODY_BYTES. Times are
    perf_counter_ns when the request began to arrive and when the answer ended.
    """

    method: str
    path: str
    status: int | None
    request: Body | None
    response: Body | None
    started_ns: int
    ended_ns: int
    ended: Ended


@dataclass(slots=True, kw_only=True)
class Kept:
    """The parts of one body as they come; `parts` is None once there is nothing to keep."""

    parts: list[bytes] | None
    size: int = 0
    coding: str = ""
    content_type: str = ""

    def describe(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Note what the headers say about the body; names are in lower case."""
        told = dict(headers)
        self.coding = told.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        self.content_type = told.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()

    def add(self, data: bytes) -> None:
        """Keep one more part."""
        self.size += len(data)
        if self.size > MAX_BODY_BYTES:
            self.parts = None
        elif self.parts is not None:
            self.parts.append(data)

    def body(self) -> Body | None:
        """Return what was kept."""
        if self.parts is None:
            return None
        return Body(data=b"".join(self.parts), coding=self.coding, content_type=self.content_type)


@dataclass(slots=True, kw_only=True)
class Passing:
    """A request under way."""

    method: str
    path: str
    started_ns: int
    request: Kept
    response: Kept
    status: int | None = None

    def passed(self, ended: Ended) -> Passed:
        """Return what became of it, as of now."""
        return Passed(
            method=self.method,
            path=self.path,
            status=self.status,
            request=self.request.body(),
            response=self.response.body(),
            started_ns=self.started_ns,
            ended_ns=perf_counter_ns(),
            ended=ended,
        )
