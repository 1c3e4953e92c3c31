"""`bfcl-gate score` and `bfcl-gate compare` through the command itself: output, files, exit codes."""

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bfcl_gate.cli import main
from bfcl_gate.gate_file import load_gate
from bfcl_gate.samples import quick_ids

pytestmark = pytest.mark.usefixtures("bfcl")

PROSE = {"role": "assistant", "content": "No tool fits.", "tool_calls": None}
CALL = {"type": "function", "function": {"name": "f", "arguments": "{}"}}


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


def responses(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Three of four irrelevance answers are right: they call nothing."""
    rows = [{"id": f"irrelevance_{n}", "message": PROSE} for n in range(3)]
    wrong = {"id": "irrelevance_3", "message": {**PROSE, "tool_calls": [CALL]}}
    return responses(tmp_path / "responses.jsonl", *rows, wrong)


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """Prose to every question of the quick sample."""
    return responses(tmp_path / "quick.jsonl", *({"id": i, "message": PROSE} for i in quick_ids()))


def test_without_a_line_nothing_is_judged_and_the_misses_are_listed(command: Command, stored: Path) -> None:
    code, out, err = command("score", stored)
    assert (code, err) == (0, "")
    assert out.startswith(
        "BFCL gate: NOT JUDGED (partial sample, 4 answers; rules mlperf, tool schemas mlperf,"
    )
    assert "overall 4 75.00% [ 30.1, 95.4] 75.00% [ 30.1, 95.4] normalised 4" in " ".join(out.split())
    assert "Misses\nirrelevance_3" in out


@pytest.mark.parametrize(("least", "code"), [("0.75", 0), ("0.76", 1), ("0", 0), ("1", 1)])
def test_a_minimum_judges_any_set(command: Command, stored: Path, least: str, code: int) -> None:
    assert command("score", stored, "--min-overall", least)[0] == code
    assert command("score", stored, "--min-normalized", least)[0] == code


@pytest.mark.parametrize(
    "arguments",
    [
        ("--min-overall", "75"),
        ("--rules", "mine"),
        ("--tool-schemas", "mine"),
        ("--calls", "mine"),
        ("--reference", "nobody"),
        ("--baseline", "nowhere"),
        ("--no-such-option",),
    ],
)
def test_bad_options_exit_2_without_a_traceback(
    command: Command, stored: Path, arguments: tuple[str, ...]
) -> None:
    code, out, err = command("score", stored, *arguments)
    assert (code, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_an_unknown_id_exits_2_and_names_the_line(command: Command, tmp_path: Path) -> None:
    path = responses(
        tmp_path / "r.jsonl", {"id": "simple_python_0", "message": PROSE}, {"id": "x", "message": PROSE}
    )
    code, _, err = command("score", path)
    assert code == 2
    assert f"{path}:2: field 'id': 'x' is not" in err


def test_the_scored_answers_are_kept_and_can_be_scored_again(
    command: Command, stored: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    code, first, _ = command("score", stored, "--output", folder, "--calls", "native")
    assert code == 0
    assert [answer.correct for answer in load_gate(folder).answers] == [True, True, True, False]
    result = json.loads((folder / "result.json").read_text())
    assert result["gate"]["native"]["overall_accuracy"] == 0.75
    assert result["gate"]["passed"] is None
    again = command("score", folder)
    assert again[1].replace("file sample", "partial sample") == first.replace("file sample", "partial sample")
    assert command("score", stored, "--output", folder)[0] == 2


def test_the_kept_folder_serves_as_a_baseline(command: Command, quick: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    command("score", quick, "--output", folder)
    code, out, _ = command("score", quick, "--baseline", folder, "--summary")
    assert code == 0
    assert out.startswith("PASSED overall=10.83% ")
    assert out.endswith("line=baseline kept\n")
    assert out.count("\n") == 1


def test_a_baseline_of_other_rules_is_refused(command: Command, quick: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    command("score", quick, "--output", folder, "--rules", "official")
    code, _, err = command("score", quick, "--baseline", folder)
    assert code == 2
    assert "not comparable" in err


def test_only_minima_judge_a_set_that_is_no_known_sample(
    command: Command, stored: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    command("score", stored, "--output", folder)
    code, _, err = command("score", stored, "--baseline", folder)
    assert code == 2
    assert "No known sample has just the ids of this set (4 answers)" in err


def test_a_stored_run_is_judged_as_it_was_unless_told_otherwise(
    command: Command, stored: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    command("score", stored, "--output", folder, "--rules", "official", "--calls", "native")
    assert "rules official, tool schemas mlperf, native calls judged" in command("score", folder)[1]
    assert (
        "rules mlperf, tool schemas mlperf, native calls judged"
        in command("score", folder, "--rules", "mlperf")[1]
    )


def test_repeated_ids_are_told_apart_by_case_and_all_count(command: Command, tmp_path: Path) -> None:
    rows = [{"id": "irrelevance_0", "case": n, "message": PROSE} for n in range(3)]
    folder = tmp_path / "kept"
    code, out, _ = command("score", responses(tmp_path / "r.jsonl", *rows), "--output", folder)
    assert code == 0
    assert "3 answers" in out
    assert [answer.case for answer in load_gate(folder).answers] == [0, 1, 2]


def test_many_misses_are_listed_on_request_only(command: Command, quick: Path) -> None:
    assert "Misses" not in command("score", quick)[1]
    assert command("score", quick, "--misses")[1].count("simple_python_") == 30


def test_hostile_answers_cannot_reach_the_terminal(command: Command, tmp_path: Path) -> None:
    message = {**PROSE, "tool_calls": [CALL], "content": "\x1b[2J\x9b31m"}
    path = responses(
        tmp_path / "r.jsonl", {"id": "irrelevance_0", "message": message, "error": "\x1b]0;x\x07"}
    )
    code, out, _ = command("score", path, "--misses")
    assert code == 0
    assert not {"\x1b", "\x9b", "\x07"} & set(out)
    assert "\\x1b" in out


def test_junit_is_written_beside_the_report(command: Command, stored: Path, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    assert command("score", stored, "--min-overall", "0.9", "--junit", path)[0] == 1
    suite = ElementTree.parse(path).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")


def test_compare_lists_what_flipped(command: Command, stored: Path, tmp_path: Path) -> None:
    better = responses(
        tmp_path / "better.jsonl", *({"id": f"irrelevance_{n}", "message": PROSE} for n in range(1, 5))
    )
    for path, name in ((stored, "a"), (better, "b")):
        command("score", path, "--output", tmp_path / name)
    code, out, _ = command("compare", tmp_path / "a", tmp_path / "b")
    assert code == 0
    assert out.startswith(
        "3 shared samples (rules mlperf, tool schemas mlperf); only in the first 1, only in the"
    )
    assert out.count("gained 1  irrelevance_3\nlost 0\nMcNemar's exact p = 1\n") == 2


def test_compare_refuses_other_rules_and_disjoint_sets(
    command: Command, stored: Path, tmp_path: Path
) -> None:
    other = responses(tmp_path / "other.jsonl", {"id": "irrelevance_9", "message": PROSE})
    command("score", stored, "--output", tmp_path / "a")
    command("score", stored, "--output", tmp_path / "official", "--rules", "official")
    command("score", other, "--output", tmp_path / "other")
    assert "not comparable" in command("compare", tmp_path / "a", tmp_path / "official")[2]
    assert "share no sample" in command("compare", tmp_path / "a", tmp_path / "other")[2]
    assert command("compare", tmp_path / "a", tmp_path / "nowhere")[0] == 2


@pytest.mark.parametrize("options", [("--output",), ("--baseline",)])
def test_a_file_in_the_place_of_a_folder_exits_2(command: Command, stored: Path, options: tuple[str]) -> None:
    code, out, err = command("score", stored, *options, stored)
    assert (code, out) == (2, "")
    assert str(stored) in err


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x1f\x8b\x08", b"{", b""])
def test_an_unreadable_file_is_one_paragraph_in_plain_words(
    command: Command, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "given.jsonl"
    path.write_bytes(content)
    for arguments in (("score", path), ("export", path, tmp_path / "out")):
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"Error: {path}")
        assert err.count("\n") == 1
        assert not any(word in err for word in ("codec", "Errno", "Traceback", "char "))
    assert not (tmp_path / "out").exists()


def test_a_partial_set_stays_partial_when_its_folder_is_scored(
    command: Command, stored: Path, tmp_path: Path
) -> None:
    command("score", stored, "--output", tmp_path / "kept")
    assert "sample=partial samples=4/4 partial=yes" in command("score", tmp_path / "kept", "--summary")[1]
    assert command("score", tmp_path / "kept", "--baseline", tmp_path / "kept")[0] == 2


def test_the_example_of_the_guide_gives_what_the_guide_says(command: Command, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "gate.md").read_text(encoding="utf-8")
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(f"{line}\n" for line in guide.splitlines() if line.startswith('{"id": ')))
    code, out, _ = command("score", path, "--min-overall", "0.9", "--summary")
    assert code == 0
    assert out.strip() in " ".join(guide.split())
