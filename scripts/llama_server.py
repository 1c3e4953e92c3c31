"""Runs a server (llama-server of scripts/build_llama_server.py, or another) on 127.0.0.1 while a block lasts; asks it.

The client is as plain as one can be: one kept connection, whole JSON answers.
"""

import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
_START_S = 600
_ANSWER_S = 1200
_IDLE_S = 2.0  # it ends a connection that was idle for five seconds
_FIXED = ("--parallel", "1", "--cache-ram", "0", "--no-webui", "--no-warmup", "--log-colors", "off")


class ServerError(Exception):
    """The server did not start or did not answer as expected; the text says what it said."""


class Client:
    """Asks one server over one connection; `url` is where other clients find it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://{HOST}:{port}"
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_ANSWER_S)
        self._used_at = 0.0

    def get(self, path: str) -> Any:
        """Return the JSON at a path. Raises ServerError for any status but 200."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON that answers a JSON body. Raises ServerError for any status but 200."""
        return self._ask("POST", path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        response = self._sent(method, path, body)
        said = response.read()
        self._used_at = time.monotonic()
        return json.loads(said)

    def _sent(self, method: str, path: str, body: bytes | None) -> http.client.HTTPResponse:
        """Send a request and return its answer, to be read. Raises ServerError for any status but 200."""
        if time.monotonic() - self._used_at > _IDLE_S:
            self._connection.close()  # the next request opens it again
        self._connection.request(method, path, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        if response.status != 200:
            said = response.read()
            raise ServerError(f"{path}: {response.status} {said[:500].decode(errors='replace')}")
        return response

    def lines(self, path: str, body: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
        """Yield the events of a streamed answer with the instant (ns) at which each had arrived."""
        body = {**body, "stream": True}
        for line in self._sent("POST", path, json.dumps(body).encode()):
            at_ns = time.perf_counter_ns()
            if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                yield at_ns, json.loads(line[6:])
        self._connection.close()  # the server ends it after a stream

    def close(self) -> None:
        self._connection.close()


@contextmanager
def running(program: Path, model: Path, *options: str) -> Iterator[Client]:
    """Start llama-server with one slot, wait until it has loaded the model, and stop it at the end of the block.

    Raises ServerError with the end of its log where it does not start.
    """
    with serving((str(program), "--model", str(model), *_FIXED, *options), ready="/health") as client:
        yield client


@contextmanager
def serving(command: Sequence[str], *, ready: str) -> Iterator[Client]:
    """Start a server by its command, to which its address is added, wait until the path `ready` answers, and stop it
    at the end of the block. Raises ServerError with the end of its log where it does not start.
    """
    port = _free_port()
    address = ("--host", HOST, "--port", str(port))
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen((*command, *address), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        client = Client(port)
        try:
            _wait_until_ready(client, ready, process, log)
            yield client
        finally:
            client.close()
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(client: Client, path: str, process: "subprocess.Popen[bytes]", log: Any) -> None:
    end = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < end:
        try:
            client.get(path)
        except (OSError, ServerError, http.client.HTTPException):
            client.close()
            time.sleep(0.05)
        else:
            return
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    raise ServerError("the server did not start:\n" + "\n".join(lines[-15:]))


def program(name: str = "llama-server") -> Path:
    """Return a program that scripts/build_llama_server.py builds, built first where it has to be."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from build_llama_server import built

    return built() / "bin" / name


def prompt_of(client: Client, messages: Any, tools: Any, **more: Any) -> str:
    """Return the prompt that the server renders for a chat."""
    body = {"messages": list(messages), **({"tools": list(tools)} if tools else {}), **more}
    return str(client.post("/apply-template", body)["prompt"])


def tokens_of(client: Client, prompt: str) -> list[int]:
    """Return the tokens that the server makes of a rendered prompt, as for a chat."""
    body = {"content": prompt, "add_special": True, "parse_special": True}
    return [int(token) for token in client.post("/tokenize", body)["tokens"]]
