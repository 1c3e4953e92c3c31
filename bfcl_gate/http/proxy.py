"""A proxy in front of one server, for the requests of programs on this machine. Runs in a thread of its own."""

import asyncio
import socket
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType

from bfcl_gate.errors import SourceError
from bfcl_gate.http.passed import Passed
from bfcl_gate.http.relay import Relay, Route
from bfcl_gate.http.upstream import Upstream, reason


class Proxy:
    """Passes requests on while the block lasts, then cuts what is under way.

    `wanted` and `note` are those of Route; port 0 takes a free one. Entering raises SourceError where `host` and
    `port` cannot be listened on.
    """

    def __init__(
        self,
        upstream: Upstream,
        *,
        wanted: Callable[[str, str], bool],
        note: Callable[[Passed], None],
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._route = Route(upstream=upstream, tls=upstream.tls(), wanted=wanted, note=note)
        self._address = (host, port)
        self._listening = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), name="proxy", daemon=True)

    @property
    def url(self) -> str:
        """The address to give to a client, without a path."""
        host, port = self._socket.getsockname()[:2]
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def __enter__(self) -> "Proxy":
        host, port = self._address
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server(self._address, family=family, backlog=128)
        except OSError as error:
            raise SourceError(
                f"{host}:{port}: cannot be listened on ({reason(error)}). Choose another address; port 0 takes a "
                "free one."
            ) from error
        self._thread.start()
        self._listening.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await self._loop.create_server(lambda: Relay(self._route), sock=self._socket)
        self._listening.set()
        await self._stopping.wait()
        server.close()
        for relay in tuple(self._route.open):
            relay.stop()
        while self._route.open:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.005)  # the connections to the server close one round of the loop later
