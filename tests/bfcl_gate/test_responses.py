"""Stored answers: which files can be read, and what is said about the others."""

import json
from pathlib import Path

import pytest
from gate_fakes import answer, native_call, samples_of, scripted

from bfcl_gate.errors import InputError
from bfcl_gate.gate import ask_and_keep
from bfcl_gate.journal import Journal
from bfcl_gate.responses import load_responses, mark_responses, sample_name
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.samples import quick_ids

pytestmark = pytest.mark.usefixtures("bfcl")

PROSE = {"content": "No tool fits.", "tool_calls": None}


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_rows_keep_their_order_case_and_message(tmp_path: Path) -> None:
    rows = [{"id": "irrelevance_0", "message": PROSE, "case": 2}, {"id": "irrelevance_0", "message": PROSE}]
    found = load_responses(written(tmp_path / "r.jsonl", *rows))
    assert [(row.id, row.case, row.reply.message) for row in found.rows] == [
        ("irrelevance_0", 2, PROSE),
        ("irrelevance_0", None, PROSE),
    ]
    assert found.header is None
    assert [answer.case for answer in mark_responses(found, GatePolicy())] == [2, None]


def test_a_failed_request_needs_no_message_and_is_wrong(tmp_path: Path) -> None:
    rows = [
        {"id": "irrelevance_0", "error": "timeout"},
        {"id": "irrelevance_1", "message": PROSE, "error": None},
    ]
    failed, answered = mark_responses(load_responses(written(tmp_path / "r.jsonl", *rows)), GatePolicy())
    assert (failed.correct, failed.error) == (False, "timeout")
    assert (answered.correct, answered.error) == (True, None)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("{", "column 2 is not valid JSON"),
        ("[1]", "expected an object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": ' + "9" * 5_000 + "}", "too many digits"),
        ({"message": PROSE}, "field 'id' is null; expected text"),
        ({"id": 3, "message": PROSE}, "field 'id' is 3; expected text"),
        ({"id": "irrelevance_1"}, "field 'message' is null; expected an object"),
        ({"id": "irrelevance_1", "message": "text"}, "field 'message'"),
        ({"id": "irrelevance_1", "message": {"content": [1]}}, "message.content"),
        ({"id": "irrelevance_1", "message": PROSE, "case": True}, "field 'case' is true"),
        ({"id": "irrelevance_1", "message": PROSE, "error": 5}, "field 'error' is 5"),
        ({"id": "irrelevance_9999", "message": PROSE}, "field 'id': 'irrelevance_9999' is not"),
        ({"id": "../../etc", "message": PROSE}, "field 'id': '../../etc' is not"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path: Path, second: object, told: str) -> None:
    path = written(tmp_path / "r.jsonl", {"id": "irrelevance_0", "message": PROSE}, second)
    with pytest.raises(InputError) as caught:
        mark_responses(load_responses(path), GatePolicy())
    assert str(caught.value).startswith(f"{path}:2: ")
    assert told in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"null\n"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"r\.jsonl"):
        load_responses(path)


def test_a_missing_file_and_a_folder_without_a_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: there is no such file"):
        load_responses(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match=r"neither a gate\.jsonl nor results"):
        load_responses(tmp_path)


def test_empty_lines_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", {"id": "irrelevance_0", "message": PROSE}, "", "  ")
    assert len(load_responses(path).rows) == 1


def test_the_answers_of_a_run_are_read_again_from_their_raw_text(tmp_path: Path) -> None:
    ids = ["simple_python_0", "simple_python_1"]
    engine, policy = scripted(ids, native_call), GatePolicy(sample="ids.txt", calls="native")
    answers = tuple(ask_and_keep(engine, samples_of(ids), policy, tmp_path / "gate.jsonl"))
    for path in (tmp_path, tmp_path / "gate.jsonl"):
        found = load_responses(path)
        assert mark_responses(found, policy) == answers
        assert sample_name(found) == "file"


def test_known_samples_are_recognised_in_any_order_and_everything_else_is_partial(tmp_path: Path) -> None:
    def name(ids: tuple[str, ...]) -> str:
        rows = [{"id": sample_id, "message": PROSE} for sample_id in ids]
        return sample_name(load_responses(written(tmp_path / "r.jsonl", *rows)))

    quick = quick_ids()
    assert name(quick) == "quick"
    assert name(quick[::-1]) == "quick"
    assert name(quick[1:]) == "partial"
    assert name((*quick, quick[0])) == "partial"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tool_calls": 5}, "tool_calls is '5'"),
        ({"text": 5}, "text is '5'"),
        ({"correct": "yes"}, "correct is 'yes'"),
        ({"id": None}, "id is 'None'"),
        ({"message": "{"}, "(simple_python_0): field 'message' is not the JSON text of an object"),
        ({"message": "[]"}, "(simple_python_0): field 'message' is not the JSON text of an object"),
    ],
)
def test_a_hostile_gate_file_is_refused_in_words(
    tmp_path: Path, change: dict[str, object], told: str
) -> None:
    path = tmp_path / "gate.jsonl"
    with Journal(path) as journal:
        journal.append(answer("simple_python_0", True).to_row() | change)
    with pytest.raises(InputError) as caught:
        load_responses(path)
    assert told in str(caught.value)


def test_a_gate_file_without_a_field_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    row = answer("simple_python_0", True).to_row()
    del row["correct_native"]
    with Journal(path) as journal:
        journal.append(row)
    with pytest.raises(InputError, match="correct_native"):
        load_responses(path)
