"""Downloads against a server on this machine that misbehaves in every way a test names."""

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bfcl_gate.errors import SourceError
from bfcl_gate.http import download, require_space

BODY = bytes(range(256)) * 8  # 2,048 bytes


@dataclass
class Server:
    """A running server: its address, the Range header of every request, and how many bytes a body may have."""

    url: str
    ranges: list[str | None] = field(default_factory=list)
    cut_after: int = len(BODY)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Server

    def do_GET(self) -> None:
        self.state.ranges.append(self.headers["Range"])
        getattr(self, f"send_{self.path.strip('/')}")()

    def log_message(self, *arguments: object) -> None:
        """Keep the test's output clean."""

    def reply(self, status: int, headers: dict[str, object], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            if value is not None:
                self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def asked_from(self) -> int:
        found = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        return int(found[1]) if found else 0

    def send_file(self) -> None:
        start = self.asked_from()
        if start >= len(BODY):
            self.reply(416, {"Content-Range": f"bytes */{len(BODY)}"})
        elif start:
            span = f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"
            self.reply(206, {"Content-Range": span}, BODY[start:])
        else:
            self.reply(200, {"Content-Type": "application/octet-stream"}, BODY)

    def send_whole(self) -> None:
        self.reply(200, {}, BODY)

    def send_cut(self) -> None:
        """Honour the range, but close the connection after a few bytes."""
        start = self.asked_from()
        headers = {"Content-Length": len(BODY) - start, "Content-Range": f"bytes {start}-2047/2048"}
        self.reply(206 if start else 200, headers, BODY[start : start + self.state.cut_after])
        self.close_connection = True

    def send_page(self) -> None:
        self.reply(200, {"Content-Type": "text/html; charset=utf-8"}, b"<html>log in</html>")

    def send_elsewhere(self) -> None:
        self.reply(206, {"Content-Range": "bytes 0-2047/2048"}, BODY)

    def send_endless(self) -> None:
        self.reply(200, {"Content-Length": None, "Connection": "close"}, BODY)

    def send_moved(self) -> None:
        self.reply(302, {"Location": "/file"})

    def send_outside(self) -> None:
        self.reply(302, {"Location": "http://example.invalid/file"})

    def send_loop(self) -> None:
        self.reply(302, {"Location": "/loop"})

    def send_gone(self) -> None:
        self.reply(404, {})

    def send_busy(self) -> None:
        self.reply(503, {})


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, *arguments: object) -> None:
        """A client that leaves early is part of these tests."""


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    httpd = QuietServer(("127.0.0.1", 0), Handler)
    state = Server(url=f"http://127.0.0.1:{httpd.server_port}")
    httpd.RequestHandlerClass.state = state  # type: ignore[attr-defined]
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "file.part"


