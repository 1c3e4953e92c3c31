"""`edge-agentic doctor` as a user runs it: this machine, or a server."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_gguf import write_gguf

from bfcl_gate.model.scripted_server import ScriptedServer
from edge_agentic.cli import doctor as command
from edge_agentic.cli import main
from edge_agentic.cli.serve import script_of

Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call `edge-agentic doctor` and return (exit code, stdout, stderr); no second is waited for."""
    monkeypatch.setattr(sys.modules[command.__module__], "_LOOK_S", 0.0)

    def call(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["edge-agentic", "doctor", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return call


def test_a_machine_that_can_run_the_model_is_told_so(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("--model", write_gguf(tmp_path / "tiny.gguf"), "--threads", 1)
    assert code == 0
    assert out.startswith("This machine\n")
    for name in ("machine", "engine", "offload", "template", "context", "memory_fit", "threads", "disk"):
        assert f"  ok       {name}" in out
    assert "llama-cpp-python" in out


def test_a_context_too_small_for_the_traces_exits_1(run: Run, tmp_path: Path) -> None:
    model = write_gguf(tmp_path / "tiny.gguf")
    code, out, _ = run("--model", model, "--ctx", 512, "--format", "json")
    found = {row["name"]: row for row in json.loads(out)}
    assert code == 1
    assert (found["context"]["level"], found["context"]["passed"]) == ("INVALID", False)


def test_a_model_that_does_not_load_exits_1_with_its_reason(run: Run, tmp_path: Path) -> None:
    model = write_gguf(tmp_path / "tiny.gguf", template=None)
    code, out, _ = run("--model", model)
    assert code == 1
    assert "INVALID  engine" in out
    assert "no chat template" in " ".join(out.split())


def test_a_model_that_is_not_here_is_not_fetched(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGE_AGENTIC_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    code, out, _ = run("--model", "qwen2.5-coder-1.5b")
    assert code == 0
    assert "WARN     model" in out
    assert "models pull qwen2.5-coder-1.5b" in " ".join(out.split())
    assert not list(tmp_path.rglob("*.gguf"))


def test_a_server_is_looked_at_and_its_table_is_the_result(run: Run) -> None:
    with ScriptedServer(script_of({}), quirks=["no-cache"], slots=2) as server:
        code, out, _ = run("--endpoint", server.url, "--concurrency", 4)
    assert code == 0
    assert out.startswith("Server\n")
    assert "WARN     cache" in out
    assert "2 requests at once; the run makes 4" in out


def test_a_server_that_cannot_be_measured_exits_1_and_one_that_is_gone_3(run: Run) -> None:
    with ScriptedServer(script_of({}), quirks=["rejects-no-content"]) as server:
        assert run("--endpoint", server.url)[0] == 1
    with ScriptedServer(script_of({}), ctx=1_000) as server:
        code, out, _ = run("--endpoint", server.url)
    assert code == 1
    assert "INVALID  context" in out
    code, _, err = run("--endpoint", "http://127.0.0.1:9")
    assert code == 3
    assert "cannot be reached" in err


@pytest.mark.parametrize(
    "arguments", [("--format", "xml"), ("--traces", "nowhere"), ("--model", "nobody"), ("--kv-type", "q9")]
)
def test_bad_input_exits_2(run: Run, arguments: tuple[str, str]) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert err.startswith("Error: ")
