"""Where a server is and how one may speak to it: the URL of --endpoint and the key of --api-key-env."""

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bfcl_gate.errors import InputError
from bfcl_gate.model.endpoint_engine.faults import Discretion

_CHAT = "/chat/completions"
_VERSION = "/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`base` is what `/chat/completions` is added to, `root` where a server tells about itself.

    `place` (host and port) is for people in front of the terminal; it gets into no file.
    """

    base: str
    root: str
    place: str
    key: str | None = field(default=None, repr=False)

    @property
    def chat(self) -> str:
        return self.base + _CHAT

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key}"}

    @property
    def discretion(self) -> Discretion:
        host = self.place.rpartition(":")[0] or self.place
        return Discretion(tuple(secret for secret in (self.key, self.place, host.strip("[]")) if secret))


def address_of(url: str, api_key_env: str | None) -> Address:
    """Read a server's URL: `http://host:port`, or with the path under which `/chat/completions` lies.

    Raises InputError for another kind of URL, for one that holds a password, and for a variable without a key.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _no_address("it is no URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise _no_address("it does not begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise _no_address(
            "it holds a user or a password; put a key into a variable and name it with --api-key-env"
        )
    if parts.query or parts.fragment:
        raise _no_address("it holds a query or a fragment")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise _no_address("it holds characters that no URL has")
    path = parts.path.rstrip("/").removesuffix(_CHAT).rstrip("/")
    site = f"{parts.scheme}://{parts.netloc}"
    return Address(
        base=site + (path or _VERSION),
        root=site + path.removesuffix(_VERSION),
        place=parts.netloc if port else host,
        key=None if api_key_env is None else _key(api_key_env),
    )


def _no_address(why: str) -> InputError:
    return InputError(
        f"--endpoint: {why}; expected the address of an OpenAI-compatible server, for example http://127.0.0.1:8080."
    )


def _key(name: str) -> str:
    key = os.environ.get(name, "").strip()
    if not key:
        raise InputError(f"--api-key-env {name}: this environment variable is not set; put the key into it.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(
            f"--api-key-env {name}: what it holds cannot be a key: it has spaces or odd characters."
        )
    return key
