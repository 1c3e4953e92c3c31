"""What a command does where a stream is closed, narrow or full, and where the system refuses a path."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("module", ["edge_agentic", "bfcl_gate"])
def test_a_full_output_is_one_sentence_and_exit_3(module: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", module, "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr.startswith("Error: The output cannot be written (")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="closes streams in the way of a POSIX shell")
@pytest.mark.parametrize("module", ["edge_agentic", "bfcl_gate"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_reason_to_fail(module: str, closed: str) -> None:
    shell = f'exec "$0" -m {module} --version {closed}'
    done = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("edge-agentic " if module == "edge_agentic" else "bfcl-gate ") != (
        ">&-" in closed.split()
    )


@pytest.mark.skipif(os.name == "nt", reason="closes streams in the way of a POSIX shell")
def test_what_is_printed_with_stdout_closed_gets_into_no_file(tmp_path: Path) -> None:
    shell = 'exec "$0" -m edge_agentic traces export smoke --output "$1" >&-'
    subprocess.run(["sh", "-c", shell, sys.executable, str(tmp_path / "t.jsonl")], check=True)
    assert (tmp_path / "t.jsonl").read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("module", ["edge_agentic", "bfcl_gate"])
def test_what_an_encoding_lacks_is_written_as_its_escape(module: str, tmp_path: Path) -> None:
    name = tmp_path / "café"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = ["traces", "export", "smoke", "--output", str(name)]
    if module == "bfcl_gate":
        command = ["score", str(name)]
    done = subprocess.run(
        [sys.executable, "-m", module, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if module == "edge_agentic" else 2)
    assert "caf\\xe9" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


LONG = "x" * 5_000


@pytest.mark.parametrize(
    "command",
    [
        "edge_agentic report {}",
        "edge_agentic compare {} {}",
        "edge_agentic export-mlperf {} out --submitter a --system b",
        "edge_agentic traces validate {}",
        "edge_agentic traces export smoke --output {}",
        "edge_agentic traces import {} --output t.jsonl",
        "edge_agentic models info ./{}",
        "bfcl_gate score {}",
        "bfcl_gate score . --output {}",
        "bfcl_gate compare {} {}",
        "bfcl_gate export {} out",
    ],
)
def test_a_path_that_the_system_refuses_is_bad_input(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    module, *arguments = command.replace("{}", LONG).split()
    monkeypatch.setattr("sys.argv", [module, *arguments])
    with pytest.raises(SystemExit) as stop:
        import_module(f"{module}.cli").main()
    err = capsys.readouterr().err
    assert (stop.value.code, list(tmp_path.iterdir())) == (2, [])
    assert err.startswith("Error: ")
    assert "output cannot be written" not in err
    assert len(err) < 6_000
