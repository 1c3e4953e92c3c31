"""The commands `report` and `compare`: output, files and exit codes."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_run import result, turns, write_run

from edge_agentic.cli import main

Command = Callable[..., tuple[int, str, str]]


def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object
) -> tuple[int, str, str]:
    """Run the command as a user would; returns exit code, stdout and stderr."""
    monkeypatch.setattr("sys.argv", ["edge-agentic", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return lambda *arguments: call(capsys, monkeypatch, *arguments)


def test_report_prints_the_verdict_first(command: Command, tmp_path: Path) -> None:
    code, out, err = command("report", write_run(tmp_path))
    assert (code, err) == (0, "")
    assert out.startswith("VALID. ")
    assert "TTFT" in out


def test_report_of_a_failed_gate_succeeds_and_withholds_the_speed(command: Command, tmp_path: Path) -> None:
    folder = write_run(tmp_path, passed=False)
    code, out, _ = command("report", folder)
    assert code == 0
    assert out.startswith("GATE FAILED. ")
    assert "TTFT" not in out
    _, shown, _ = command("report", folder, "--show-ungated")
    assert "UNGATED    TTFT" in shown


def test_report_as_json_is_the_result(command: Command, tmp_path: Path) -> None:
    code, out, _ = command("report", write_run(tmp_path), "--format", "json")
    assert (code, json.loads(out)) == (0, result())


def test_report_as_csv_has_one_row_a_turn(command: Command, tmp_path: Path) -> None:
    _, out, _ = command("report", write_run(tmp_path), "--format", "csv")
    assert len(list(csv.DictReader(io.StringIO(out)))) == len(turns())


def test_report_as_html_is_printed_and_kept(command: Command, tmp_path: Path) -> None:
    code, out, err = command("report", write_run(tmp_path), "--format", "html")
    assert code == 0
    assert out.startswith("<!doctype html>")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == out
    assert "report.html" in err


def test_a_link_in_the_place_of_the_page_is_not_followed(command: Command, tmp_path: Path) -> None:
    """A run may come from anywhere, and with it a report.html that points at a file of the user."""
    mine = tmp_path / "mine"
    mine.write_text("mine")
    folder = write_run(tmp_path / "run")
    (folder / "report.html").symlink_to(mine)
    assert command("report", folder, "--format", "html")[0] == 0
    assert mine.read_text() == "mine"
    assert not (folder / "report.html").is_symlink()


def test_report_of_an_interrupted_run_is_marked_incomplete(command: Command, tmp_path: Path) -> None:
    code, out, _ = command("report", write_run(tmp_path, finished=False, answered=2))
    assert code == 0
    assert out.startswith("INCOMPLETE. 2 turns and 0 gate samples are kept; ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "xml"], "--format 'xml' is unknown"),
        (["--format", "json", "--show-ungated"], "--show-ungated marks every line"),
        (["--format", "csv", "--show-ungated"], "--show-ungated marks every line"),
    ],
)
def test_report_refuses_what_it_cannot_do(
    command: Command, tmp_path: Path, arguments: list[str], told: str
) -> None:
    code, out, err = command("report", write_run(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert told in err


def test_a_folder_that_is_no_run_is_bad_input(command: Command, tmp_path: Path) -> None:
    code, _, err = command("report", tmp_path)
    assert code == 2
    assert err.startswith("Error: ")
    assert "Traceback" not in err


@pytest.mark.parametrize("text", ["{", "[]", "\x00", '{"schema_version": 1}'])
def test_a_broken_result_is_bad_input(command: Command, tmp_path: Path, text: str) -> None:
    write_run(tmp_path)
    (tmp_path / "result.json").write_text(text)
    code, _, err = command("report", tmp_path)
    assert code == 2
    assert "result.json" in err
    assert "Traceback" not in err


def test_compare_prints_both_and_succeeds(command: Command, tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b", slower=2)
    code, out, _ = command("compare", a, b)
    assert code == 0
    assert out.startswith("B is 14.2 % slower than A")


@pytest.mark.parametrize(("limit", "code"), [("5", 1), ("5%", 1), ("14%", 1), ("15%", 0)])
def test_compare_fails_when_b_is_slower_than_allowed(
    command: Command, tmp_path: Path, limit: str, code: int
) -> None:
    a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b", slower=2)
    assert command("compare", a, b, "--fail-if-slower", limit)[0] == code
    assert command("compare", b, a, "--fail-if-slower", limit)[0] == 0


def test_compare_does_not_pass_an_invalid_run(command: Command, tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b")
    document = result()
    document["valid"] = False
    (b / "result.json").write_text(json.dumps(document))
    code, out, err = command("compare", a, b, "--fail-if-slower", "5")
    assert code == 1
    assert out.startswith("INVALID: run B")
    assert "proves nothing" in err


@pytest.mark.parametrize("limit", ["fast", "-1", "nan", "inf", " "])
def test_compare_refuses_a_limit_that_is_no_percentage(command: Command, tmp_path: Path, limit: str) -> None:
    a = write_run(tmp_path / "a")
    code, _, err = command("compare", a, a, "--fail-if-slower", limit)
    assert code == 2
    assert "expected a percentage" in err


def test_compare_refuses_other_work_and_names_it(command: Command, tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b", model={"name": "tiny", "sha256": "0"})
    code, out, err = command("compare", a, b)
    assert (code, out) == (2, "")
    assert "model: " in err
