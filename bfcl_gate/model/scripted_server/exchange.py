"""One request at the scripted server and the means to answer it well or badly."""

import json
import select
import socket
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from threading import Event
from time import perf_counter_ns
from typing import Any

from bfcl_gate.model.scripted_server.dialects import Step

STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its connection. `steps` gives the right answer's chunks, `pause_s` lies between its tokens.

    `sent` is told the instant (ns of the performance counter) right before each token is sent.
    """

    http: BaseHTTPRequestHandler
    body: Mapping[str, Any]
    steps: Callable[[], Iterable[Step]]
    pause_s: float
    stopping: Event
    sent: Callable[[int], None] = lambda now_ns: None

    def begin(self, status: int = 200, content: str = STREAM, **headers: str) -> None:
        """Send the headers of an answer in pieces."""
        self.http.send_response(status)
        self.http.send_header("Content-Type", content)
        self.http.send_header("Transfer-Encoding", "chunked")
        for name, value in headers.items():
            self.http.send_header(name.replace("_", "-"), value)
        self.http.end_headers()

    def send(self, data: bytes) -> None:
        """Send one piece of the body."""
        self.http.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def events(self, *documents: Any) -> None:
        """Send events together in one piece."""
        self.send(_events(documents))

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.http.wfile.write(data)

    def end(self) -> None:
        """End the body as it should end."""
        self.raw(b"0\r\n\r\n")

    def document(
        self, value: Any, status: int = 200, content: str = "application/json", **headers: str
    ) -> None:
        """Answer with one document; text is sent as it is."""
        data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.http.send_response(status)
        for name, text in {"Content-Type": content, "Content-Length": str(len(data)), **headers}.items():
            self.http.send_header(name.replace("_", "-"), text)
        self.http.end_headers()
        if self.http.command != "HEAD":
            self.raw(data)

    def answer(self, steps: Iterable[Step] | None = None, *, done: bool = True) -> None:
        """Give the right answer, or that part of it; tokens keep their pace although sending them takes time."""
        due_ns, pause_ns = perf_counter_ns(), round(self.pause_s * 1e9)
        for waits, chunks in self.steps() if steps is None else steps:
            data = _events(chunks)
            if waits:
                due_ns += pause_ns
                if (left_ns := due_ns - perf_counter_ns()) > 0:
                    self.stopping.wait(left_ns / 1e9)
                self.sent(perf_counter_ns())
            self.send(data)
        if done:
            self.send(b"data: [DONE]\n\n")

    def close(self) -> None:
        """Close the connection where it is, in order."""
        self.http.close_connection = True
        self.http.connection.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """Break the connection: the peer gets an RST."""
        self.http.close_connection = True
        linger_not = struct.pack("ii", 1, 0)
        self.http.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
        # Reader and writer hold the socket open: only when all are closed does the RST go out.
        self.http.rfile.close()
        self.http.connection.close()

    def hold(self, most_s: float = 60.0) -> None:
        """Say nothing more until the peer has gone."""
        self.http.close_connection = True
        for _ in range(round(most_s / 0.05)):
            readable, _, _ = select.select([self.http.connection], [], [], 0.05)
            if self.stopping.is_set() or (readable and not self.http.connection.recv(65_536)):
                return

    def repeat(self, data: Callable[[int], bytes], every_s: float, most_s: float = 60.0) -> None:
        """Send pieces until the peer has gone."""
        self.http.close_connection = True
        for number in range(round(most_s / every_s)):
            self.send(data(number))
            if self.stopping.wait(every_s):
                return


def _events(documents: Iterable[Any]) -> bytes:
    return b"".join(f"data: {json.dumps(document)}\n\n".encode() for document in documents)
