"""What a server tells about itself before it is asked anything."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.model.endpoint_engine import EndpointEngine, address_of, model_of, public_name
from bfcl_gate.model.scripted_server import ScriptedServer

Serve = Callable[..., ScriptedServer]
Ask = Callable[..., EndpointEngine]
Documents = dict[str, Any]


@pytest.fixture
def teller() -> Iterator[Callable[[Documents], str]]:
    """Return the URL of a server that has these documents: JSON values, bytes, or an HTTP status."""
    servers = []

    def start(documents: Documents) -> str:
        class Request(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = documents.get(self.path.partition("?")[0], 404)
                status, value = (found, b"{}") if isinstance(found, int) else (200, found)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(value if isinstance(value, bytes) else json.dumps(value).encode())

            def log_message(self, *arguments: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def models(*names: str, **more: Any) -> Documents:
    return {"/v1/models": {"object": "list", "data": [{"id": name, **more} for name in names]}}


def test_llama_cpp_tells_build_context_and_template(serve: Serve, ask: Ask) -> None:
    info = ask(serve(ctx=4_096).url).info()
    assert (info.kind, info.ctx, info.syntax, info.prefix) == ("endpoint", 4_096, "auto", "")
    assert info.identity["served_model"] == "scripted"
    assert info.identity["build"] == "b0-scripted"
    assert len(info.identity["template_sha256"]) == 64
    assert info.details == {"server": "llama.cpp", "slots": 1, "speculative": False}


def test_another_server_tells_little_and_no_address_is_on_record(serve: Serve, ask: Ask) -> None:
    server = serve(dialect="openai")
    info = ask(server.url).info()
    assert dict(info.identity) == {
        "served_model": "scripted",
        "build": None,
        "template_sha256": None,
        "template_args": {},
        "request_additions": ["stream_options"],
    }
    assert (info.ctx, info.details) == (None, {"server": None})
    assert "127.0.0.1" not in repr(info)


def test_a_version_stands_for_the_build_and_facts_of_the_model_are_kept(
    teller: Callable[[Documents], str], ask: Ask
) -> None:
    meta = {"n_params": 27_000, "size": 16_000, "n_ctx_train": -1, "n_vocab": "many"}
    documents = {**models("m", meta=meta), "/version": {"version": "0.9.1"}}
    info = ask(teller(documents), model="m").info()
    assert info.identity["build"] == "0.9.1"
    assert info.details == {"server": None, "parameters": 27_000, "weights_bytes": 16_000}


def test_the_only_model_needs_no_name(teller: Callable[[Documents], str]) -> None:
    assert model_of(address_of(teller(models("one")), None)) == "one"


@pytest.mark.parametrize(
    ("documents", "asked", "told"),
    [
        (models("one", "two"), None, "serves one, two; choose one with --model"),
        (models(), None, "serves no model"),
        ({}, None, "does not list its models"),
        (models("one"), "two", "--model two: .* does not serve it; it serves one"),
    ],
)
def test_a_model_that_is_not_clear_or_not_there_is_the_users_to_name(
    teller: Callable[[Documents], str], ask: Ask, documents: Documents, asked: str | None, told: str
) -> None:
    url = teller(documents)
    with pytest.raises(InputError, match=told):
        model_of(address_of(url, None)) if asked is None else ask(url, model=asked)


@pytest.mark.parametrize("listed", [b"<html>", b"[]", b'{"data": 7}', b"[" * 100_000, b'{"data": [7, {}]}'])
def test_a_list_that_is_none_is_no_obstacle_to_a_given_name(
    teller: Callable[[Documents], str], ask: Ask, listed: bytes
) -> None:
    documents = {"/v1/models": listed}
    if listed.endswith(b"{}]}"):
        with pytest.raises(InputError, match="serves no model"):
            ask(teller(documents), model="m")
    else:
        assert ask(teller(documents), model="m").info().identity["served_model"] == "m"


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (301, "redirects are not followed"),
        (401, "asks for a key; .*--api-key-env"),
        (403, "refuses this key"),
        (429, "too many requests"),
        (500, "answers 500"),
        (503, "still loading"),
    ],
)
def test_a_server_that_refuses_says_what_to_do(
    teller: Callable[[Documents], str], ask: Ask, status: int, told: str
) -> None:
    with pytest.raises(EngineError, match=told):
        ask(teller({"/v1/models": status}))


def test_a_server_that_is_not_there_is_named_to_the_user(ask: Ask) -> None:
    with pytest.raises(EngineError, match=r"^127\.0\.0\.1:9 cannot be reached .* Start the server"):
        ask("http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("served", "public"),
    [
        ("/home/me/models/q4.gguf", "q4.gguf"),
        ("../q4.gguf", "q4.gguf"),
        ("~/q4.gguf", "q4.gguf"),
        (r"C:\models\q4.gguf", "q4.gguf"),
        ("Qwen/Qwen3.6-27B", "Qwen/Qwen3.6-27B"),
        ("qwen:27b", "qwen:27b"),
    ],
)
def test_folders_of_the_server_s_machine_are_left_out_of_a_name(served: str, public: str) -> None:
    assert public_name(served) == public
