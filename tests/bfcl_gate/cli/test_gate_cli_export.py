"""`bfcl-gate export`, and `bfcl-gate score` on what it wrote, through the command itself."""

import json
import sys
from pathlib import Path

import pytest

from bfcl_gate.cli import main

pytestmark = pytest.mark.usefixtures("bfcl")


class Command:
    """Runs `bfcl-gate` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["bfcl-gate", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = self._capsys.readouterr()
        return int(left.value.code or 0), out, err


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Prose, once right and once wrong."""
    message = {"role": "assistant", "content": "No tool fits.", "tool_calls": None}
    path = tmp_path / "responses.jsonl"
    rows = [{"id": sample_id, "message": message} for sample_id in ("irrelevance_0", "simple_python_0")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_exported_answers_are_scored_like_those_they_were_made_of(
    command: Command, stored: Path, tmp_path: Path
) -> None:
    code, out, _ = command("export", stored, tmp_path / "out", "--model-name", "org/model-FC")
    assert code == 0
    assert "Wrote 2 answers, read as lenient calls, to 2 files" in out
    assert "bfcl evaluate --model org/model-FC --test-category single_turn --partial-eval" in out
    home = tmp_path / "out" / "org_model-FC" / "non_live"
    names = sorted(file.name for file in home.iterdir())
    assert names == ["BFCL_v4_irrelevance_result.json", "BFCL_v4_simple_python_result.json"]
    before, after = command("score", stored, "--summary"), command("score", tmp_path / "out", "--summary")
    assert before == after
    assert before[0] == 0


def test_what_the_gate_does_not_judge_is_named_on_stderr(
    command: Command, stored: Path, tmp_path: Path
) -> None:
    command("export", stored, tmp_path / "out")
    (tmp_path / "out" / "BFCL_v4_memory_kv_result.json").write_text("")
    code, _, err = command("score", tmp_path / "out")
    assert code == 0
    assert err == "Left out, not single-turn: memory_kv.\n"


def test_a_second_export_to_the_same_place_is_refused(command: Command, stored: Path, tmp_path: Path) -> None:
    command("export", stored, tmp_path / "out")
    code, out, err = command("export", stored, tmp_path / "out")
    assert (code, out) == (2, "")
    assert "already holds results" in err
