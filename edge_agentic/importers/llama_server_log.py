"""The text log of llama.cpp's server at full verbosity (`llama-server -v`): request bodies and replies.

Source: log_server_request and the chunk writer in tools/server of ggml-org/llama.cpp. Both bodies are debug
lines; a streamed reply is one line for each chunk. Some versions log a request behind its stream, some before
it; the newest have the request's line switched off. Requests that ran at the same time cannot be told apart.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from edge_agentic.importers.source import parse_json_at
from edge_agentic.importers.values import number, obj

_LINE = re.compile(
    r"^(?P<head>[^{\n]*)(?:log_server_r: (?P<body>request|response): *|(?:to_send|streamed chunk): data: *)(?=\{)",
    re.MULTILINE,
)
_CLOCK = re.compile(r"(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) [A-Z] ")


@dataclass(slots=True, kw_only=True)
class _Request:
    """A request body, its line, when that was logged (seconds since the start of the server) and its reply."""

    line: int
    body: dict[str, Any]
    logged_s: float | None
    reply: Any = None


@dataclass(slots=True, kw_only=True)
class _Stream:
    """The chunks of one streamed reply and the line of the first."""

    line: int
    chunks: list[dict[str, Any]]


def read_server_log(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line and `{request, response, start_time, end_time}` of each request; damaged bodies are left out."""
    requests, streams = _bodies(text)
    streamed = [request for request in requests if request.body.get("stream") is True]
    logged_first = bool(streamed and streams) and streamed[0].line < streams[0].line
    _join(streamed, streams, logged_first)
    for request in requests:
        yield request.line, _record(request, logged_first and request in streamed)


def _bodies(text: str) -> tuple[list[_Request], list[_Stream]]:
    requests: list[_Request] = []
    streams: dict[Any, _Stream] = {}
    line, counted = 1, 0
    for match in _LINE.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        try:
            value = parse_json_at(text, match.end())
        except ValueError:
            continue
        if match["body"] == "request":
            requests.append(_Request(line=line, body=value, logged_s=_clock(match["head"])))
        elif match["body"] == "response" and requests:
            requests[-1].reply = value
        elif match["body"] is None:
            key = value.get("id") if isinstance(value.get("id"), str) else None
            streams.setdefault(key, _Stream(line=line, chunks=[])).chunks.append(value)
    return requests, list(streams.values())


def _clock(head: str) -> float | None:
    found = _CLOCK.search(head)
    if found is None:
        return None
    minutes, seconds, milli, micro = map(int, found.groups())
    return minutes * 60 + seconds + milli / 1e3 + micro / 1e6


def _join(requests: Sequence[_Request], streams: Sequence[_Stream], logged_first: bool) -> None:
    """Give each streamed request the stream next to it, behind it or before it."""
    for request in requests if not logged_first else ():
        before = [stream for stream in streams if stream.line < request.line and stream.chunks]
        if before:
            request.reply = _text(before[-1])
    for stream in streams if logged_first else ():
        open_ = [each for each in requests if each.line < stream.line and each.reply is None]
        if open_:
            open_[-1].reply = _text(stream)


def _text(stream: _Stream) -> str:
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in stream.chunks)
    stream.chunks.clear()
    return text


def _record(request: _Request, logged_first: bool) -> dict[str, Any]:
    record = {"request": request.body, "response": request.reply}
    took = _took(request.reply)
    if request.logged_s is not None and took is not None:
        start = request.logged_s - (0 if logged_first else took)
        record |= {"start_time": start, "end_time": start + took}
    return record


def _took(reply: Any) -> float | None:
    """Return the server's own time for a reply in seconds; the last chunk of a stream has the whole."""
    if isinstance(reply, str):
        reply = json.loads(reply.rstrip().rsplit("data: ", 1)[-1])
    timings = obj(obj(reply).get("timings"))
    parts = [number(timings.get(key)) for key in ("prompt_ms", "predicted_ms")]
    return None if None in parts else sum(part or 0.0 for part in parts) / 1000
