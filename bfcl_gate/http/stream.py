"""One server over one connection: small documents, and requests whose answers arrive piece by piece.

Nothing is tried again, no redirect is followed, no proxy is used, and nothing of a request (it may carry a key)
gets into an exception.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bfcl_gate.http.watchdog import Limits, Watchdog

if TYPE_CHECKING:
    import httpx2

_CONNECT_S = 4.0  # for each address of a host: out of reach has to show before it looks like a hang
_IDLE_S = 2.0
"""An idle connection older than this is not used again: servers close theirs after about 5 s, and a request sent
into that moment would fail without being the model's fault."""
_CANCELLED = "cancelled"


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


class Connection:
    """A connection to one server that is kept open between requests; one request at a time."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        import httpx2

        self._socket: socket.socket | None = None
        self._watchdog: Watchdog | None = None
        self._client = httpx2.Client(
            trust_env=False,
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=1, keepalive_expiry=_IDLE_S),
            headers={"User-Agent": "edge-agentic", "Accept-Encoding": "identity", **headers},
        )

    @contextmanager
    def request(
        self, method: str, url: str, limits: Limits, *, body: bytes | None = None, headers: Mapping[str, str]
    ) -> "Iterator[tuple[Incoming, Watchdog]]":
        """Send one request and give its answer, with the watchdog that guards it until the block ends.

        Raises UnreachableError or BrokenError, from the block too when its reading of `pieces` fails.
        """
        with Watchdog(limits, self._cut) as watchdog:
            self._watchdog = watchdog
            try:
                with self._send(method, url, limits, body, headers) as response:
                    yield _incoming(response), watchdog
            except _failures() as error:
                raise _translated(error, watchdog) from None

    def _send(
        self, method: str, url: str, limits: Limits, body: bytes | None, headers: Mapping[str, str]
    ) -> Any:
        import httpx2

        # The watchdog cuts first; these limits hold where a platform does not let it wake a blocked read.
        blocked_s = limits.total_s + 1.0
        return self._client.stream(
            method,
            url,
            content=body,
            headers=dict(headers),
            timeout=httpx2.Timeout(blocked_s, connect=_CONNECT_S),
            extensions={"trace": self._note_socket},
        )

    def _note_socket(self, event: str, info: Mapping[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = info["return_value"].get_extra_info("socket")

    def cancel(self) -> None:
        """End the running request; callable from any thread or a signal handler, harmless when none is running."""
        if self._watchdog is not None:
            self._watchdog.expire(_CANCELLED)

    def _cut(self) -> None:
        """End the connection under whatever reads from it or writes to it."""
        if self._socket is not None:
            with suppress(OSError):
                # Not SSLSocket.shutdown: it takes the TLS state away from the thread that reads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; harmless when repeated."""
        self._client.close()


def broken_by(watchdog: Watchdog) -> BrokenError | None:
    """Return what the watchdog did to the request, if anything: a body that ends with its connection looks whole."""
    if watchdog.reason is None:
        return None
    return BrokenError("cancelled" if watchdog.reason == _CANCELLED else "overdue", watchdog.reason)


def _incoming(response: "httpx2.Response") -> Incoming:
    return Incoming(
        status=response.status_code,
        reason=response.reason_phrase,
        headers={name.lower(): value for name, value in response.headers.items()},
        pieces=response.iter_raw(),
    )


def _failures() -> tuple[type[Exception], ...]:
    import httpx2

    return (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)


def _translated(error: Exception, watchdog: Watchdog) -> UnreachableError | BrokenError:
    """Return what happened in terms of this module; what the watchdog did comes before what it looked like."""
    import httpx2

    text = str(error) or type(error).__name__
    if (expired := broken_by(watchdog)) is not None:
        return expired
    if isinstance(
        error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol | httpx2.InvalidURL
    ):
        return UnreachableError(text)
    if isinstance(error, httpx2.TimeoutException):
        return BrokenError("overdue", "nothing more came in time")
    if isinstance(error, httpx2.NetworkError):
        return BrokenError("reset", text)
    # h11 and httpcore have one exception for both; these two words are in every message about an early end.
    early = "closed connection" in text or "disconnected" in text
    return BrokenError("closed" if early else "protocol", text)
