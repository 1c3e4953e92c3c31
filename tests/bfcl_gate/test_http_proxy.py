"""The proxy: what each side gets is what the other one sent, when it was sent; and what is noted of it."""

import gzip
import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from queue import Queue
from threading import Event

import pytest
from raw_server import RawServer, Talk, everything, exactly, heard

from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.http import passed as passed_module
from bfcl_gate.http.passed import Passed
from bfcl_gate.http.proxy import Proxy
from bfcl_gate.http.upstream import parse_upstream

HOST = b"Host: upstream.example\r\n"
ASK = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{}"
LAST_ASK = ASK.replace(b"Content-Length", b"Connection: close\r\nContent-Length")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Between:
    """A proxy in front of a raw server, and the client's connections to it."""

    def __init__(self, stack: ExitStack, server: RawServer, upstream: str | None = None) -> None:
        self._stack = stack
        self.server = server
        self._noted: Queue[Passed] = Queue()
        self.proxy = stack.enter_context(
            Proxy(
                parse_upstream(upstream or server.url),
                wanted=lambda method, path: method == "POST",
                note=self._noted.put,
            )
        )

    def connect(self) -> socket.socket:
        host, port = self.proxy.url.removeprefix("http://").split(":")
        return self._stack.enter_context(socket.create_connection((host, int(port)), timeout=10))

    def noted(self) -> Passed:
        return self._noted.get(timeout=10)


Put = Callable[..., Between]


@pytest.fixture
def put() -> Iterator[Put]:
    """Put a proxy in front of what talks."""
    with ExitStack() as stack:
        yield lambda *talks, **options: Between(stack, stack.enter_context(RawServer(*talks)), **options)


def answering(*pieces: bytes, asked: list[bytes] | None = None, body: bytes = b"{}") -> Talk:
    """Hear one request and say the pieces."""

    def talk(connection: socket.socket) -> None:
        request = heard(connection) + exactly(connection, len(body))
        if asked is not None:
            asked.append(request)
        for piece in pieces:
            connection.sendall(piece)

    return talk


