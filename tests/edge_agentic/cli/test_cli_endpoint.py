"""`run --endpoint` and `serve-scripted` as a user runs them."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bfcl_gate.cli import main as gate_main
from bfcl_gate.model.scripted_server import FAULTS, Received, ScriptedServer
from edge_agentic.cli import main
from edge_agentic.cli.serve import recorded_answers, script_of

Run = Callable[..., tuple[object, str, str]]
Serve = Callable[..., ScriptedServer]
ANY_LINE = ("--min-overall", "0", "--min-normalized", "0")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call `edge-agentic`, or with `command` another one, and return (exit code, stdout, stderr)."""

    def call(*arguments: object, command: Callable[[], None] = main) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            command()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return call


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server that says what the smoke trace recorded, and calls the first tool otherwise."""
    with ExitStack() as servers:
        script = script_of(recorded_answers(["smoke"]))
        yield lambda **options: servers.enter_context(ScriptedServer(script, **options))


class AtTurn:
    """Says when the turn with this number (from 0, over the whole run) is asked; other requests have no session."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, received: Received) -> bool:
        self._left -= "x-session-id" in received.headers
        return self._left == -1 and "x-session-id" in received.headers


def turns(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "turns.jsonl").read_text().splitlines()]
    return [row for row in rows if "turn" in row]


def test_a_run_at_an_endpoint_is_valid_and_keeps_neither_address_nor_key(
    run: Run, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bfcl: Path
) -> None:
    monkeypatch.setenv("DEVICE_KEY", "sk-secret-key")
    server = serve(api_key="sk-secret-key")
    folder = tmp_path / "run"
    code, out, err = run(
        "run",
        "--endpoint",
        server.url,
        "--api-key-env",
        "DEVICE_KEY",
        "--concurrency",
        2,
        "--limit",
        3,
        "--output",
        folder,
        *ANY_LINE,
    )
    assert code == 0
    assert out.startswith("VALID.")
    assert "scripted, identity stated" in out
    manifest = json.loads((folder / "run.json").read_text())
    assert "Server preflight" in err
    assert [row["name"] for row in manifest["preflight"]][:4] == ["reachable", "model", "context", "slots"]
    assert "Server, as found before the run" in out
    assert manifest["planned"]["largest_prompt_tokens"] > 0
    assert manifest["model"] == {"name": "scripted", "identity": "stated"}
    assert manifest["engine"]["kind"] == "endpoint"
    assert manifest["options"]["endpoint"] is True
    assert manifest["identity"]["concurrency"] == 2
    assert (manifest["options"]["kv_type"], manifest["options"]["gpu_layers"]) == (None, None)
    assert {row["decode"] for row in turns(folder)} == {"natural"}
    written = "".join(path.read_text() for path in folder.iterdir())
    port = server.url.rpartition(":")[2]
    assert [
        secret for secret in ("sk-secret-key", "127.0.0.1", f":{port}", "DEVICE_KEY") if secret in written
    ] == []
    assert "sk-secret-key" not in out + err


def test_a_failed_turn_makes_the_run_invalid_and_is_shown_without_control_characters(
    run: Run, serve: Serve, tmp_path: Path, bfcl: Path
) -> None:
    folder = tmp_path / "run"
    second = AtTurn(1)
    server = serve(fault=lambda received: "status-500" if second(received) else None)
    code, out, err = run("run", "--endpoint", server.url, "--limit", 4, "--output", folder, *ANY_LINE)
    assert code == 1
    assert out.startswith("INVALID")
    assert "http_500: the server answered 500 Internal Server Error" in out
    assert "\x1b" not in out + err
    assert re.search(r"INVALID from here on: turn \d+ of \S+: http_500", err)
    assert [row["error"] is None for row in turns(folder)] == [True, False, False, False]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_at_another_address_of_the_same_server(
    run: Run, serve: Serve, tmp_path: Path, bfcl: Path, end: signal.Signals
) -> None:
    folder, third = tmp_path / "run", AtTurn(2)

    def interrupt(received: Received) -> None:
        if third(received):
            os.kill(os.getpid(), end)

    first = serve(note=interrupt, pause_s=0.01)
    options = ("--limit", 4, "--output", folder, *ANY_LINE)
    code, _, err = run("run", "--endpoint", first.url, *options)
    assert code == 130
    assert f"continue with the same options, --output {folder} and --resume" in err
    kept = turns(folder)
    assert len(kept) == 2
    code, out, _ = run("run", "--endpoint", serve().url, *options, "--resume")
    assert code == 0
    assert out.startswith("VALID.")
    assert turns(folder)[:2] == kept
    assert len(turns(folder)) == 4


