"""A server that says exactly the bytes it is told to, for the tests of the proxy beside this file."""

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from types import TracebackType

Talk = Callable[[socket.socket], None]


class RawServer:
    """Gives each connection to the next of `talks`, the last one to all that follow, and closes it afterwards."""

    def __init__(self, *talks: Talk) -> None:
        self._talks = list(talks)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads: list[Thread] = []
        self.connections = 0

    @property
    def url(self) -> str:
        host, port = self._socket.getsockname()
        return f"http://{host}:{port}"

    def __enter__(self) -> "RawServer":
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            talk = self._talks[min(self.connections, len(self._talks) - 1)]
            self.connections += 1
            thread = Thread(target=self._talk, args=(talk, connection), daemon=True)
            self._threads.append(thread)
            thread.start()

    @staticmethod
    def _talk(talk: Talk, connection: socket.socket) -> None:
        connection.settimeout(10)
        with connection, suppress(ConnectionError):
            talk(connection)


def heard(connection: socket.socket, end: bytes = b"\r\n\r\n") -> bytes:
    """Return what comes up to and with `end`; b"" where the peer closes before."""
    data = b""
    while not data.endswith(end):
        piece = connection.recv(1)
        if not piece:
            return b""
        data += piece
    return data


def everything(connection: socket.socket) -> bytes:
    """Return what comes until the peer closes."""
    data = b""
    while piece := connection.recv(65_536):
        data += piece
    return data


def exactly(connection: socket.socket, size: int) -> bytes:
    """Return that many bytes, fewer only where the peer closes before."""
    data = bytearray()
    while len(data) < size and (piece := connection.recv(min(size - len(data), 65_536))):
        data += piece
    return bytes(data)