ANSWERS = {
    "content length": b"HTTP/1.1 200 Fine by me\r\nContent-LENGTH:  5 \r\nX-Odd:\tcase\r\n\r\nhello",
    "chunked": CHUNKED + b"5;ext=1\r\nhello\r\n00A\r\n, my world\r\n0\r\nX-Trailer: 1\r\n\r\n",
    "until close": b"HTTP/1.1 200 OK\r\n\r\neverything up to the end",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
    "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"zipped", mtime=0),
    "not found": b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
    "server error": b"HTTP/1.0 500 Oops\r\n\r\nTraceback (most recent call last)",
    "no HTTP": b"\x00\x01 no HTTP at all\r\n\r\n",
    "bad chunk size": CHUNKED + b"zz\r\nhello\r\n",
    "huge headers": b"HTTP/1.1 200 OK\r\nX-Huge: " + b"x" * 600_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "cut off": CHUNKED + b"400\r\ndata: {",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "nothing": b"",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_client_gets_the_very_bytes_of_the_server(put: Put, name: str) -> None:
    between = put(answering(ANSWERS[name]))
    client = between.connect()
    client.sendall(LAST_ASK)
    assert everything(client) == ANSWERS[name]


ENDS = {
    "content length": ("whole", 200, b"hello"),
    "chunked": ("whole", 200, b"hello, my world"),
    "until close": ("whole", 200, b"everything up to the end"),
    "early hints": ("whole", 200, b"{}"),
    "no content": ("whole", 204, b""),
    "not found": ("whole", 404, b"nope"),
    "no HTTP": ("bad HTTP", None, b""),
    "bad chunk size": ("bad HTTP", 200, b""),
    "huge headers": ("bad HTTP", None, b""),
    "cut off": ("server left", 200, b"data: {"),
    "nothing": ("server left", None, b""),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_is_noted_is_the_body_without_its_framing_and_how_it_ended(put: Put, name: str) -> None:
    between = put(answering(ANSWERS[name]))
    client = between.connect()
    client.sendall(LAST_ASK)
    everything(client)
    passed = between.noted()
    assert passed.response is not None
    assert (passed.ended, passed.status, passed.response.data) == ENDS[name]
    assert passed.request is not None
    assert passed.request.data == b"{}"
    assert (passed.method, passed.path) == ("POST", "/v1/chat/completions")
    assert passed.started_ns <= passed.ended_ns


def test_a_request_keeps_everything_but_its_host(put: Put) -> None:
    asked: list[bytes] = []
    between = put(answering(OK, asked=asked))
    head = (
        b"POST /v1/x?key=1&b=%20 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-KEY: k\r\nauthorization: Bearer b\r\n"
    )
    client = between.connect()
    client.sendall(head + b"Content-Length: 2\r\n\r\n{}")
    assert exactly(client, len(OK)) == OK
    address = between.server.url.removeprefix("http://").encode()
    assert asked == [head.replace(b"Host: 127.0.0.1", b"Host: " + address) + b"Content-Length: 2\r\n\r\n{}"]
    assert between.noted().path == "/v1/x"


def test_a_recorded_request_asks_for_no_coding_that_cannot_be_read(put: Put) -> None:
    asked: list[bytes] = []
    between = put(answering(OK, asked=asked), answering(OK, asked=asked, body=b""))
    for start, end in (
        (b"POST / HTTP/1.1\r\n", b"Content-Length: 2\r\n\r\n{}"),
        (b"GET / HTTP/1.1\r\n", b"\r\n"),
    ):
        client = between.connect()
        client.sendall(start + HOST + b"Accept-Encoding: br;q=1, gzip;q=0.5, zstd,deflate\r\n" + end)
        exactly(client, len(OK))
    assert [b"Accept-Encoding: gzip;q=0.5,deflate\r\n" in each for each in asked] == [True, False]
    assert b"Accept-Encoding: br;q=1, gzip;q=0.5, zstd,deflate\r\n" in asked[1]


def test_each_piece_of_an_answer_arrives_before_the_next_is_sent(put: Put) -> None:
    """Pieces are not whole chunks nor whole lines: nothing may be waited for."""
    pieces = [CHUNKED[:9], CHUNKED[9:], b"5\r\nda", b"ta:", b"\r\n", b"1\r\n \r\n", b"0\r\n\r\n"]
    arrived = Event()

    def talk(connection: socket.socket) -> None:
        heard(connection)
        for piece in pieces:
            connection.sendall(piece)
            assert arrived.wait(10)
            arrived.clear()

    client = put(talk).connect()
    client.sendall(ASK)
    for piece in pieces:
        assert exactly(client, len(piece)) == piece
        arrived.set()


@pytest.mark.parametrize(
    ("framing", "sent"),
    [
        (b"Content-Length: 6\r\n", [b"abc", b"def"]),
        (b"Transfer-Encoding: chunked\r\n", [b"3\r\nabc\r\n", b"3\r\ndef\r\n0\r\n\r\n"]),
    ],
)
def test_each_piece_of_a_request_arrives_before_the_next_is_sent(
    put: Put, framing: bytes, sent: list[bytes]
) -> None:
    got: Queue[bytes] = Queue()

    def talk(connection: socket.socket) -> None:
        heard(connection)
        for piece in sent:
            got.put(exactly(connection, len(piece)))
        connection.sendall(OK)

    between = put(talk)
    client = between.connect()
    client.sendall(b"POST / HTTP/1.1\r\n" + HOST + framing + b"\r\n")
    for piece in sent:
        client.sendall(piece)
        assert got.get(timeout=10) == piece
    assert exactly(client, len(OK)) == OK
    request = between.noted().request
    assert request is not None
    assert request.data == b"abcdef"


def test_a_client_may_wait_to_be_told_to_continue(put: Put) -> None:
    def talk(connection: socket.socket) -> None:
        assert b"Expect: 100-continue" in heard(connection)
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        exactly(connection, 2)
        connection.sendall(OK)

    client = put(talk).connect()
    client.sendall(ASK[:-2].replace(b"Content-Length", b"Expect: 100-continue\r\nContent-Length"))
    assert heard(client) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.sendall(b"{}")
    assert exactly(client, len(OK)) == OK


def test_head_and_get_have_no_body_to_wait_for(put: Put) -> None:
    told = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"

    def talk(connection: socket.socket) -> None:
        assert heard(connection).startswith(b"HEAD /v1/models ")
        connection.sendall(told)
        assert heard(connection).startswith(b"GET /v1/models ")
        connection.sendall(OK)

    between = put(talk)
    client = between.connect()
    client.sendall(b"HEAD /v1/models HTTP/1.1\r\n" + HOST + b"\r\n")
    assert exactly(client, len(told)) == told
    client.sendall(b"GET /v1/models HTTP/1.1\r\n" + HOST + b"\r\n")
    assert exactly(client, len(OK)) == OK
    noted = [between.noted(), between.noted()]
    assert [(each.method, each.ended, each.request, each.response) for each in noted] == [
        ("HEAD", "whole", None, None),
        ("GET", "whole", None, None),
    ]


def two_answers(connection: socket.socket) -> None:
    for _ in range(2):
        heard(connection)
        exactly(connection, 2)
        connection.sendall(OK)


def test_a_client_that_keeps_its_connection_keeps_one_to_the_server(put: Put) -> None:
    between = put(two_answers)
    client = between.connect()
    for _ in range(2):
        client.sendall(ASK)
        assert exactly(client, len(OK)) == OK
    assert between.server.connections == 1


def test_requests_sent_ahead_are_answered_in_order(put: Put) -> None:
    between = put(two_answers)
    client = between.connect()
    client.sendall(ASK + ASK)
    assert exactly(client, 2 * len(OK)) == OK + OK
    assert [between.noted().ended, between.noted().ended] == ["whole", "whole"]


def test_a_connection_the_server_closed_while_idle_is_made_anew(put: Put) -> None:
    closed = Event()

    def talk(connection: socket.socket) -> None:
        answering(OK)(connection)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    between = put(talk, answering(OK))
    client = between.connect()
    client.sendall(ASK)
    assert exactly(client, len(OK)) == OK
    assert closed.wait(10)
    between.noted()
    again = between.connect()  # by the time this one is answered, the proxy has heard of the close
    again.sendall(ASK)
    exactly(again, len(OK))
    client.sendall(ASK)
    assert exactly(client, len(OK)) == OK
    assert between.server.connections == 3


def test_a_request_that_meets_the_close_of_a_kept_connection_is_sent_on_another(put: Put) -> None:
    """The client could not see the close, as it would have without a proxy."""
    asked: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        answering(OK)(connection)
        connection.recv(1)

    between = put(talk, answering(OK, asked=asked))
    client = between.connect()
    client.sendall(ASK)
    assert exactly(client, len(OK)) == OK
    client.sendall(ASK)
    assert exactly(client, len(OK)) == OK
    assert [each.rpartition(b"\r\n\r\n")[2] for each in asked] == [b"{}"]
    assert [between.noted().ended, between.noted().ended] == ["whole", "whole"]


def test_a_request_on_a_new_connection_is_sent_once(put: Put) -> None:
    between = put(answering(), answering(OK))
    client = between.connect()
    client.sendall(ASK)
    assert everything(client) == b""
    assert (between.noted().ended, between.server.connections) == ("server left", 1)


def test_a_reset_by_the_server_is_a_reset_for_the_client(put: Put) -> None:
    read = Event()

    def talk(connection: socket.socket) -> None:
        answering(CHUNKED + b"5\r\nhello\r\n")(connection)
        assert read.wait(10)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    between = put(talk)
    client = between.connect()
    client.sendall(ASK)
    exactly(client, len(CHUNKED) + 10)
    read.set()
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    passed = between.noted()
    assert passed.response is not None
    assert (passed.ended, passed.response.data) == ("server left", b"hello")


def test_a_client_that_hangs_up_ends_the_request_at_the_server(put: Put) -> None:
    gone: Queue[bytes] = Queue()

    def talk(connection: socket.socket) -> None:
        answering(CHUNKED + b"5\r\nhello\r\n")(connection)
        try:
            gone.put(connection.recv(1))
        except ConnectionResetError:
            gone.put(b"")

    between = put(talk)
    client = between.connect()
    client.sendall(ASK)
    exactly(client, len(CHUNKED) + 10)
    client.close()
    assert gone.get(timeout=10) == b""
    assert between.noted().ended == "client left"


def test_what_is_under_way_is_noted_when_the_proxy_ends() -> None:
    def talk(connection: socket.socket) -> None:
        answering(CHUNKED + b"5\r\nhello\r\n")(connection)
        everything(connection)

    noted: list[Passed] = []
    with RawServer(talk) as server, ExitStack() as stack:
        with Proxy(parse_upstream(server.url), wanted=lambda method, path: True, note=noted.append) as proxy:
            host, port = proxy.url.removeprefix("http://").split(":")
            client = stack.enter_context(socket.create_connection((host, int(port)), timeout=10))
            client.sendall(ASK)
            exactly(client, len(CHUNKED) + 10)
        assert client.recv(1) == b""
    assert [each.ended for each in noted] == ["stopped"]


def test_a_server_that_is_gone_is_told_to_the_client_without_its_key(put: Put) -> None:
    with RawServer(answering(OK)) as server:
        url = server.url
    between = put(answering(OK), upstream=url)
    client = between.connect()
    client.sendall(ASK.replace(HOST, HOST + b"Authorization: Bearer sk-secret\r\n"))
    head = heard(client)
    body = everything(client)
    assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert "cannot be reached (Connection refused)" in json.loads(body)["error"]["message"]
    assert b"sk-secret" not in head + body
    assert between.noted().ended == "unreachable"


@pytest.mark.parametrize(
    ("request_", "status", "reason"),
    [
        (b"GET http://other.example/v1 HTTP/1.1\r\n" + HOST + b"\r\n", b"400", b"no HTTP proxy"),
        (b"CONNECT other.example:443 HTTP/1.1\r\n" + HOST + b"\r\n", b"400", b"no HTTP proxy"),
        (b"GET /v1/models HTTP/1.0\r\n\r\n", b"505", b"HTTP/1.1 is spoken here"),
        (b"\x16\x03\x01 this is TLS\r\n\r\n", b"400", b"not HTTP/1.1"),
        (b"GET /v1/models HTTP/1.1\r\n\r\n", b"400", b"not HTTP/1.1"),
    ],
)
def test_what_cannot_be_passed_on_is_refused(put: Put, request_: bytes, status: bytes, reason: bytes) -> None:
    between = put(answering(OK))
    client = between.connect()
    client.sendall(request_)
    client.shutdown(socket.SHUT_WR)
    answer = everything(client)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert reason in answer
    assert between.server.connections == 0


def test_another_protocol_both_sides_agree_on_passes_through(put: Put) -> None:
    switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

    def talk(connection: socket.socket) -> None:
        heard(connection)
        connection.sendall(switch + b"\x81\x02hi")
        assert exactly(connection, 4) == b"\x81\x02yo"
        connection.sendall(b"\x81\x03bye")

    client = put(talk).connect()
    client.sendall(b"GET /v1/x HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    assert exactly(client, len(switch) + 4) == switch + b"\x81\x02hi"
    client.sendall(b"\x81\x02yo")
    assert everything(client) == b"\x81\x03bye"


def test_a_body_too_long_to_keep_still_passes(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed_module, "MAX_BODY_BYTES", 4)
    between = put(answering(ANSWERS["content length"]))
    client = between.connect()
    client.sendall(LAST_ASK)
    assert everything(client) == ANSWERS["content length"]
    passed = between.noted()
    assert passed.response is None
    assert passed.request is not None


def test_more_than_any_buffer_holds_passes_both_ways(put: Put) -> None:
    body = bytes(range(256)) * 100_000

    def talk(connection: socket.socket) -> None:
        heard(connection)
        got = exactly(connection, len(body))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(got) + got)

    between = put(talk)
    client = between.connect()
    client.sendall(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert heard(client).startswith(b"HTTP/1.1 200 OK\r\n")
    assert exactly(client, len(body)) == body


def test_an_address_that_is_taken_is_said() -> None:
    with RawServer(answering(OK)) as server:
        port = int(server.url.rpartition(":")[2])
        proxy = Proxy(parse_upstream(server.url), wanted=lambda method, path: True, note=print, port=port)
        with (
            pytest.raises(
                SourceError, match=rf"127\.0\.0\.1:{port}: cannot be listened on \(Address already"
            ),
            proxy,
        ):
            pass


def test_a_server_that_is_not_there_is_said_before_anything_starts() -> None:
    with RawServer(answering(OK)) as server:
        url = server.url
        parse_upstream(url).require_reachable()
    with pytest.raises(SourceError, match="cannot be reached"):
        parse_upstream(url).require_reachable()
    with pytest.raises(SourceError, match=r"no-such-host\.invalid.*cannot be reached"):
        parse_upstream("http://no-such-host.invalid:8080").require_reachable()


@pytest.mark.parametrize(
    ("url", "authority", "asked", "target"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8080", "/v1/models", "/v1/models"),
        ("http://127.0.0.1:8080/v1/", "127.0.0.1:8080", "/v1/models", "/v1/models"),
        ("http://localhost/v1", "localhost", "/props", "/props"),
        ("https://router.example/api/v1", "router.example", "/v1/models?x=1", "/api/v1/models?x=1"),
        ("https://router.example:443/api/v1", "router.example", "/api/v1/models", "/api/v1/models"),
        ("https://router.example:80/", "router.example:80", "/v1", "/v1"),
        ("http://[::1]:8080/v1", "[::1]:8080", "/v1", "/v1"),
    ],
)
def test_where_requests_go(url: str, authority: str, asked: str, target: str) -> None:
    upstream = parse_upstream(url)
    assert upstream.authority == authority
    assert upstream.target(asked.encode()) == target.encode()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://host/v1",
        "http://",
        "http://host:port",
        "http://me:pw@host",
        "http://h/v1?k=1",
    ],
)
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="--upstream") as refused:
        parse_upstream(url)
    assert "pw" not in str(refused.value)
