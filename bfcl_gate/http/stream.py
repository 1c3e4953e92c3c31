"""One server over one connection: small documents, and requests whose answers arrive piece by piece.

Nothing is tried again, no redirect is followed, no proxy is used, and nothing of a request (it may carry a key)
gets into an exception. The standard library's client speaks HTTP/1.1 here: of those that were tried it takes the least
time between the arrival of a token and the reading of the clock (scripts/bench/client.py).
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bfcl_gate.http.body import ClosedError, MalformedError, pieces_of
from bfcl_gate.http.watchdog import Limits, Watchdog

if TYPE_CHECKING:
    import ssl

_CONNECT_S = 4.0  # for each address of a host: out of reach has to show before it looks like a hang
_IDLE_S = 2.0
"""An idle connection older than this is not used again: servers close theirs after about 5 s, and a request sent
into that moment would fail without being the model's fault."""
_CANCELLED = "cancelled"
_OWN_HEADERS = {"User-Agent": "edge-agentic", "Accept-Encoding": "identity"}


class UnreachableError(Exception):
    """No connection could be made, so no request was sent."""


class BrokenError(Exception):
    """The request was sent and the answer is not whole. `kind` is reset, closed, protocol, overdue or cancelled."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """An answer that has begun: `pieces` are its body's bytes as the network delivers them, undecoded."""

    status: int
    reason: str
    headers: Mapping[str, str]
    pieces: Iterator[bytes] = field(repr=False)


class _Body:
    """The body of one answer, which knows whether it was read to its end."""

    def __init__(self) -> None:
        self._response: HTTPResponse | None = None
        self._whole = False

    def begin(self, response: HTTPResponse) -> HTTPResponse:
        self._response = response
        return response

    def pieces(self, response: HTTPResponse) -> Iterator[bytes]:
        yield from pieces_of(response)
        self._whole = True

    def end(self) -> bool:
        """Let go of the answer; return whether its connection can be used again."""
        if self._response is None:
            return False
        self._response.close()
        return self._whole and not self._response.will_close


class Connection:
    """A connection to one server that is kept open between requests; one request at a time."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = {**_OWN_HEADERS, **headers}
        self._http: HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._place = ""
        self._used_at = 0.0
        self._asked = False
        self._watchdog: Watchdog | None = None

    @contextmanager
    def request(
        self, method: str, url: str, limits: Limits, *, body: bytes | None = None, headers: Mapping[str, str]
    ) -> "Iterator[tuple[Incoming, Watchdog]]":
        """Send one request and give its answer, with the watchdog that guards it until the block ends.

        Raises UnreachableError or BrokenError, from the block too when its reading of `pieces` fails.
        """
        body_of = _Body()
        with Watchdog(limits, self._cut) as watchdog:
            self._watchdog = watchdog
            try:
                http, target = self._connected(url, watchdog)
                # The watchdog cuts first; this limit holds where a platform does not let it wake a blocked read.
                http.sock.settimeout(limits.total_s + 1.0)
                self._asked = True
                http.request(method, target, body, {**self._headers, **headers})
                yield _incoming(body_of.begin(http.getresponse()), body_of), watchdog
            except (OSError, HTTPException, ClosedError, MalformedError) as error:
                raise _translated(error, watchdog) from None
            finally:
                self._used_at = monotonic()
                if not body_of.end():
                    self.close()

    def open(self, url: str) -> None:
        """Connect now, so that the next request to this server need not. Raises UnreachableError."""
        self._connected(url, None)

    def _connected(self, url: str, watchdog: Watchdog | None) -> tuple[HTTPConnection, str]:
        """Return the open connection for a URL and what to ask for there. Raises UnreachableError."""
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}"
        idle_s = monotonic() - self._used_at
        # One that nobody has asked yet may have news all the same: the session tickets of TLS.
        has_news = self._asked and self._socket is not None and _has_news(self._socket)
        if place != self._place or idle_s > _IDLE_S or has_news:
            self.close()
        try:
            if self._http is None or self._http.sock is None:
                self._place, self._http = place, _opened(parts.scheme, parts.hostname or "", parts.port)
                self._http.connect()
                self._socket = self._http.sock
                self._used_at, self._asked = monotonic(), False
        except (OSError, HTTPException, ValueError) as error:
            broken = None if watchdog is None else broken_by(watchdog)
            raise broken or UnreachableError(_said(error)) from None
        return self._http, f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"

    def cancel(self) -> None:
        """End the running request; callable from any thread or a signal handler, harmless when none is running."""
        if self._watchdog is not None:
            self._watchdog.expire(_CANCELLED)

    def _cut(self) -> None:
        """End the connection under whatever reads from it or writes to it."""
        if (connected := self._socket) is not None:  # the thread that reads may close it meanwhile
            with suppress(OSError):
                # Not SSLSocket.shutdown: it takes the TLS state away from the thread that reads.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; harmless when repeated."""
        if self._http is not None:
            self._http.close()
            self._http = self._socket = None


def _opened(scheme: str, host: str, port: int | None) -> HTTPConnection:
    if scheme == "https":
        return HTTPSConnection(host, port, timeout=_CONNECT_S, context=_verifying())
    return HTTPConnection(host, port, timeout=_CONNECT_S)


def _has_news(idle: socket.socket) -> bool:
    """Return whether an idle connection was closed at the other end, or says something nobody asked for."""
    try:
        idle.setblocking(False)
        socket.socket.recv(idle, 1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


@cache
def _verifying() -> "ssl.SSLContext":
    """Return the one context that verifies certificates; making it takes some 20 ms and a megabyte."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)


def broken_by(watchdog: Watchdog) -> BrokenError | None:
    """Return what the watchdog did to the request, if anything: a body that ends with its connection looks whole."""
    if watchdog.reason is None:
        return None
    return BrokenError("cancelled" if watchdog.reason == _CANCELLED else "overdue", watchdog.reason)


def _incoming(response: HTTPResponse, body: _Body) -> Incoming:
    return Incoming(
        status=response.status,
        reason=response.reason,
        headers={name.lower(): value for name, value in response.getheaders()},
        pieces=body.pieces(response),
    )


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _translated(error: Exception, watchdog: Watchdog) -> UnreachableError | BrokenError:
    """Return what happened in terms of this module; what the watchdog did comes before what it looked like."""
    if (expired := broken_by(watchdog)) is not None:
        return expired
    if isinstance(error, TimeoutError):
        return BrokenError("overdue", "nothing more came in time")
    if isinstance(error, ClosedError | RemoteDisconnected):
        return BrokenError("closed", "the connection was closed")
    if isinstance(error, OSError):
        return BrokenError("reset", _said(error))
    return BrokenError("protocol", _said(error))
