"""One connection of a client and one of its own to the server: requests are re-addressed, answers pass untouched.

What the server sends is written to the client first and read afterwards, so nothing that is kept of an answer
delays it. h11 tells where requests and answers end; bytes it cannot read are passed on without being understood.
"""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from time import perf_counter_ns
from typing import cast

import h11

from bfcl_gate.http.passed import Ended, Kept, Passed, Passing
from bfcl_gate.http.upstream import CONNECT_S, Upstream, reason

_MAX_HEAD_BYTES = 128 * 1024
_LINGER_S = 1.0
"""A connection closed on a client that is still sending is reset, and the client would never read why."""


@dataclass(slots=True, kw_only=True)
class Route:
    """Where the connections of a proxy lead. `wanted` says of method and path whether bodies are kept; what
    passed is given to `note`, in the thread of the event loop: it must return at once."""

    upstream: Upstream
    tls: ssl.SSLContext | None
    wanted: Callable[[str, str], bool]
    note: Callable[[Passed], None]
    open: "set[Relay]" = field(default_factory=set)


class Relay(asyncio.Protocol):
    """The client's side. One request at a time; a client that sends the next one early is answered in order."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._inbound = h11.Connection(h11.SERVER, _MAX_HEAD_BYTES)
        self._outbound: h11.Connection | None = None
        self._server: asyncio.Transport | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._waiting = bytearray()
        self._again: bytearray | None = (
            None  # what was sent on a connection that may have been closed already
        )
        self._passing: Passing | None = None
        self._refused = False  # what still comes from the client is dropped
        self._unread = False  # what the server sends is passed on without being understood
        self._tunnel = False  # the same for both sides: they have agreed on another protocol

    # What the client does.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._client = cast(asyncio.Transport, transport)
        # asyncio does so only for sockets that name their protocol; without, a token waits 40 ms for an ACK.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._route.open.add(self)

    def data_received(self, data: bytes) -> None:
        """Read requests and send them on as they come."""
        if self._tunnel:
            self._send(data)
        elif not self._refused:
            self._inbound.receive_data(data)
            self._read_requests()

    def connection_lost(self, error: Exception | None) -> None:
        """End the request as well: a server must not go on generating for nobody."""
        self._route.open.discard(self)
        self._finish("client left")
        if self._connecting is not None:
            self._connecting.cancel()
        if self._server is not None:
            self._server.abort()

    def pause_writing(self) -> None:
        """Let the server wait for a slow client."""
        if self._server is not None:
            self._server.pause_reading()

    def resume_writing(self) -> None:
        if self._server is not None:
            self._server.resume_reading()

    # Requests.

    def _read_requests(self) -> None:
        try:
            while not self._refused and not self._client.is_closing():
                event = self._inbound.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    return
                if isinstance(event, h11.Request):
                    self._begin(event)
                elif isinstance(event, h11.Data | h11.EndOfMessage):
                    self._send_on(event)
                else:
                    return
        except h11.RemoteProtocolError as error:
            if self._outbound is None:
                self._refuse(400, f"this request is not HTTP/1.1 ({error}).")
            else:
                self._client.close()

    def _begin(self, request: h11.Request) -> None:
        method, target = request.method.decode(), request.target.decode("latin-1")
        if not target.startswith("/"):
            self._refuse(400, "this is no HTTP proxy; make its address the base URL of the agent instead.")
            return
        if request.http_version != b"1.1":
            self._refuse(505, "HTTP/1.1 is spoken here.")
            return
        path = target.partition("?")[0]
        wanted = self._route.wanted(method, path)
        self._passing = Passing(
            method=method,
            path=path,
            started_ns=perf_counter_ns(),
            request=Kept(parts=[] if wanted else None),
            response=Kept(parts=[] if wanted else None),
        )
        self._passing.request.describe(list(request.headers))
        self._outbound = h11.Connection(h11.CLIENT, _MAX_HEAD_BYTES)
        self._again = None if self._server is None else bytearray()
        upstream = self._route.upstream
        headers = upstream.headers(list(request.headers.raw_items()), readable=wanted)
        again = h11.Request(
            method=request.method, target=upstream.target(bytes(request.target)), headers=headers
        )
        self._send(self._outbound.send(again))

    def _send_on(self, event: h11.Data | h11.EndOfMessage) -> None:
        """Send a part of the request's body, or its end."""
        if self._outbound is None:
            return
        if isinstance(event, h11.Data) and self._passing is not None:
            self._passing.request.add(bytes(event.data))
        self._send(self._outbound.send(event))
        if isinstance(event, h11.EndOfMessage):
            self._next_request()

    def _send(self, data: bytes | None) -> None:
        if self._again is not None:
            self._again += data or b""
        if self._server is not None:
            self._server.write(data or b"")
            return
        self._waiting += data or b""
        if self._connecting is None and not self._client.is_closing():
            self._client.pause_reading()
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        upstream, tls = self._route.upstream, self._route.tls
        try:
            made = asyncio.get_running_loop().create_connection(
                lambda: _ServerSide(self), upstream.host, upstream.port, ssl=tls
            )
            transport, _ = await asyncio.wait_for(made, CONNECT_S)
        except (OSError, asyncio.TimeoutError) as error:
            self._finish("unreachable")
            self._refuse(
                502, f"{upstream.scheme}://{upstream.authority} cannot be reached ({reason(error)})."
            )
            return
        finally:
            self._connecting = None
        self._server = transport
        transport.write(bytes(self._waiting))
        self._waiting.clear()
        self._client.resume_reading()

    def _refuse(self, status: int, text: str) -> None:
        """Answer in the server's place and close, once the client has had time to say the rest and to read."""
        self._refused = True
        error = {"message": f"Recording proxy: {text}", "type": "proxy_error", "code": status}
        body = json.dumps({"error": error}).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self._client.write(head.encode() + body)
        self._client.resume_reading()
        asyncio.get_running_loop().call_later(_LINGER_S, self._client.close)

    # What the server does.

    def server_sent(self, data: bytes) -> None:
        """Pass on what came, then read it."""
        self._client.write(data)
        self._again = None
        if self._unread or self._outbound is None:
            return
        try:
            self._outbound.receive_data(data)
            self._read_answer(self._outbound)
        except h11.RemoteProtocolError:
            self._finish("bad HTTP")
            self._unread = True

    def server_lost(self, error: Exception | None) -> None:
        """Mirror how the server ended the connection; one that was idle is made anew when it is needed."""
        self._server = None
        if self._outbound is None:
            return
        if self._again is not None and not self._client.is_closing():
            # The server closed a kept connection (llama.cpp's after each stream) before it knew of this request.
            self._waiting, self._again = self._again, None
            self._send(None)
            return
        if error is None and not self._unread:
            with suppress(h11.RemoteProtocolError):
                self._outbound.receive_data(b"")  # the end of the connection may be the end of the answer
                self._read_answer(self._outbound)
        self._finish("server left")
        if error is not None:
            _reset_on_close(self._client)
        self._client.close()

    def server_is_slow(self, slow: bool) -> None:
        """Let the client wait for a server that does not read."""
        if slow:
            self._client.pause_reading()
        else:
            self._client.resume_reading()

    def _read_answer(self, outbound: h11.Connection) -> None:
        while True:
            event = outbound.next_event()
            if isinstance(event, h11.Response) and self._passing is not None:
                self._passing.status = event.status_code
                self._passing.response.describe(list(event.headers))
            elif isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                self._finish("whole")
                self._unread = self._tunnel = True
                return
            elif isinstance(event, h11.Data) and self._passing is not None:
                self._passing.response.add(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                self._finish("whole")
                self._next_request()
                return
            elif not isinstance(event, h11.InformationalResponse | h11.Data):
                return

    def _next_request(self) -> None:
        """Once request and answer are through, turn to what the client has sent meanwhile."""
        outbound = self._outbound
        if outbound is None or self._passing is not None:
            return
        if outbound.our_state is h11.SEND_BODY:
            return  # answered before it was asked in full
        self._outbound = None
        if h11.MUST_CLOSE in outbound.states.values() or h11.CLOSED in outbound.states.values():
            self._client.close()
            return
        early, _ = self._inbound.trailing_data
        self._inbound = h11.Connection(h11.SERVER, _MAX_HEAD_BYTES)
        if early:
            self._inbound.receive_data(early)
            asyncio.get_running_loop().call_soon(self._read_requests)

    def _finish(self, ended: Ended) -> None:
        if self._passing is not None:
            passing, self._passing = self._passing, None
            self._route.note(passing.passed(ended))

    def stop(self) -> None:
        """Cut both connections."""
        self._finish("stopped")
        self._client.abort()


class _ServerSide(asyncio.Protocol):
    """The connection to the server; all it knows is whose it is."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    def data_received(self, data: bytes) -> None:
        self._relay.server_sent(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._relay.server_lost(error)

    def pause_writing(self) -> None:
        self._relay.server_is_slow(True)

    def resume_writing(self) -> None:
        self._relay.server_is_slow(False)


def _reset_on_close(transport: asyncio.Transport) -> None:
    """Make the close a reset, as the server's was: an orderly one would look like the end of an answer."""
    with suppress(OSError):
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
