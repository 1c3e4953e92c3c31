"""Reference marks: made from a finished run, written, loaded and refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from gate_fakes import answer

from bfcl_gate.errors import InputError
from bfcl_gate.gate_file import rescored_header
from bfcl_gate.journal import Journal
from bfcl_gate.references import load_references, parse_reference, reference_text
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.run_folder import write_json

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_reference.py"
IDS = ["irrelevance_0", "live_simple_0-0-0", "simple_python_0", "simple_python_1"]


def finished_run(folder: Path, *, answered: int = 4, error: str | None = None) -> Path:
    """A run of four samples: natively the first is right, leniently the first three."""
    answers = [
        answer(sample_id, index < 1, index < 3, error=error if index == 1 else None)
        for index, sample_id in enumerate(IDS)
    ]
    stored = {"engine_id": "e" * 64, "engine": {"build": "b7", "kv_type": "f16"}}
    with Journal(folder / "gate.jsonl") as journal:
        journal.append(rescored_header(stored, GatePolicy(), IDS))
        journal.extend(a.to_row() for a in answers[:answered])
    model = {"name": "tiny", "sha256": "a" * 64}
    write_json(folder / "run.json", {"created_at": "2026-02-03T04:05:06+00:00", "model": model})
    return folder


def make(folder: Path, *name: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), *name],
        capture_output=True,
        text=True,
        check=False,
        cwd=SCRIPT.parents[1],
        env={"PYTHONPATH": str(SCRIPT.parents[1])},
    )


def test_a_finished_run_becomes_a_reference_with_its_identity_and_both_marks(tmp_path: Path) -> None:
    done = make(finished_run(tmp_path), "tiny-q4")
    assert (done.returncode, done.stderr) == (0, "")
    found = parse_reference("tiny.json", done.stdout)
    assert (found.name, found.model, found.model_sha256) == ("tiny-q4", "tiny", "a" * 64)
    assert (found.rules, found.tool_schemas, found.build, found.date) == (
        "mlperf",
        "mlperf",
        "b7",
        "2026-02-03",
    )
    assert found.settings == {"build": "b7", "kv_type": "f16", "max_tokens": 1024}
    assert found.native == dict(zip(IDS, [True, False, False, False], strict=True))
    assert found.lenient == dict(zip(IDS, [True, True, True, False], strict=True))


def test_an_unfinished_run_becomes_none(tmp_path: Path) -> None:
    done = make(finished_run(tmp_path, answered=3))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--resume" in done.stderr


def test_a_run_with_failed_requests_becomes_none(tmp_path: Path) -> None:
    done = make(finished_run(tmp_path, error="HTTP 500"))
    assert done.returncode == 2
    assert "1 requests failed (live_simple_0-0-0 first)" in done.stderr


def test_a_reference_reads_back_as_it_was_written(tmp_path: Path) -> None:
    found = parse_reference("x", make(finished_run(tmp_path)).stdout)
    assert parse_reference("x", reference_text(found)) == found


def test_references_of_a_folder_come_in_name_order(tmp_path: Path) -> None:
    text = make(finished_run(tmp_path)).stdout
    folder = tmp_path / "references"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.json").write_text(text.replace('"name": "tiny"', f'"name": "{name}"'))
    (folder / "notes.txt").write_text("not a reference")
    assert [found.name for found in load_references(folder)] == ["a", "b"]


def test_the_packaged_references_are_valid() -> None:
    assert isinstance(load_references(), tuple)


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 2},
        {"rules": None},
        {"subsets": {"irrelevance": {"ids": ["irrelevance_0"], "native": "10", "lenient": "1"}}},
        {"subsets": {"irrelevance": {"ids": ["irrelevance_0"], "native": "x", "lenient": "1"}}},
        {"subsets": 3},
    ],
)
def test_what_is_no_reference_is_refused_by_name(tmp_path: Path, change: dict[str, object]) -> None:
    document = json.loads(make(finished_run(tmp_path)).stdout)
    with pytest.raises(InputError, match=r"^odd\.json: is no gate reference"):
        parse_reference("odd.json", json.dumps(document | change))


def test_a_file_that_is_not_json_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"^odd\.json"):
        parse_reference("odd.json", "[")
