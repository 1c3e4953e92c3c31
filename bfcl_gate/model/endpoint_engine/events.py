"""Server-sent events as chat servers send them: one `data:` line an event, everything else only checked."""

import json
from collections.abc import Iterable, Iterator
from time import perf_counter_ns

from bfcl_gate.model.endpoint_engine.faults import FaultError

MOST_LINE_BYTES = 1 << 20
MOST_BODY_BYTES = 64 << 20
DONE = "[DONE]"

_IGNORED = (b":", b"event:", b"id:", b"retry:")
"""A line that begins with a colon is a comment: servers send such lines to keep a connection alive."""


def events(pieces: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    """Yield (arrival in ns of the performance counter, data text) of each event.

    Every event that one read of the network completes has the arrival of that read. Raises FaultError for what is no
    such stream and for lines and bodies beyond the limits. A last line without its end is left out, as the standard
    has it.
    """
    for at_ns, line in _lines(pieces):
        if not line or line.startswith(_IGNORED):
            continue
        field, colon, value = line.partition(b":")
        if not colon or field not in (b"data", b"error"):
            raise FaultError("bad_sse", "the stream holds a line that is no server-sent event")
        try:
            text = value.decode().strip()
        except UnicodeDecodeError:
            raise FaultError("bad_utf8", "the stream holds bytes that are not UTF-8") from None
        # Older llama.cpp servers report an error in a field of its own.
        yield at_ns, text if field == b"data" else _error(text)


def _error(text: str) -> str:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):  # in the server's own words
        told = text
    return json.dumps({"error": told})


def _lines(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    rest, total = b"", 0
    for piece in pieces:
        at_ns = perf_counter_ns()
        total += len(piece)
        if total > MOST_BODY_BYTES:
            raise FaultError("too_large", f"the answer is longer than {MOST_BODY_BYTES:,} bytes")
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > MOST_LINE_BYTES or any(len(line) > MOST_LINE_BYTES for line in whole):
            raise FaultError("too_large", f"a line of the answer is longer than {MOST_LINE_BYTES:,} bytes")
        for line in whole:
            yield at_ns, line.rstrip(b"\r").removeprefix(b"\xef\xbb\xbf")
