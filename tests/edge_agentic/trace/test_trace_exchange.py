"""What is written loads as it was: by the native writer, and for exchange with MLPerf."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_rows import BASH, Rows, changed, small, write
from trace_strategies import traces

from bfcl_gate.errors import InputError
from edge_agentic import Trajectory, Turn, load_trajectories
from edge_agentic.trace import check_trace
from edge_agentic.trace.export import export_trace
from edge_agentic.trace.write import new_trace, write_rows

AWS = "AKIA" + "A1B2" * 4


def exported(folder: Path, rows: Rows, **options: Any) -> tuple[Rows, Path]:
    """Export these rows; return what was written and where."""
    output = folder / "out.jsonl"
    export_trace(write(folder / "in.jsonl", rows), output, **{"max_tokens": 1024, "force": True, **options})
    return [json.loads(line) for line in output.read_text("ascii").splitlines()], output


def same(turn: Turn, other: Turn) -> bool:
    """Whether two turns ask and expect the same, wherever their rows stand."""
    placed = {"line": 0, "trajectory_id": "", "max_tokens": None}
    return replace(turn, **placed) == replace(other, **placed)


def safe(name: str) -> str:
    try:
        float(name)
    except ValueError:
        return name
    return f"id-{name}"


def assert_equal(written: tuple[Trajectory, ...], read: tuple[Trajectory, ...], limit: int) -> None:
    assert [safe(each.id) for each in written] == [each.id for each in read]
    for before, after in zip(written, read, strict=True):
        assert len(before.turns) == len(after.turns)
        assert all(map(same, before.turns, after.turns))
        assert [turn.max_tokens or limit for turn in before.turns] == [t.max_tokens for t in after.turns]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exchange")


@settings(max_examples=60)
@given(rows=traces())
def test_the_native_writer_s_file_loads_as_the_rows_it_was_given(folder: Path, rows: Rows) -> None:
    plain = load_trajectories(write(folder / "plain.jsonl", rows))
    with new_trace(folder / "written.jsonl", force=True) as file:
        write_rows(file, rows)
    lines = (folder / "written.jsonl").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert load_trajectories(folder / "written.jsonl") == plain


@settings(max_examples=60)
@given(rows=traces(), limit=st.integers(1, 99), seed=st.randoms(use_true_random=False))
def test_an_export_loads_as_the_trace_did_and_states_everything(
    folder: Path, rows: Rows, limit: int, seed: Any
) -> None:
    names = list(dict.fromkeys(row["conversation_id"] for row in rows))
    if len({safe(name) for name in names}) < len(names):
        return  # "id-1" beside "1": refused, see below
    # Rows of one trajectory may stand in any order.
    shuffled: Rows = []
    for name in names:
        own = [row for row in rows if row["conversation_id"] == name]
        shuffled += seed.sample(own, len(own))
    written, output = exported(folder, shuffled, max_tokens=limit)
    assert_equal(load_trajectories(folder / "in.jsonl"), load_trajectories(output), limit)
    assert {type(row["max_new_tokens"]) for row in written} == {int}
    assert {type(row["stream"]) for row in written} == {bool}
    assert not any("looks like a number" in p.text or p.field == "turn" for p in check_trace(output).problems)
    # Exporting an export changes nothing.
    again, _ = exported(folder, written, max_tokens=7)
    assert again == written


def test_limit_and_stream_stand_on_every_row_and_metadata_stays_behind(tmp_path: Path) -> None:
    rows = [{"_type": "dataset_metadata", "name": "n"}, *small()]
    rows[3]["max_completion_tokens"] = 50
    written, _ = exported(tmp_path, rows)
    assert [row["turn"] for row in written] == [1, 2, 3, 4]
    assert [row["max_new_tokens"] for row in written] == [1024, 1024, 50, 50]
    assert [row["stream"] for row in written] == [True] * 4


def test_what_a_trace_states_itself_is_kept(tmp_path: Path) -> None:
    written, _ = exported(tmp_path, changed(0, max_new_tokens=77, stream=False))
    assert {(row["max_new_tokens"], row["stream"]) for row in written} == {(77, False)}


def test_tools_of_a_user_row_that_stood_first_in_the_file_stay_those_of_all_turns(tmp_path: Path) -> None:
    # The loader takes its defaults from the first user row of the file, not of the conversation.
    later = {"conversation_id": "a", "turn": 3, "role": "user", "content": "on", "tools": [BASH]}
    first = {"conversation_id": "a", "turn": 1, "role": "user", "content": "x"}
    answers = [{"conversation_id": "a", "turn": n, "role": "assistant", "content": "y"} for n in (2, 4)]
    _, output = exported(tmp_path, [later, first, *answers])
    assert [turn.tools for turn in load_trajectories(output)[0].turns] == [(BASH,), (BASH,)]


def test_an_id_that_looks_like_a_number_gets_a_letter(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    done = export_trace(write(tmp_path / "t.jsonl", [*small("007"), *small("b")]), output, max_tokens=9)
    assert (done.trajectories, done.turns, done.renamed) == (2, 4, 1)
    assert [each.id for each in load_trajectories(output)] == ["id-007", "b"]


def test_two_ids_that_would_become_one_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", [*small("7"), *small("b"), *small("id-7")])
    with pytest.raises(InputError, match=r"no valid trace, so nothing is written: .*returns to 'id-7'"):
        export_trace(path, tmp_path / "out.jsonl", max_tokens=9)
    assert [each.name for each in tmp_path.iterdir()] == ["t.jsonl"]


def test_a_trace_with_keys_is_exported_only_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", changed(0, content=f"my key is {AWS}"))
    with pytest.raises(InputError, match=r"secrets \(an AWS access key in 1 row\), so nothing is exported"):
        export_trace(path, tmp_path / "out.jsonl", max_tokens=9)
    assert [each.name for each in tmp_path.iterdir()] == ["t.jsonl"]
    done = export_trace(path, tmp_path / "out.jsonl", max_tokens=9, allow_secrets=True)
    assert done.secrets == {"an AWS access key": 1}
    assert load_trajectories(tmp_path / "out.jsonl")


def test_a_trace_that_does_not_validate_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.jsonl:2: `tool_calls` is \[\].*Nothing is exported"):
        export_trace(
            write(tmp_path / "t.jsonl", changed(1, tool_calls=[])), tmp_path / "o.jsonl", max_tokens=9
        )
    assert [each.name for each in tmp_path.iterdir()] == ["t.jsonl"]


def test_an_output_that_cannot_be_meant_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", small())
    for output, force, text in (
        (path, True, "is the trace that is read"),
        (write(tmp_path / "old.jsonl", small()), False, "exists already"),
        (tmp_path, True, "is no regular file"),
        (tmp_path / "none" / "o.jsonl", False, "its folder does not exist"),
    ):
        with pytest.raises(InputError, match=text):
            export_trace(path, output, max_tokens=9, force=force)
    assert load_trajectories(path)


def test_what_is_no_trace_is_never_left_behind(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="What was made is no valid trace"),
        new_trace(tmp_path / "t.jsonl") as file,
    ):
        file.write(b"x\n")
    assert list(tmp_path.iterdir()) == []