def test_a_run_that_is_refused_leaves_no_folder(run: Run, tmp_path: Path, bfcl: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    for output, told in (
        (tmp_path / "mine", "is a file; expected a folder"),
        (tmp_path / "new", "--endpoint"),
    ):
        code, _, err = run("run", "--endpoint", "http://127.0.0.1:9", "--model", "m", "--output", output)
        assert code == (2 if output.is_file() else 3)
        assert told in err or output.name == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("result.json", {"valid": "yes"}, "result.json: field $.valid"),
        ("result.json", {"performance": {}}, "result.json: field $.performance"),
        ("run.json", {"planned": {"turns": "two"}}, "run.json: field $.planned.turns"),
    ],
)
def test_a_finished_run_that_was_altered_is_not_shown_again(
    run: Run, serve: Serve, tmp_path: Path, bfcl: Path, name: str, change: dict[str, Any], told: str
) -> None:
    folder, url = tmp_path / "run", serve().url
    options = ("--endpoint", url, "--limit", 2, "--output", folder, *ANY_LINE)
    assert run("run", *options)[0] == 0
    assert run("run", *options, "--resume")[1].startswith("VALID.")
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    code, out, err = run("run", *options, "--resume")
    assert (code, out) == (2, "")
    assert told in err


def test_a_folder_of_a_gate_or_of_a_sweep_takes_no_other_run(
    run: Run, serve: Serve, tmp_path: Path, bfcl: Path
) -> None:
    options = ("--endpoint", serve().url, "--limit", 2, "--output", tmp_path, *ANY_LINE)
    (tmp_path / "run.json").write_text('{"gate_id": "1"}')
    code, _, err = run("run", *options, "--resume")
    assert (code, "holds a run of bfcl-gate run" in err) == (2, True)
    (tmp_path / "run.json").unlink()
    (tmp_path / "sweep.json").write_text("{}")
    code, _, err = run("run", *options)
    assert (code, "holds a sweep" in err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.json"]


def test_another_server_does_not_continue_the_run(run: Run, serve: Serve, tmp_path: Path, bfcl: Path) -> None:
    folder = tmp_path / "run"
    options = ("--limit", 2, "--output", folder, *ANY_LINE)
    run("run", "--endpoint", serve().url, *options)
    (folder / "result.json").unlink()
    code, _, err = run("run", "--endpoint", serve(model="other").url, *options, "--resume")
    assert code == 2
    assert "engine_id: " in err
    assert "--resume cannot continue it" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--decode", "forced"), "--decode forced: an endpoint"),
        (("--ctx", "4096"), "--ctx: an endpoint cannot be told this"),
        (("--threads", "2", "--kv-type", "q8_0"), "--threads, --kv-type: an endpoint"),
        (("--model", "nobody"), "--model nobody: "),
        (("--parallel", "4", "--share-prefix"), "--parallel, --share-prefix: belongs to a local model"),
        (("--api-key-env", "NO_SUCH_VARIABLE"), "--api-key-env NO_SUCH_VARIABLE"),
        (("--profile", "mlperf-v6.1", "--template-arg", "a=1"), "--template-arg: the profile"),
        (("--profile", "mlperf-v6.1", "--request-timeout", "9"), "--request-timeout: the profile"),
    ],
)
def test_what_an_endpoint_cannot_do_is_refused(
    run: Run, serve: Serve, tmp_path: Path, bfcl: Path, arguments: tuple[str, ...], told: str
) -> None:
    code, out, err = run("run", "--endpoint", serve().url, "--output", tmp_path / "run", *arguments)
    assert (code, out) == (2, "")
    assert told in err


@pytest.mark.parametrize("arguments", [("--api-key-env", "KEY"), ("--request-timeout", "5")])
def test_options_of_an_endpoint_are_refused_without_one(run: Run, arguments: tuple[str, str]) -> None:
    code, out, err = run("run", *arguments)
    assert (code, out) == (2, "")
    assert f"{arguments[0]}: belongs to --endpoint" in err


