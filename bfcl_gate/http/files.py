"""Files over HTTPS, with timeouts, resumption and one clear paragraph for every failure."""

import ipaddress
import shutil
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING

from bfcl_gate.errors import SourceError

if TYPE_CHECKING:
    import httpx2

Report = Callable[[int, int | None], None]
"""Called with (bytes done, bytes in total or None)."""

_CONNECT_S = 4.0  # for each address of a host: out of reach has to show before it looks like a hang
_READ_S = 15.0
_CONNECTIONS = 5


def download(url: str, part: Path, *, size_bytes: int | None, report: Report | None = None) -> None:
    """Fetch `url` into the file `part`, continuing after the bytes that it already holds.

    Only HTTPS is spoken, after redirects too (plain HTTP from this machine to itself apart). A broken
    connection is taken up again as long as each brings new bytes. What arrives is not verified here: compare
    its hash. Raises SourceError when the source fails, OSError when the disk does.
    """
    import httpx2

    if size_bytes is not None and _size(part) == size_bytes:
        return
    with _open_client(url) as client:
        for _ in range(_CONNECTIONS):
            before = _size(part)
            try:
                _continue(client, url, part, size_bytes, report)
                return
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                if not isinstance(error, httpx2.TransportError) or _size(part) <= before:
                    raise SourceError(_network_problem(url, error)) from error
    raise SourceError(
        f"{_host(url)} broke the connection {_CONNECTIONS} times; what arrived is kept for later."
    )


def require_space(folder: Path, needed_bytes: int) -> None:
    """Raise OSError (ENOSPC) when the file system of `folder` has less than that free."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise OSError(ENOSPC, f"{needed_bytes:,} bytes are needed, {free:,} are free")


def _open_client(url: str) -> "httpx2.Client":
    """Return a client that honours the proxy and certificate settings of the environment."""
    import httpx2

    def refuse_plain_http(request: httpx2.Request) -> None:
        to_itself = _is_loopback(request.url.host) and _is_loopback(httpx2.URL(url).host)
        if request.url.scheme != "https" and not to_itself:
            target = f"{request.url.scheme}://{request.url.host}"
            raise SourceError(f"{_host(url)} leads to {target}; only https is accepted.")

    try:
        return httpx2.Client(
            timeout=httpx2.Timeout(_READ_S, connect=_CONNECT_S),
            follow_redirects=True,
            max_redirects=10,
            event_hooks={"request": [refuse_plain_http]},
            headers={"User-Agent": "edge-agentic", "Accept-Encoding": "identity"},
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise SourceError(
            f"the proxy or certificate settings of the environment cannot be used ({error}); look at "
            "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR."
        ) from error


def _continue(
    client: "httpx2.Client", url: str, part: Path, size_bytes: int | None, report: Report | None
) -> None:
    """Make one request and append its body; from nothing where the server cannot go on from here."""
    have = _size(part)
    with client.stream("GET", url, headers={"Range": f"bytes={have}-"} if have else {}) as response:
        if response.status_code != 416 or not have:
            start, total = _accept(response, have, size_bytes)
            _append(response, part, start, total, report)
            return
        if size_bytes is None and response.headers.get("Content-Range") == f"bytes */{have}":
            return
    part.unlink()
    _continue(client, url, part, size_bytes, report)


def _accept(response: "httpx2.Response", have: int, size_bytes: int | None) -> tuple[int, int]:
    """Return (offset of the body in the file, size of the whole file) or raise SourceError."""
    host, status = response.request.url.host, response.status_code
    if status not in (200, 206):
        raise SourceError(f"{host} answered {status} {response.reason_phrase}.")
    if "text/html" in response.headers.get("Content-Type", ""):
        raise SourceError(
            f"{host} sent a web page instead of the file; perhaps this network asks for a login first."
        )
    start, total = 0, response.headers.get("Content-Length", "")
    if status == 206:
        start = have
        span, _, total = response.headers.get("Content-Range", "").partition("/")
        if not span.startswith(f"bytes {have}-"):
            raise SourceError(f"{host} sent another part of the file than the one asked for.")
    if not (total.isascii() and total.isdigit()):
        raise SourceError(f"{host} does not say how large the file is.")
    if size_bytes is not None and int(total) != size_bytes:
        raise SourceError(f"{host} offers a file of {int(total):,} bytes where {size_bytes:,} are expected.")
    return start, int(total)


def _append(response: "httpx2.Response", part: Path, start: int, total: int, report: Report | None) -> None:
    """Write the body from `start` on; what went wrong on the way leaves the bytes that did arrive."""
    import httpx2

    require_space(part.parent, total - start)
    done = start
    with part.open("ab" if start else "wb") as file:
        for chunk in response.iter_raw():  # as received: a chunk size would hold back what a break then loses
            done += len(chunk)
            if done > total:
                raise SourceError(
                    f"{response.request.url.host} sent more than the {total:,} bytes it announced."
                )
            file.write(chunk)
            if report is not None:
                report(done, total)
    if done < total:
        raise httpx2.RemoteProtocolError(f"the body ended after {done:,} of {total:,} bytes")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _host(url: str) -> str:
    return url.split("/")[2]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _network_problem(url: str, error: Exception) -> str:
    from urllib.request import getproxies

    import httpx2

    unreached = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
    what = "cannot be reached" if unreached else "did not deliver the file"
    proxy = " through the proxy this environment names" if getproxies() else ""
    return f"{_host(url)} {what}{proxy} ({str(error) or type(error).__name__})."
