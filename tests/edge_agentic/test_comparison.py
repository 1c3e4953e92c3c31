"""Two runs side by side."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_run import manifest, turn, turns, write_run

from bfcl_gate.errors import InputError
from edge_agentic.report.comparison import Comparison, compare, slower_than
from edge_agentic.report.comparison_text import render_comparison
from edge_agentic.report.stored import StoredRun, StoredTurns, load_run
from edge_agentic.turns import TurnResult


def run(
    made: tuple[TurnResult, ...], *, seams: frozenset[tuple[str, int]] = frozenset(), **facts: Any
) -> StoredRun:
    told = {**manifest(), **facts}
    result = {"valid": True, "performance": {}, "engine": told["engine"], "environment": told["environment"]}
    return StoredRun(manifest=told, replay=StoredTurns(turns=made, seams=seams), gate_rows=0, result=result)


def by_name(found: Comparison) -> dict[str, float]:
    return {measure.name: measure.ratio for measure in found.measures}


def test_a_run_is_as_fast_as_itself() -> None:
    found = compare(run(turns()), run(turns()))
    assert set(by_name(found).values()) == {1.0}
    assert (found.turns, found.trajectories, found.a_faster, found.b_faster) == (5, 2, 0, 0)
    assert all(measure.interval == (1.0, 1.0) for measure in found.measures)
    assert render_comparison(found).startswith("No difference in turn latency that 2 trajectories can show.")


def test_times_are_pooled_over_the_common_turns() -> None:
    a = (turn(prefill_ms=989, step_ms=100, tokens=11),)  # 2 s
    b = (turn(prefill_ms=989, step_ms=200, tokens=11),)  # 3 s
    found = compare(run(a), run(b))
    assert by_name(found)["turn latency, mean"] == 1.5
    assert by_name(found)["TPOT, pooled"] == 2.0
    assert by_name(found)["TTFT, mean"] == 1.0
    assert found.median_turn_ratio == 1.5


def test_answers_that_differ_are_counted_where_both_runs_tell_them() -> None:
    a = (turn(text="a"), turn(turn=3, text="b"), turn(turn=5))
    b = (turn(text="a"), turn(turn=3, text="c"), turn(turn=5, text="d"))
    found = compare(run(a), run(b))
    assert (found.answers, found.other_answers) == (2, 1)
    assert "other answers  1 of 2, 50.00 %" in render_comparison(found)
    assert "other answers" not in render_comparison(compare(run(turns()), run(turns())))


def test_one_trajectory_gives_no_interval_and_the_text_says_so() -> None:
    found = compare(run((turn(),)), run((turn(step_ms=100),)))
    assert found.measures[0].interval is None
    assert "one trajectory: no interval" in render_comparison(found)


def test_the_interval_spans_what_the_trajectories_show() -> None:
    a = (turn(), turn(trajectory_id="b"))
    b = (turn(step_ms=50), turn(trajectory_id="b", step_ms=350))
    low, high = compare(run(a), run(b)).measures[0].interval or (0, 0)
    assert low == 1.0
    assert high == pytest.approx((1.011 + 1.4) / (1.011 + 0.2))


def test_only_turns_answered_in_both_runs_count() -> None:
    first, second, third = turn(), turn(turn=3), turn(turn=5)
    a = run((first, second, third), seams=frozenset({("a", 5)}))
    b = run((first, replace(second, error="timeout"), third))
    assert compare(a, b).turns == 1


def test_runs_without_a_common_turn_are_refused() -> None:
    with pytest.raises(InputError, match="no answered turn in common"):
        compare(run((turn(),)), run((turn(turn=3),)))


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ({"identity": {**manifest()["identity"], "trace_sha256": "0"}}, "trace_sha256"),
        ({"identity": {**manifest()["identity"], "ruleset": "standard"}}, "ruleset"),
        ({"identity": {**manifest()["identity"], "decode": "natural"}}, "decode"),
        ({"identity": {**manifest()["identity"], "reasoning": "strip"}}, "reasoning"),
        ({"identity": {**manifest()["identity"], "tool_delay": "recorded"}}, "tool_delay"),
        ({"model": {"name": "tiny", "sha256": "0"}}, "model"),
        ({"options": {"concurrency": 2}}, "concurrency"),
    ],
)
def test_runs_of_other_work_are_refused_by_the_field_that_differs(facts: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=rf"Different from DIR_A to DIR_B: .*{field}: "):
        compare(run(turns()), run(turns(), **facts))


def test_max_tokens_matters_only_where_the_model_answers_itself() -> None:
    longer = {"identity": {**manifest()["identity"], "max_tokens": 99}}
    assert compare(run(turns()), run(turns(), **longer)).turns == 5
    natural, longer_natural = (
        {**manifest()["identity"], "decode": "natural", "max_tokens": n} for n in (64, 99)
    )
    with pytest.raises(InputError, match="max_tokens: 64 -> 99"):
        compare(run(turns(), identity=natural), run(turns(), identity=longer_natural))


def test_other_prompts_under_the_same_trace_are_refused() -> None:
    other = (replace(turn(), input_tokens=101), *turns()[1:])
    with pytest.raises(InputError, match=r"turn 1: the prompt has 100 tokens in DIR_A and 101 in DIR_B"):
        compare(run(turns()), run(other))
    server = {"kind": "endpoint"}
    assert compare(run(turns(), engine=server), run(other, engine=server)).turns == 5


def test_another_device_and_engine_may_differ_and_are_shown() -> None:
    other = {"engine": {**manifest()["engine"], "threads": 4}, "environment": {"cpu": {"model": "Other"}}}
    found = compare(run(turns()), run(turns(), **other))
    assert "engine.threads: 2 -> 4" in found.differences
    assert 'environment.cpu.model: "Example CPU" -> "Other"' in found.differences
    assert "engine.threads: 2 -> 4" in render_comparison(found)


def test_a_run_whose_gate_failed_or_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    good = load_run(write_run(tmp_path / "good"))
    failed = load_run(write_run(tmp_path / "failed", passed=False))
    partial = load_run(write_run(tmp_path / "partial", finished=False))
    with pytest.raises(InputError, match="DIR_B: the gate of this run did not pass"):
        compare(good, failed)
    with pytest.raises(InputError, match="DIR_A: this run is not finished"):
        compare(partial, good)


def test_an_invalid_run_is_compared_and_named_first() -> None:
    bad = replace(run(turns()), result={**(run(turns()).result or {}), "valid": False})
    found = compare(run(turns()), bad)
    assert found.invalid == ("B",)
    assert render_comparison(found).startswith("INVALID: run B is not valid")


def test_slower_is_judged_on_the_mean_turn_latency() -> None:
    found = compare(run((turn(prefill_ms=789),)), run((turn(prefill_ms=839),)))  # 1.00 s, 1.05 s
    assert not slower_than(found, 5)
    assert slower_than(found, 4.9)


def test_a_turn_that_tells_no_tokens_still_has_a_latency() -> None:
    blind = tuple(replace(t, output_tokens=None, evaluated_tokens=None, rendered_ns=None) for t in turns())
    assert by_name(compare(run(blind), run(blind))).keys() == {"turn latency, mean", "TTFT, mean"}
