"""Answers as bytes on the wire: how their bodies end, what breaks them, and which connections are used again."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest

from bfcl_gate.http import BrokenError, Connection, Limits, UnreachableError

LIMITS = Limits(first_s=20.0, stall_s=20.0, total_s=20.0)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
Wire = Callable[[bytes], str]


class Answering:
    """A server that answers every request on every connection with the same bytes, and may close after each."""

    def __init__(self, answer: bytes, *, close: bool) -> None:
        self._answer, self._close = answer, close
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1/x?y=z"
        self.connections = 0
        self.requests: list[bytes] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._answer_on, args=(connection,), daemon=True).start()

    def _answer_on(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while request := connection.recv(65_536):
                self.requests.append(request)
                connection.sendall(self._answer)
                if self._close:
                    return

    def stop(self) -> None:
        self._listening.close()


@pytest.fixture
def answering() -> Iterator[Callable[..., Answering]]:
    servers: list[Answering] = []

    def start(answer: bytes, *, close: bool = True) -> Answering:
        servers.append(Answering(answer, close=close))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def body_of(connection: Connection, url: str) -> bytes:
    with connection.request("GET", url, LIMITS, headers={}) as (incoming, _):
        return b"".join(incoming.pieces)


def fetched(server: Answering) -> bytes:
    with closing(Connection({})) as connection:
        return body_of(connection, server.url)


def test_a_connection_made_ahead_is_the_one_that_is_asked(answering: Callable[..., Answering]) -> None:
    server = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", close=False)
    with closing(Connection({})) as connection:
        connection.open(server.url)
        assert body_of(connection, server.url) == b"ok"
        connection.open(server.url)
        assert body_of(connection, server.url) == b"ok"
    assert server.connections == 1


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (CHUNKED + b"2;name=value\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", b"hello"),
        (CHUNKED + b"5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n", b"hello"),
        (CHUNKED + b"A\r\n0123456789\r\n0\r\n\r\n", b"0123456789"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", b"hello"),
    ],
)
def test_a_body_ends_where_its_framing_says(
    answering: Callable[..., Answering], answer: bytes, body: bytes
) -> None:
    assert fetched(answering(answer)) == body


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (CHUNKED + b"5\r\nhel", "closed"),
        (CHUNKED + b"5\r\nhello", "closed"),
        (CHUNKED + b"5\r\nhello\r\n", "closed"),
        (CHUNKED + b"5\r\nhello\r\n0\r\n", "closed"),
        (CHUNKED, "closed"),
        (CHUNKED + b"5\r\nhello there\r\n", "protocol"),
        (CHUNKED + b"zz\r\nhello\r\n", "protocol"),
        (CHUNKED + b"-5\r\nhello\r\n", "protocol"),
        (CHUNKED + b"0x5\r\nhello\r\n", "protocol"),
        (CHUNKED + b"\r\nhello\r\n", "protocol"),
        (CHUNKED + b"fffffffffffffffff\r\nhello\r\n", "protocol"),
        (CHUNKED + b"0\r\n" + b"X: y\r\n" * 200, "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "closed"),
        (b"SSH-2.0-nonsense\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Many: 1\r\n" * 500 + b"\r\n", "protocol"),
    ],
)
def test_what_breaks_a_body_is_told_apart(
    answering: Callable[..., Answering], answer: bytes, kind: str
) -> None:
    with pytest.raises(BrokenError) as caught:
        fetched(answering(answer))
    assert caught.value.kind == kind


def test_a_connection_is_used_again_when_its_answer_was_read_to_the_end(
    answering: Callable[..., Answering],
) -> None:
    server = answering(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", close=False)
    with closing(Connection({})) as connection:
        assert [body_of(connection, server.url) for _ in range(3)] == [b"hello"] * 3
    assert server.connections == 1
    assert server.requests[0].startswith(b"GET /v1/x?y=z HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"Accept-Encoding: identity\r\n" in server.requests[0]


def test_a_connection_is_not_used_again_after_half_an_answer(answering: Callable[..., Answering]) -> None:
    server = answering(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", close=False)
    with closing(Connection({})) as connection:
        with connection.request("GET", server.url, LIMITS, headers={}) as (incoming, _):
            assert next(incoming.pieces) == b"hello"
        assert body_of(connection, server.url) == b"hello"
    assert server.connections == 2


@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"])
def test_a_connection_that_the_server_closed_is_not_used_again(
    answering: Callable[..., Answering], answer: bytes
) -> None:
    server = answering(answer)
    with closing(Connection({})) as connection:
        assert [body_of(connection, server.url) for _ in range(2)] == [b"ok"] * 2
    assert server.connections == 2


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://127.0.0.1:1/", "http://host.invalid/"])
def test_where_no_connection_can_be_made_no_request_was_sent(url: str) -> None:
    with closing(Connection({})) as connection, pytest.raises(UnreachableError):
        body_of(connection, url)


def test_a_plain_server_cannot_be_reached_by_https(answering: Callable[..., Answering]) -> None:
    server = answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with closing(Connection({})) as connection, pytest.raises(UnreachableError):
        body_of(connection, server.url.replace("http:", "https:"))


def test_nothing_of_a_request_is_in_an_exception(answering: Callable[..., Answering]) -> None:
    server = answering(b"nonsense\r\n")
    with (
        closing(Connection({})) as connection,
        pytest.raises(BrokenError) as caught,
        connection.request("GET", server.url, LIMITS, headers={"Authorization": "Bearer sk-key"}),
    ):
        pass
    assert "sk-key" not in repr(caught.value) + str(caught.value.__context__)
