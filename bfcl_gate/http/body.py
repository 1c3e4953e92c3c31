"""The body of an HTTP/1.1 answer, piece by piece as the network delivers it.

Read here and not by a library because it is part of what is timed: the arrival of a token costs a few microseconds, and
at 32 answers at once that decides whether the client keeps up with the server.
"""

import re
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Protocol, cast

_MOST_AT_ONCE = 65_536
_MOST_SIZE_LINE = 1_024
_MOST_TRAILER_LINES = 100
_SIZE = re.compile(rb"[0-9a-fA-F]{1,8}")


class ClosedError(Exception):
    """The connection ended before the body did."""


class MalformedError(Exception):
    """The body is not framed as HTTP/1.1 wants it."""


class _Readable(Protocol):
    def readline(self, limit: int, /) -> bytes: ...
    def read1(self, size: int, /) -> bytes: ...
    def read(self, size: int, /) -> bytes: ...


def pieces_of(response: HTTPResponse) -> Iterator[bytes]:
    """Yield what each read of the network brings. Raises ClosedError, MalformedError and OSError."""
    source = cast(_Readable, response.fp)
    if response.chunked:
        yield from _chunked(source)
    elif response.length is not None:
        yield from _counted(source, response.length)
    else:
        while piece := source.read1(_MOST_AT_ONCE):
            yield piece


def _counted(source: _Readable, length: int) -> Iterator[bytes]:
    while length:
        piece = source.read1(min(length, _MOST_AT_ONCE))
        if not piece:
            raise ClosedError
        length -= len(piece)
        yield piece


def _chunked(source: _Readable) -> Iterator[bytes]:
    while size := _size(source):
        yield from _counted(source, size)
        if _whole(source.read(2)) != b"\r\n":
            raise MalformedError("a chunk is longer than it says")
    for _ in range(_MOST_TRAILER_LINES):
        if _whole(source.readline(_MOST_SIZE_LINE)) in (b"\r\n", b"\n"):
            return
    raise MalformedError("the trailer has no end")


def _size(source: _Readable) -> int:
    line = _whole(source.readline(_MOST_SIZE_LINE))
    digits = line.partition(b";")[0].strip()
    if not _SIZE.fullmatch(digits):
        raise MalformedError("the size of a chunk is no number")
    return int(digits, 16)


def _whole(data: bytes) -> bytes:
    if not data:
        raise ClosedError
    return data
