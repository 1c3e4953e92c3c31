"""A scripted OpenAI-compatible server on this machine: for tests and demonstrations, no model needed.

Its tokens are words, its prompt tokens four characters, and it can play every fault in `FAULTS` and every oddity in
`QUIRKS`.
"""

import json
import socket
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any

from bfcl_gate.model.scripted_server.dialects import (
    BUILD,
    DIALECTS,
    Prompt,
    Said,
    Step,
    document_of,
    steps_of,
)
from bfcl_gate.model.scripted_server.exchange import Exchange
from bfcl_gate.model.scripted_server.faults import FAULTS, ScriptedFault
from bfcl_gate.model.scripted_server.plays import OVERFLOW
from bfcl_gate.model.scripted_server.quirks import QUIRKS, Asked, counted, limited, refusal, said, stated

__all__ = ["DIALECTS", "FAULTS", "QUIRKS", "Received", "Said", "ScriptedFault", "ScriptedServer"]

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One chat request as it came: its number from 0, headers by lower-case name, and body."""

    number: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class ScriptedServer:
    """Answers by `script`; `fault` names what to play for a request, None for a good answer.

    `dialect` is one of DIALECTS; `ctx` is in tokens, for each of `slots`; `pause_s` lies between tokens; `quirks` are
    names of QUIRKS. Every chat request goes to `note` too, the instant before each of its tokens to `sent`.
    `connections` counts those that were made to it. Only this machine can reach it.
    """

    def __init__(
        self,
        script: Callable[[Mapping[str, Any]], Said],
        *,
        fault: Callable[[Received], str | None] = lambda received: None,
        note: Callable[[Received], None] = lambda received: None,
        sent: Callable[[Received, int], None] = lambda received, now_ns: None,
        quirks: Collection[str] = (),
        dialect: str = "llama.cpp",
        model: str = "scripted",
        ctx: int = 32_768,
        slots: int = 1,
        pause_s: float = 0.0,
        api_key: str | None = None,
        port: int = 0,
    ) -> None:
        self._script = script
        self._fault = fault
        self._note = note
        self._sent = sent
        self._quirks = frozenset(quirks)
        self._dialect = dialect
        self._model = model
        self._ctx = ctx
        self._slots = slots
        self._pause_s = pause_s
        self._api_key = api_key
        self._stopping = Event()
        self._lock = Lock()
        self._asked = 0
        self.connections = 0
        self._open: set[socket.socket] = set()
        self._cached = ""
        self._http = _Http(("127.0.0.1", port), _requests_to(self))
        self._thread = Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}"

    def __enter__(self) -> "ScriptedServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._http.shutdown()
        for connection in tuple(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()
        self._thread.join()

    def opened(self, connection: socket.socket) -> None:
        """Note a connection, to close it when the server ends: clients keep theirs open."""
        with self._lock:
            self.connections += 1
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forget a connection."""
        with self._lock:
            self._open.discard(connection)

    def wait(self) -> None:
        """Wait until someone interrupts."""
        while not self._stopping.wait(1.0):
            pass

    def tell(self, http: BaseHTTPRequestHandler) -> None:
        """Answer a GET: the list of models, and what llama.cpp's server says about itself."""
        documents: dict[str, Any] = {
            "/v1/models": {"object": "list", "data": [{"id": self._model, "object": "model"}]}
        }
        if self._dialect == "llama.cpp":
            documents["/props"] = {
                "build_info": BUILD,
                "total_slots": self._slots,
                "chat_template": "scripted",
                "default_generation_settings": {"n_ctx": self._ctx},
            }
            if "hides-slots" not in self._quirks:
                slot = {"n_ctx": self._ctx, "speculative": "synthetic-drafts" in self._quirks}
                documents["/slots"] = [{"id": number, **slot} for number in range(self._slots)]
        self._document(http, documents.get(http.path.partition("?")[0]))

    def _document(self, http: BaseHTTPRequestHandler, found: Any) -> None:
        exchange = Exchange(http=http, body={}, steps=lambda: (), pause_s=0.0, stopping=self._stopping)
        missing = {"error": {"message": "not found"}}
        exchange.document(missing if found is None else found, 404 if found is None else 200)

    def post(self, http: BaseHTTPRequestHandler) -> None:
        """Answer a POST: a chat request, or llama.cpp's questions for a prompt and its tokens."""
        body = json.loads(http.rfile.read(int(http.headers.get("Content-Length") or 0)))
        lends = self._dialect == "llama.cpp" and "hides-slots" not in self._quirks
        if http.path == "/apply-template":
            self._document(http, {"prompt": _prompt_of(body)} if lends else None)
        elif http.path == "/tokenize":
            self._document(http, {"tokens": _tokens_of(body["content"])} if lends else None)
        else:
            self._chat(http, body)

    def _chat(self, http: BaseHTTPRequestHandler, body: Mapping[str, Any]) -> None:
        """Answer a chat request, or play the fault that is due."""
        headers = {name.lower(): value for name, value in http.headers.items()}
        with self._lock:
            received = Received(number=self._asked, headers=headers, body=body)
            self._asked += 1
            self._note(received)
            fault = self._fault(received)
            prompt = counted(self._count(_prompt_of(body)), self._quirks)
        exchange = self._exchange(http, received, prompt)
        asked = Asked(received.number, body)
        refused = refusal(asked, self._quirks)
        if self._api_key is not None and headers.get("authorization") != f"Bearer {self._api_key}":
            exchange.document({"error": {"message": "invalid key"}}, 401)
        elif fault is not None:
            FAULTS[fault].play(exchange)
        elif refused is not None:
            exchange.document({"error": {"message": refused}}, 400)
        elif prompt.tokens > self._ctx:
            counts = {"n_prompt_tokens": prompt.tokens, "n_ctx": self._ctx}
            exchange.document({"error": {**OVERFLOW, **counts}}, 400)
        elif not body.get("stream"):
            answer = said(self._script, asked, self._quirks)
            exchange.document(document_of(answer, limited(body, self._quirks), prompt))
        else:
            exchange.begin()
            exchange.answer()
            exchange.end()
            http.close_connection = (
                self._dialect == "llama.cpp"
            )  # as llama.cpp's server does, although it keeps others

    def _count(self, text: str) -> Prompt:
        """Count a prompt and what of it the last one left in the cache."""
        same, differ = 0, min(len(text), len(self._cached)) + 1
        while differ - same > 1:
            middle = (same + differ) // 2
            same, differ = (middle, differ) if text[:middle] == self._cached[:middle] else (same, middle)
        self._cached = text
        tokens = -(-len(text) // CHARACTERS_PER_TOKEN)
        return Prompt(tokens=tokens, reused_tokens=min(same // CHARACTERS_PER_TOKEN, tokens - 1))

    def _exchange(self, http: BaseHTTPRequestHandler, received: Received, prompt: Prompt) -> Exchange:
        asked, quirks = Asked(received.number, received.body), self._quirks

        def steps() -> Iterator[Step]:
            answer, body = said(self._script, asked, quirks), limited(asked.body, quirks)
            whole = "whole-calls" in quirks
            for waits, chunks in steps_of(answer, body, prompt, self._dialect, whole_calls=whole):
                yield waits, [stated(chunk, quirks) for chunk in chunks] if quirks else chunks

        return Exchange(
            http=http,
            body=received.body,
            steps=steps,
            pause_s=self._pause_s,
            stopping=self._stopping,
            sent=lambda now_ns: self._sent(received, now_ns),
        )


def _prompt_of(body: Mapping[str, Any]) -> str:
    return json.dumps([body.get("tools"), body.get("messages")])


def _tokens_of(text: str) -> list[int]:
    pieces = range(0, len(text), CHARACTERS_PER_TOKEN)
    return [zlib.crc32(text[start : start + CHARACTERS_PER_TOKEN].encode()) for start in pieces]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024  # all trajectories of a large run connect at once

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that gives up a bad answer is what the faults are for."""


def _requests_to(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            server.tell(self)

        def do_HEAD(self) -> None:
            server.tell(self)

        def do_POST(self) -> None:
            server.post(self)

        def setup(self) -> None:
            server.opened(self.request)
            super().setup()

        def finish(self) -> None:
            server.closed(self.request)
            super().finish()

        def log_message(self, *arguments: object) -> None:
            """Keep the terminal for the run."""

    return Request
