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


def _failing_gate(folder: Path) -> list[str]:
    """Return the arguments that score one wrong answer, below its line, with a JUnit file."""
    (folder / "answers.jsonl").write_text('{"id": "simple_python_0", "message": {"content": "no call"}}\n')
    wanted = ["--min-overall", "0.9", "--junit", str(folder / "junit.xml")]
    return [sys.executable, "-m", "bfcl_gate", "score", str(folder / "answers.jsonl"), *wanted]


def _pipe_that_nobody_reads() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("with_stderr", [False, True])
def test_a_reader_who_leaves_changes_neither_the_work_nor_the_exit_code(
    tmp_path: Path, with_stderr: bool
) -> None:
    pipe = _pipe_that_nobody_reads()
    stderr = subprocess.STDOUT if with_stderr else subprocess.PIPE
    done = subprocess.run(_failing_gate(tmp_path), stdout=pipe, stderr=stderr, check=False)
    os.close(pipe)
    assert (done.returncode, done.stderr) == (1, None if with_stderr else b"")
    assert b'failures="1"' in (tmp_path / "junit.xml").read_bytes()


def test_an_error_keeps_its_exit_code_where_nobody_reads_it() -> None:
    pipe = _pipe_that_nobody_reads()
    command = [sys.executable, "-m", "edge_agentic", "report", "nowhere"]
    done = subprocess.run(command, stdout=pipe, stderr=pipe, check=False)
    os.close(pipe)
    assert done.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_output_keeps_no_result_from_junit(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(_failing_gate(tmp_path), stdout=full, stderr=full, check=False)
    assert done.returncode == 3
    assert b'failures="1"' in (tmp_path / "junit.xml").read_bytes()


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["edge_agentic", "run", "--output", "", "--limit", "1"], "--output"),
        (["edge_agentic", "run", "--output="], "--output"),
        (["edge_agentic", "traces", "validate", ""], "An argument"),
        (["edge_agentic", "models", "info", ""], "An argument"),
        (["bfcl_gate", "run", "--model", ""], "--model"),
        (["bfcl_gate", "score", "", "--min-overall", "0.5"], "An argument"),
    ],
)
def test_an_empty_argument_is_none_that_was_left_out(
    command: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as stop:
        import_module(f"{command[0]}.cli").main()
    assert (stop.value.code, list(tmp_path.iterdir())) == (2, [])
    assert capsys.readouterr().err.startswith(f"Error: {named}: is empty; expected a value.")
