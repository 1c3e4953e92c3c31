"""What drafts did goes from the engine's response through the journal into the result and its reports."""

from dataclasses import replace
from pathlib import Path

import pytest
from fake_run import gate, manifest, result, turn, turns

from bfcl_gate.cli.engine import EngineOptions
from bfcl_gate.errors import InputError
from bfcl_gate.journal import Journal
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.scripted_engine import ScriptedEngine
from edge_agentic import load_trajectories, metrics
from edge_agentic.drafts import speculation
from edge_agentic.replay import ReplayOptions, plan_replay, replay, select_turns
from edge_agentic.report.console import render_text
from edge_agentic.report.csv import render_csv
from edge_agentic.report.document import build_result, check_result
from edge_agentic.report.html import render_html
from edge_agentic.report.stored import read_turns
from edge_agentic.trace import find_trace
from edge_agentic.turns import TurnResult
from edge_agentic.validity import check_run

READINGS = {
    "drafted_tokens": 10,
    "accepted_tokens": 6,
    "passes": 3,
    "repeated_tokens": 2,
    "framing_tokens": 4,
    "framing_accepted": 3,
    "argument_tokens": 5,
    "argument_accepted": 3,
    "free_text_tokens": 1,
    "free_text_accepted": 0,
}


def drafted(**changes: int | None) -> TurnResult:
    return turn(tokens=10, **{**READINGS, "held_tokens": 0, "shielded": 2, **changes})


def test_the_readings_of_a_response_reach_the_turn(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> TimedResponse:
        return TimedResponse(
            text="x",
            finish_reason="stop",
            submitted_ns=0,
            completed_ns=9,
            token_ns=(5, 9),
            output_tokens=2,
            held_tokens=7,
            shielded=3,
            **READINGS,  # type: ignore[arg-type]
        )

    options = ReplayOptions(decode="natural")
    engine = ScriptedEngine(answer)
    selected = select_turns(load_trajectories(find_trace("smoke")), options, limit=1)
    planned = plan_replay(engine, selected, options)
    (event,) = replay(engine, planned, options)
    assert event.result is not None
    assert {name: getattr(event.result, name) for name in READINGS} == READINGS
    assert (event.result.held_tokens, event.result.shielded) == (7, 3)
    with Journal(tmp_path / "turns.jsonl") as journal:
        journal.append(event.result.to_row())
    assert read_turns(tmp_path / "turns.jsonl").turns == (event.result,)


def test_a_row_begins_with_its_place_and_ends_with_the_readings() -> None:
    keys = list(turn().to_row())
    assert keys[:4] == ["trajectory_id", "turn", "position", "decode"]
    assert keys[-22:-19] == ["answer_extends", "request_bytes", "library_prefill_ns"]
    assert keys[-2:] == ["held_tokens", "shielded"]


def test_rows_of_before_drafts_were_known_are_still_read(tmp_path: Path) -> None:
    old = {key: value for key, value in turn().to_row().items() if key not in (*READINGS, "held_tokens")}
    with Journal(tmp_path / "turns.jsonl") as journal:
        journal.append(old)
    assert read_turns(tmp_path / "turns.jsonl").turns == (turn(),)


def test_a_reading_that_is_no_integer_is_bad_input(tmp_path: Path) -> None:
    with Journal(tmp_path / "turns.jsonl") as journal:
        journal.append({**turn().to_row(), "passes": "3"})
    with pytest.raises(InputError, match="field passes is str"):
        read_turns(tmp_path / "turns.jsonl")


def test_drafts_are_pooled_over_the_turns_that_had_them() -> None:
    assert speculation([turn()]) == {}
    nothing = drafted(drafted_tokens=0, accepted_tokens=0, passes=9, framing_accepted=0, argument_accepted=0)
    assert speculation([drafted(), nothing, turn()]) == {
        "turns": 2,
        "undrafted_turns": 1,
        "drafted_tokens": 10,
        "accepted_tokens": 6,
        "acceptance": 0.6,
        "passes": 12,
        "tokens_per_pass": 18 / 12,
        "repeated_tokens": 4,
        "parts": {
            "framing": {"tokens": 8, "accepted": 3, "share": 3 / 8},
            "argument": {"tokens": 10, "accepted": 3, "share": 3 / 10},
            "free_text": {"tokens": 2, "accepted": 0, "share": 0.0},
        },
    }
    assert speculation([nothing])["acceptance"] is None


def test_the_drafts_of_a_server_are_the_servers_and_no_others() -> None:
    stated = turn(drafted_tokens=8, accepted_tokens=6)
    found = metrics.performance([stated, drafted()])
    assert found["server"] == {"draft_acceptance": 0.75}
    assert found["speculation"]["turns"] == 1


def test_prompts_that_spelt_control_tokens_and_memories_that_stood_still_are_counted() -> None:
    found = metrics.performance([drafted(), drafted(shielded=0), drafted(held_tokens=40), turn()])
    assert found["shielded"] == {"prompts": 2, "texts": 4}
    assert found["prefix_reuse"]["misses"]["not_taken_back"] == 1
    plain = metrics.performance(turns())
    assert {"shielded", "speculation"} & plain.keys() == set()
    assert "not_taken_back" not in plain["prefix_reuse"]["misses"]


def test_the_result_holds_them_and_every_report_shows_them() -> None:
    made = tuple(replace(drafted(), turn=n, position=n) for n in range(5))
    document = build_result(manifest(), made, gate(), check_run(manifest(), made))
    check_result(document, "result.json")
    for text in (render_text(document), render_html(document, made)):
        assert "Speculative decoding (prompt lookup)" in text
        assert "30 of 50 drafted tokens" in text
        assert "60.00 %" in text
        assert "shielded prompts" in text
    assert "Speculative decoding" not in render_text(result())
    header, first, *_ = render_csv(made, gated=True).splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert (row["passes"], row["drafted_tokens"], row["shielded"]) == ("3", "10", "2")


def test_what_a_step_costs_hangs_on_the_drafts_so_drift_is_not_judged() -> None:
    made = [replace(drafted(), turn=n, position=n, **_steps(n)) for n in range(40)]
    plain = [replace(one, passes=None) for one in made]
    judged = {"plain": plain, "drafting": made}
    names = {key: {c.name for c in check_run(manifest(), tuple(run))} for key, run in judged.items()}
    assert names["plain"] - names["drafting"] == {"drift"}


def _steps(number: int) -> dict[str, object]:
    """A turn of 200 tokens, 10 ms a step."""
    first = turn().token_ns[0]
    stamps = tuple(first + i * 10_000_000 for i in range(200))
    return {"token_ns": stamps, "output_tokens": 200, "completed_ns": stamps[-1]}


def test_the_mlperf_profile_takes_no_drafts_from_the_prompt() -> None:
    from edge_agentic.cli.profile import RunOptions, apply_profile

    fields = dict.fromkeys(RunOptions.__dataclass_fields__)
    given = {
        "profile": "mlperf-v6.1",
        "tool_delay": "none",
        "reasoning": "keep",
        "concurrency": 1,
        "parallel": 1,
    }
    options = RunOptions(**{**fields, "traces": (), "resume": False, "show_ungated": False, **given})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^--speculative: the profile mlperf-v6.1 fixes this"):
        apply_profile(options, EngineOptions(speculative="prompt-lookup"))