def test_a_file_arrives_whole_and_progress_ends_at_its_size(server: Server, part: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    download(
        f"{server.url}/file", part, size_bytes=2048, report=lambda done, total: seen.append((done, total))
    )
    assert part.read_bytes() == BODY
    assert seen[-1] == (2048, 2048)


def test_a_part_is_continued_where_it_ends(server: Server, part: Path) -> None:
    part.write_bytes(BODY[:500])
    download(f"{server.url}/file", part, size_bytes=2048)
    assert part.read_bytes() == BODY
    assert server.ranges == ["bytes=500-"]


def test_a_server_without_ranges_makes_it_start_again(server: Server, part: Path) -> None:
    part.write_bytes(b"x" * 500)
    download(f"{server.url}/whole", part, size_bytes=2048)
    assert part.read_bytes() == BODY


def test_a_complete_part_needs_no_server(part: Path) -> None:
    part.write_bytes(BODY)
    download("https://example.invalid/file", part, size_bytes=2048)
    assert part.read_bytes() == BODY


def test_a_part_longer_than_the_file_is_thrown_away(server: Server, part: Path) -> None:
    part.write_bytes(b"x" * 3000)
    download(f"{server.url}/file", part, size_bytes=2048)
    assert part.read_bytes() == BODY


def test_a_complete_part_of_a_file_of_unknown_size_is_recognised(server: Server, part: Path) -> None:
    part.write_bytes(BODY)
    download(f"{server.url}/file", part, size_bytes=None)
    assert part.read_bytes() == BODY
    assert server.ranges == ["bytes=2048-"]


def test_a_broken_connection_is_taken_up_again(server: Server, part: Path) -> None:
    server.cut_after = 600
    download(f"{server.url}/cut", part, size_bytes=2048)
    assert part.read_bytes() == BODY
    assert server.ranges == [None, "bytes=600-", "bytes=1200-", "bytes=1800-"]


def test_a_connection_that_breaks_too_often_leaves_its_bytes_for_later(server: Server, part: Path) -> None:
    server.cut_after = 10
    with pytest.raises(SourceError, match="broke the connection 5 times; what arrived is kept"):
        download(f"{server.url}/cut", part, size_bytes=2048)
    assert part.read_bytes() == BODY[:50]


def test_a_connection_that_brings_nothing_is_not_tried_again(server: Server, part: Path) -> None:
    server.cut_after = 0
    with pytest.raises(SourceError, match="did not deliver the file"):
        download(f"{server.url}/cut", part, size_bytes=2048)
    assert server.ranges == [None]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("gone", "answered 404 Not Found"),
        ("busy", "answered 503 Service Unavailable"),
        ("page", "sent a web page instead of the file"),
        ("endless", "does not say how large the file is"),
        ("loop", "did not deliver the file.*redirects"),
    ],
)
def test_an_answer_that_is_not_the_file_is_named(server: Server, part: Path, path: str, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        download(f"{server.url}/{path}", part, size_bytes=None)
    assert not part.exists()


def test_another_range_than_the_one_asked_for_is_refused(server: Server, part: Path) -> None:
    part.write_bytes(BODY[:500])
    with pytest.raises(SourceError, match="another part of the file"):
        download(f"{server.url}/elsewhere", part, size_bytes=2048)
    assert part.read_bytes() == BODY[:500]


def test_a_file_of_another_size_is_refused_before_it_is_fetched(server: Server, part: Path) -> None:
    with pytest.raises(SourceError, match="offers a file of 2,048 bytes where 4,096 are expected"):
        download(f"{server.url}/file", part, size_bytes=4096)
    assert not part.exists()


def test_a_redirect_is_followed(server: Server, part: Path) -> None:
    download(f"{server.url}/moved", part, size_bytes=2048)
    assert part.read_bytes() == BODY


def test_a_redirect_to_plain_http_elsewhere_is_refused_unasked(server: Server, part: Path) -> None:
    with pytest.raises(SourceError, match=r"leads to http://example\.invalid; only https is accepted"):
        download(f"{server.url}/outside", part, size_bytes=2048)


def test_plain_http_to_another_machine_is_refused(part: Path) -> None:
    with pytest.raises(SourceError, match="only https is accepted"):
        download("http://example.invalid/file", part, size_bytes=2048)


def test_a_closed_port_says_that_it_cannot_be_reached(part: Path) -> None:
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:1 cannot be reached"):
        download("https://127.0.0.1:1/file", part, size_bytes=2048)


def test_a_dead_proxy_is_named(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with pytest.raises(SourceError, match="cannot be reached through the proxy this environment names"):
        download("https://example.invalid/file", part, size_bytes=2048)


def test_a_proxy_setting_that_is_no_address_is_named(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(SourceError, match="proxy or certificate settings"):
        download("https://example.invalid/file", part, size_bytes=2048)


def test_a_server_that_is_no_https_server_is_an_error_not_a_crash(server: Server, part: Path) -> None:
    with pytest.raises(SourceError, match="cannot be reached"):
        download(f"{server.url.replace('http', 'https')}/file", part, size_bytes=2048)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_the_disk_s_error(server: Server, part: Path) -> None:
    part.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        download(f"{server.url}/file", part, size_bytes=2048)


def test_missing_space_is_found_before_the_first_byte(tmp_path: Path) -> None:
    require_space(tmp_path, 1)
    with pytest.raises(OSError, match="bytes are needed"):
        require_space(tmp_path, 1 << 60)