def test_mlperf_refuses_a_server_that_states_another_context(
    run: Run, serve: Serve, tmp_path: Path, shared: Path, bfcl: Path
) -> None:
    trace = shared / "data/agentic_coding_2.5h.jsonl"
    server = serve(ctx=8_192)
    code, out, err = run(
        "run",
        "--profile",
        "mlperf-v6.1",
        "--traces",
        trace,
        "--endpoint",
        server.url,
        "--output",
        tmp_path / "run",
    )
    assert (code, out) == (2, "")
    assert "states a context of 8192 tokens" in err


@pytest.mark.parametrize("command", [main, gate_main])
def test_a_server_that_is_not_there_exits_3(run: Run, command: Callable[[], None], bfcl: Path) -> None:
    code, out, err = run("run", "--endpoint", "http://127.0.0.1:9", command=command)
    assert (code, out) == (3, "")
    assert "127.0.0.1:9 cannot be reached" in err


def test_a_server_that_fails_all_five_questions_reaches_no_verdict(
    run: Run, serve: Serve, tmp_path: Path, bfcl: Path
) -> None:
    server = serve(fault=lambda received: "status-503")
    code, _, err = run("run", "--endpoint", server.url, "--output", tmp_path / "run")
    assert code == 3
    assert "http_503" in err


def test_the_gate_alone_asks_an_endpoint(run: Run, serve: Serve, tmp_path: Path, bfcl: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("irrelevance_0\nsimple_python_0\n")
    folder = tmp_path / "gate"
    code, out, _ = run(
        "run", "--endpoint", serve().url, "--sample", ids, "--output", folder, *ANY_LINE, command=gate_main
    )
    assert code == 0
    assert "PASSED" in out
    assert json.loads((folder / "run.json").read_text())["model"] == {
        "name": "scripted",
        "identity": "stated",
    }


def test_a_gate_of_many_at_once_has_the_verdict_of_one_at_a_time(
    run: Run, serve: Serve, tmp_path: Path, bfcl: Path
) -> None:
    verdicts = []
    for concurrency in (1, 8):
        folder = tmp_path / str(concurrency)
        options = ("--sample", "quick", "--output", folder, "--concurrency", concurrency)
        run("run", "--endpoint", serve().url, *options, command=gate_main)
        verdicts.append(json.loads((folder / "result.json").read_text())["gate"])
    assert verdicts[0] == verdicts[1]
    assert verdicts[0]["samples"] == 120


@pytest.mark.parametrize("command", [main, gate_main])
def test_many_at_once_need_an_endpoint(run: Run, command: Callable[[], None]) -> None:
    code, out, err = run("run", "--concurrency", 2, command=command)
    assert (code, out) == (2, "")
    assert "--concurrency 2: the local engine" in err


def test_serve_scripted_lists_its_faults_and_refuses_others(run: Run) -> None:
    code, out, _ = run("serve-scripted", "--fault", "list")
    assert (code, out.split()) == (0, list(FAULTS))
    code, _, err = run("serve-scripted", "--fault", "nothing")
    assert code == 2
    assert "--fault 'nothing' is unknown" in err


def test_serve_scripted_sends_no_answer_that_a_server_could_not(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "simple_python_0", "message": {"content": null, "tool_calls": 5}}\n')
    code, _, err = run("serve-scripted", "--answers", path, "--port", 0)
    assert code == 2
    assert err.startswith(f"Error: {path}:1: message.tool_calls is 5; expected a list of")


def test_serve_scripted_says_where_it_listens_and_ends_on_interrupt(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: ScriptedServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ScriptedServer, "wait", interrupted)
    code, _, err = run("serve-scripted", "--port", 0)
    assert code == 130
    assert "Serving scripted answers at http://127.0.0.1:" in err


def test_serve_scripted_at_a_port_in_use_says_so(run: Run, serve: Serve) -> None:
    port = serve().url.rpartition(":")[2]
    code, _, err = run("serve-scripted", "--port", port)
    assert code == 3
    assert f"--port {port}: cannot be listened on" in err
