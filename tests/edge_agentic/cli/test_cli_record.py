"""`traces record` as a user runs it: a process that Ctrl-C or a kill ends."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bfcl_gate.model.scripted_server import Said, ScriptedServer
from edge_agentic.cli import main
from edge_agentic.cli.record import is_this_machine, parse_listen

KEY = "sk-" + "k3y" * 20


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda body: Said(text=f"Said to {len(body['messages'])}.")) as running:
        yield running


@contextmanager
def recorder(*arguments: object) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start the command on a free port; gives the process and the base URL it names."""
    command = [sys.executable, "-m", "edge_agentic", "traces", "record", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"Make (http://127\.0\.0\.1:\d+\S*) the base URL", line)
            assert found, line + process.stderr.read()
            yield process, found[1]
        finally:
            process.kill()


def ask(url: str, *texts: str) -> None:
    """Put a conversation's user texts one after the other."""
    messages: list[Any] = []
    with httpx2.Client(trust_env=False, timeout=20, headers={"Authorization": f"Bearer {KEY}"}) as client:
        for text in texts:
            messages.append({"role": "user", "content": text})
            answer = client.post(f"{url}/chat/completions", json={"model": "m", "messages": messages}).json()
            messages.append(answer["choices"][0]["message"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_recording_and_writes_the_trace(
    tmp_path: Path, server: ScriptedServer, number: signal.Signals
) -> None:
    output = tmp_path / "live.jsonl"
    with recorder("--upstream", f"{server.url}/v1", "--output", output) as (process, url):
        assert url.endswith("/v1")
        ask(url, "hello", "go on \x1b[31m")
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.startswith(f"{output}: recorded from {server.url}/v1 (recording)\n")
    assert "trajectories 1; turns 2;" in out
    assert KEY not in out + err
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert rows[0]["recorder"] == "edge-agentic traces record"
    assert rows[3]["content"] == "go on \x1b[31m"
    assert [path.name for path in tmp_path.iterdir()] == ["live.jsonl"]


def test_a_kill_loses_nothing_that_was_answered(tmp_path: Path, server: ScriptedServer) -> None:
    output = tmp_path / "live.jsonl"
    journal = tmp_path / "live.jsonl.journal"
    arguments = ("--upstream", server.url, "--output", output, "--report-format", "json")
    with recorder(*arguments) as (process, url):
        ask(url, "one", "two")
        while journal.read_text(encoding="utf-8").count('"exchange"') < 2:
            pass
        process.kill()
    assert KEY not in journal.read_text(encoding="utf-8")
    with recorder(*arguments, "--resume") as (process, url):
        ask(url, "another")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert json.loads(out)["counts"] == {"trajectories": 2, "turns": 3, "tool_calls": 0, "tool_results": 0}


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> object:
    monkeypatch.setattr(sys, "argv", ["edge-agentic", "traces", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--upstream", "127.0.0.1:1"), 2, "is no address of a server"),
        (
            ("--upstream", "http://127.0.0.1:9"),
            3,
            "cannot be reached (Connection refused). Start the server first",
        ),
        (("--upstream", "http://127.0.0.1:9", "--listen", "8100x"), 2, "expected HOST:PORT"),
        (
            ("--upstream", "http://127.0.0.1:9", "--listen", "0.0.0.0:1"),
            2,
            "say --allow-network if that is meant",
        ),
        (("--upstream", "http://127.0.0.1:9", "--max-delay", "-1"), 2, "--max-delay is -1"),
        (("--upstream", "http://127.0.0.1:9", "--report-format", "xml"), 2, "expected text or json"),
    ],
)
def test_bad_options_are_said_in_one_paragraph(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    assert call(monkeypatch, "record", "--output", tmp_path / "x.jsonl", *arguments) == code
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_listening_for_other_machines_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--upstream", "http://127.0.0.1:9", "--listen", "0.0.0.0:0", "--allow-network")
    assert call(monkeypatch, "record", "--output", tmp_path / "x.jsonl", *options) == 3
    assert "Warning: everyone who reaches 0.0.0.0 can use the server behind it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "address", "local"),
    [
        ("127.0.0.1:8100", ("127.0.0.1", 8100), True),
        ("localhost:0", ("localhost", 0), True),
        (":8100", ("127.0.0.1", 8100), True),
        ("[::1]:8100", ("::1", 8100), True),
        ("0.0.0.0:8100", ("0.0.0.0", 8100), False),
        ("[::]:8100", ("::", 8100), False),
        ("device.local:8100", ("device.local", 8100), False),
    ],
)
def test_where_to_listen(given: str, address: tuple[str, int], local: bool) -> None:
    assert parse_listen(given) == address
    assert is_this_machine(address[0]) == local
