"""A scripted OpenAI-compatible server on this machine: for tests and demonstrations, no model needed.

Its tokens are words, its prompt tokens four characters, and it can play every fault in `FAULTS`.
"""

import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any

from bfcl_gate.model.scripted_server.dialects import BUILD, DIALECTS, Prompt, Said, steps_of
from bfcl_gate.model.scripted_server.exchange import Exchange
from bfcl_gate.model.scripted_server.faults import FAULTS, ScriptedFault
from bfcl_gate.model.scripted_server.plays import OVERFLOW

__all__ = ["DIALECTS", "FAULTS", "Received", "Said", "ScriptedFault", "ScriptedServer"]

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One chat request as it came: its number from 0, headers by lower-case name, and body."""

    number: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class ScriptedServer:
    """Answers by `script`; `fault` names what to play for a request, None for a good answer.

    `dialect` is one of DIALECTS; `ctx` is in tokens; `pause_s` is waited before each token; `whole_calls` sends a tool
    call in one piece. Every chat request goes to `note` too. `connections` counts those that were made to it.
    """

    def __init__(
        self,
        script: Callable[[Mapping[str, Any]], Said],
        *,
        fault: Callable[[Received], str | None] = lambda received: None,
        note: Callable[[Received], None] = lambda received: None,
        dialect: str = "llama.cpp",
        model: str = "scripted",
        ctx: int = 32_768,
        pause_s: float = 0.0,
        whole_calls: bool = False,
        api_key: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._script = script
        self._fault = fault
        self._note = note
        self._dialect = dialect
        self._model = model
        self._ctx = ctx
        self._pause_s = pause_s
        self._whole_calls = whole_calls
        self._api_key = api_key
        self._stopping = Event()
        self._lock = Lock()
        self._asked = 0
        self.connections = 0
        self._open: set[socket.socket] = set()
        self._cached = ""
        self._http = _Http((host, port), _requests_to(self))
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
        path = http.path.partition("?")[0]
        llama_cpp = self._dialect == "llama.cpp"
        documents: dict[str, Any] = {
            "/v1/models": {"object": "list", "data": [{"id": self._model, "object": "model"}]}
        }
        if llama_cpp:
            documents["/props"] = {
                "build_info": BUILD,
                "total_slots": 1,
                "chat_template": "scripted",
                "default_generation_settings": {"n_ctx": self._ctx},
            }
        exchange = self._exchange(http, {}, Prompt(tokens=0, reused_tokens=0))
        found = documents.get(path)
        exchange.document(found or {"error": {"message": "not found"}}, 200 if found else 404)

    def chat(self, http: BaseHTTPRequestHandler) -> None:
        """Answer a chat request, or play the fault that is due."""
        length = int(http.headers.get("Content-Length") or 0)
        body = json.loads(http.rfile.read(length))
        headers = {name.lower(): value for name, value in http.headers.items()}
        with self._lock:
            received = Received(number=self._asked, headers=headers, body=body)
            self._asked += 1
            self._note(received)
            fault = self._fault(received)
            prompt = self._count(json.dumps([body.get("tools"), body.get("messages")]))
        exchange = self._exchange(http, body, prompt)
        if self._api_key is not None and headers.get("authorization") != f"Bearer {self._api_key}":
            exchange.document({"error": {"message": "invalid key"}}, 401)
        elif fault is not None:
            FAULTS[fault].play(exchange)
        elif prompt.tokens > self._ctx:
            counts = {"n_prompt_tokens": prompt.tokens, "n_ctx": self._ctx}
            exchange.document({"error": {**OVERFLOW, **counts}}, 400)
        else:
            exchange.begin()
            exchange.answer()
            exchange.end()

    def _count(self, text: str) -> Prompt:
        """Count a prompt and what of it the last one left in the cache."""
        same, differ = 0, min(len(text), len(self._cached)) + 1
        while differ - same > 1:
            middle = (same + differ) // 2
            same, differ = (middle, differ) if text[:middle] == self._cached[:middle] else (same, middle)
        self._cached = text
        tokens = -(-len(text) // CHARACTERS_PER_TOKEN)
        return Prompt(tokens=tokens, reused_tokens=min(same // CHARACTERS_PER_TOKEN, tokens - 1))

    def _exchange(self, http: BaseHTTPRequestHandler, body: Mapping[str, Any], prompt: Prompt) -> Exchange:
        return Exchange(
            http=http,
            body=body,
            steps=lambda: steps_of(
                self._script(body), body, prompt, self._dialect, whole_calls=self._whole_calls
            ),
            pause_s=self._pause_s,
            stopping=self._stopping,
        )


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that gives up a bad answer is what the faults are for."""


def _requests_to(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            server.tell(self)

        def do_POST(self) -> None:
            server.chat(self)

        def setup(self) -> None:
            server.opened(self.request)
            super().setup()

        def finish(self) -> None:
            server.closed(self.request)
            super().finish()

        def log_message(self, *arguments: object) -> None:
            """Keep the terminal for the run."""

    return Request
