"""The server behind a relay: its address, and how requests are re-addressed to it."""

import os
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from bfcl_gate.errors import InputError, SourceError

CONNECT_S = 10.0
READABLE = (b"gzip", b"x-gzip", b"deflate", b"identity")
"""The content codings that can be read back here; of the others a recorded request is made to ask for none."""

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The address of a server; `path` is what its API begins with, without a slash at the end."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return host if self.port == usual else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    def target(self, asked: bytes) -> bytes:
        """Return what to ask for: the same target, or where only its `/v1` names the API, the path it has here."""
        path = self.path.encode()
        if path.endswith(b"/v1") and asked.startswith(b"/v1/") and not asked.startswith(path + b"/"):
            return path + asked[3:]
        return asked

    def headers(self, given: list[Header], *, readable: bool) -> list[Header]:
        """Return the headers as given but for the host; `readable` leaves only codings that can be read back."""
        return [(name, self._value(name.lower(), value, readable)) for name, value in given]

    def _value(self, name: bytes, value: bytes, readable: bool) -> bytes:
        if name == b"host":
            return self.authority.encode()
        if name == b"accept-encoding" and readable:
            kept = [each for each in value.split(b",") if each.partition(b";")[0].strip().lower() in READABLE]
            return b",".join(kept).strip() or b"identity"
        return value

    def tls(self) -> ssl.SSLContext | None:
        """Return how to speak TLS to it, None for plain HTTP."""
        if self.scheme == "http":
            return None
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def require_reachable(self) -> None:
        """Connect once. Raises SourceError with what was tried and why it failed."""
        try:
            with socket.create_connection((self.host, self.port), timeout=CONNECT_S) as plain:
                if context := self.tls():
                    context.wrap_socket(plain, server_hostname=self.host).close()
        except OSError as error:
            raise SourceError(
                f"{self.scheme}://{self.authority}: cannot be reached ({reason(error)}). Start the server first, and "
                "name the address it prints."
            ) from error


def parse_upstream(url: str, option: str = "--upstream") -> Upstream:
    """Return the address that `url` names. Raises InputError where it is none, or holds a user's name."""
    expected = "expected something like http://127.0.0.1:8080/v1"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{option}: this is no address ({error}); {expected}.") from error
    if "@" in parts.netloc:
        raise InputError(
            f"{option} holds a user name or password; leave it out, the agent sends its own key."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{option} {url!r} is no address of a server; {expected}.")
    if parts.query or parts.fragment:
        raise InputError(f"{option} has something behind its path; {expected}.")
    usual = 443 if parts.scheme == "https" else 80
    return Upstream(scheme=parts.scheme, host=parts.hostname, port=port or usual, path=parts.path.rstrip("/"))


def reason(error: BaseException) -> str:
    """Return why a connection failed, in words."""
    if isinstance(error, TimeoutError):
        return f"nothing answered within {CONNECT_S:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.errno:
        return os.strerror(error.errno)  # asyncio's own words hold the address
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
