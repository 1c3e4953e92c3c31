"""result.json: what it holds, what its schema refuses, how it is written and read back."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_run import gate, manifest, result, turn, turns, write_run

from bfcl_gate.errors import InputError
from bfcl_gate.journal import Journal
from edge_agentic.report.document import build_result, check_result, ungated_performance, write_result
from edge_agentic.report.stored import load_run, read_turns, result_of, ungated_of
from edge_agentic.validity import INVALID, Check

FIXED_NAMES = {
    "schema_version",
    "valid",
    "reduced",
    "ruleset",
    "engine_id",
    "config_id",
    "model",
    "engine",
    "trace",
    "environment",
    "validity",
    "gate",
    "performance",
}
FIXED_PERFORMANCE_NAMES = {
    "decode",
    "turns",
    "duration_s",
    "ttft_s",
    "tpot_s",
    "turn_latency_s",
    "trajectory_duration_s",
    "input_tokens",
    "output_tokens",
    "prefill_tokens_per_s",
    "decode_tokens_per_s",
    "output_tokens_per_s",
    "prefix_reuse",
    "agreement",
    "roofline",
    "energy",
}


def test_a_result_holds_the_fixed_names_and_fits_its_schema() -> None:
    made = result()
    check_result(made, "result.json")
    assert made.keys() >= FIXED_NAMES
    assert made["performance"].keys() >= FIXED_PERFORMANCE_NAMES
    assert (made["valid"], made["reduced"], made["complete"]) == (True, True, True)
    assert json.loads(json.dumps(made)) == made


def test_a_failed_gate_withholds_the_performance() -> None:
    made = result(passed=False)
    check_result(made, "result.json")
    assert made["performance"] is None


def test_no_gate_withholds_the_performance() -> None:
    made = build_result(manifest(), turns(), None, ())
    check_result(made, "result.json")
    assert made["performance"] is None


def test_an_invalid_run_keeps_its_numbers_beside_its_fault() -> None:
    made = build_result(manifest(), turns(), gate(), [Check("suspend", INVALID, False, "slept")])
    check_result(made, "result.json")
    assert made["valid"] is False
    assert made["performance"] is not None


def test_energy_and_roofline_are_taken_as_measured_elsewhere() -> None:
    made = build_result(manifest(), turns(), gate(), (), roofline={"bytes": 1}, energy={"joules": 2.0})
    check_result(made, "result.json")
    assert (made["performance"]["roofline"], made["performance"]["energy"]) == ({"bytes": 1}, {"joules": 2.0})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"schema_version": 2}, "$.schema_version"),
        ({"valid": "yes"}, "$.valid"),
        ({"engine": None}, "$.engine"),
        (
            {"validity": [{"name": "x", "level": "FATAL", "passed": True, "detail": ""}]},
            "$.validity[0].level",
        ),
        ({"validity": [{"name": "x", "level": "INVALID", "passed": False, "detail": ""}]}, "$.valid"),
        ({"gate": None}, "$.performance"),
        ({"performance": None}, "$.performance"),
    ],
)
def test_the_schema_names_the_field_that_is_wrong(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=r"^here: field ") as caught:
        check_result({**result(), **change}, "here")
    assert f"field {field}:" in str(caught.value)


def test_the_schema_refuses_numbers_beside_a_failed_gate() -> None:
    forged = {**result(), "gate": gate(passed=False)}
    with pytest.raises(InputError, match=r"\$\.performance"):
        check_result(forged, "here")


@pytest.mark.parametrize("name", sorted(FIXED_NAMES))
def test_every_fixed_name_is_required(name: str) -> None:
    made = result()
    del made[name]
    with pytest.raises(InputError):
        check_result(made, "here")


def test_a_result_is_written_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_result(path, result())
    assert json.loads(path.read_text()) == result()
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
    with pytest.raises(InputError, match="written once"):
        write_result(path, result())


def test_a_finished_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path))
    assert run.replay.turns == turns()
    assert result_of(run) == result()


def test_an_interrupted_run_gives_a_partial_result_that_is_not_valid(tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path, finished=False, answered=2))
    partial = result_of(run)
    assert (partial["complete"], partial["valid"], partial["gate"], partial["performance"]) == (
        False,
        False,
        None,
        None,
    )
    assert partial["progress"] == {"turns": 2, "gate_samples": 0}
    assert {c["name"]: c["passed"] for c in partial["validity"]}["completeness"] is False
    assert ungated_of(run) == ungated_performance(turns()[:2])


def test_a_run_interrupted_before_its_first_turn_can_be_reported(tmp_path: Path) -> None:
    write_run(tmp_path, finished=False)
    (tmp_path / "turns.jsonl").unlink()
    run = load_run(tmp_path)
    assert result_of(run)["performance"] is None
    assert ungated_of(run) is None


def test_a_result_that_is_not_what_the_turns_give_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path)
    made = result()
    made["performance"]["ttft_s"]["mean"] /= 2
    (tmp_path / "result.json").write_text(json.dumps(made))
    with pytest.raises(InputError, match=r"performance\.ttft_s\.mean is not what turns\.jsonl gives"):
        load_run(tmp_path)


@pytest.mark.parametrize("name", ["turns.jsonl", "gate.jsonl"])
@pytest.mark.parametrize("passed", [True, False])
def test_a_result_without_the_journal_it_came_from_is_refused(
    tmp_path: Path, name: str, passed: bool
) -> None:
    (write_run(tmp_path, passed=passed) / name).unlink()
    with pytest.raises(InputError, match=rf"{name}: is missing, so nothing proves the result\.json"):
        load_run(tmp_path)


def test_a_run_that_took_over_an_earlier_gate_has_no_gate_journal(tmp_path: Path) -> None:
    write_run(tmp_path, options={"gate_result": "earlier"})
    (tmp_path / "gate.jsonl").unlink()
    assert load_run(tmp_path).gate_rows == 0


def test_a_result_may_differ_from_the_turns_by_rounding(tmp_path: Path) -> None:
    write_run(tmp_path)
    made = result()
    made["performance"]["ttft_s"]["mean"] *= 1 + 1e-12
    (tmp_path / "result.json").write_text(json.dumps(made))
    assert load_run(tmp_path).result is not None


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    with Journal(path) as journal:
        for row in rows:
            journal.append(row)
    return path


def test_records_that_are_no_turns_mark_seams_and_sessions(tmp_path: Path) -> None:
    rows = [
        {"_type": "header"},
        {"_type": "warmup"},
        turn().to_row(),
        {"_type": "warmup"},
        {"_type": "priming", "trajectory_id": "a", "at_turn": 1},
        {"_type": "seam", "trajectory_id": "a", "at_turn": 3},
        replace(turn(), turn=3).to_row(),
        {"_type": "warmup"},
    ]
    stored = read_turns(write_rows(tmp_path / "turns.jsonl", rows))
    assert [t.turn for t in stored.turns] == [1, 3]
    assert (stored.seams, stored.starts) == (frozenset({("a", 3)}), (1,))


def test_a_trajectory_primed_beside_timed_turns_begins_no_session(tmp_path: Path) -> None:
    rows = [
        {"_type": "header"},
        {"_type": "warmup"},
        turn().to_row(),
        {"_type": "priming", "trajectory_id": "b", "at_turn": 1},
        replace(turn(), turn=3).to_row(),
        {"_type": "seam", "trajectory_id": "b", "at_turn": 3},
        replace(turn(), turn=5).to_row(),
    ]
    assert read_turns(write_rows(tmp_path / "turns.jsonl", rows)).starts == ()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"submitted_ns": "now"}, "field submitted_ns is str; expected int"),
        ({"token_ns": None}, "field token_ns is NoneType; expected list"),
        ({"token_ns": [1.5]}, "field token_ns holds something"),
        ({"error": 3}, "field error is int; expected str or NoneType"),
        ({"tool_calls": {}}, "field tool_calls is dict; expected list or NoneType"),
        ({"turn": True}, "field turn is bool; expected int"),
        (
            {"input_tokens": 10**400},
            "field input_tokens is 10000000000000000000…, more than 64 bits; expected int",
        ),
        ({"token_ns": [10**30]}, "field token_ns holds something"),
        ({"_type": "seam", "at_turn": []}, "a seam names no turn"),
    ],
)
def test_a_turn_of_the_wrong_type_is_named_with_its_line(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    path = write_rows(tmp_path / "turns.jsonl", [{"_type": "header"}, {**turn().to_row(), **change}])
    with pytest.raises(InputError) as caught:
        read_turns(path)
    assert f"turns.jsonl:2: {told}" in str(caught.value)


def test_a_turn_that_lacks_a_field_is_named_with_its_line(tmp_path: Path) -> None:
    row = turn().to_row()
    del row["decode"]
    with pytest.raises(InputError, match=r"turns\.jsonl:1: field decode is missing"):
        read_turns(write_rows(tmp_path / "turns.jsonl", [row]))


def test_rows_of_the_least_published_shape_are_enough(tmp_path: Path) -> None:
    row = {
        k: v
        for k, v in turn().to_row().items()
        if k not in ("possible_tokens", "agreed_tokens", "answer_extends")
    }
    stored = read_turns(write_rows(tmp_path / "turns.jsonl", [row]))
    assert stored.turns == (replace(turn(), possible_tokens=None, agreed_tokens=None, answer_extends=None),)


def test_a_folder_without_a_manifest_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run directory"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("gate_id", r"of bfcl-gate run, which measures no speed; `bfcl-gate score .*` shows a gate again\.$"),
        ("multi_turn_id", r"of bfcl-gate multi-turn, which measures no speed\.$"),
    ],
)
def test_a_run_of_the_gate_alone_is_told_by_its_command(tmp_path: Path, kind: str, told: str) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"schema_version": 1, kind: "0" * 64}))
    with pytest.raises(InputError, match=told):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"model": 5}, "model"),
        ({"ruleset": None}, "ruleset"),
        ({"options": []}, "options"),
        ({"options": {"slo": 5}}, "options.slo"),
        ({"planned": {"turns": "26"}}, "planned.turns"),
        ({"engine": {"gpu_layers": []}}, "engine.gpu_layers"),
        ({"environment": {"cpu": 2}}, "environment.cpu"),
        ({"environment": {"memory": {"total_bytes": "16 GB"}}}, "environment.memory.total_bytes"),
        ({"preflight": -1}, "preflight"),
        ({"preflight": [{}]}, r"preflight\[0\]"),
        ({"tool_version": True}, "tool_version"),
    ],
)
def test_a_manifest_of_another_shape_is_named(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    (tmp_path / "run.json").write_text(json.dumps({**manifest(), **change}))
    with pytest.raises(InputError, match=rf"run\.json: field \$\.{field}: "):
        load_run(tmp_path)
