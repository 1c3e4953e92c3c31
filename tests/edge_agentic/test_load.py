"""Rates of sessions, jobs and tokens, and goodput, of turns whose numbers can be checked by eye."""

from dataclasses import replace

import pytest
from fake_run import turn

from bfcl_gate.errors import InputError
from edge_agentic.load import load
from edge_agentic.slo import Slo, parse_slo
from edge_agentic.turns import TurnResult


def served(trajectory: str, number: int, start_ms: int, **changes: object) -> TurnResult:
    """A turn of 1,010 ms to its first of 5 tokens, 50 ms apart: 1,211 ms in all."""
    return turn(trajectory_id=trajectory, turn=number, start_ms=start_ms, **changes)


TWO_AT_ONCE = (
    served("a", 1, 0),
    served("b", 1, 0),
    served("a", 2, 2_000),
    served("b", 2, 2_000, step_ms=100),
    served("c", 1, 4_000),
)


def test_sessions_jobs_and_tokens_are_counted_over_the_wall_time() -> None:
    found = load(TWO_AT_ONCE)["throughput"]
    wall_s = 5.211
    assert found["turns_per_s"] == pytest.approx(5 / wall_s)
    assert found["jobs_per_h"] == pytest.approx(3 * 3600 / wall_s)
    assert found["evaluated_tokens_per_s"] == pytest.approx(500 / wall_s)
    alone_s = 3.211 + 3.411 + 1.211
    assert found["session"]["output_tokens_per_s"] == pytest.approx(25 / alone_s)
    assert found["session"]["turns_per_min"] == pytest.approx(300 / alone_s)


def test_full_load_ends_when_the_first_trajectory_ends_after_the_last_began() -> None:
    tail = (*TWO_AT_ONCE[:4], served("b", 3, 6_000), served("b", 4, 8_000))
    found = load(tail)["throughput"]["full_load"]
    assert found["duration_s"] == pytest.approx(3.211)
    assert found["turns"] == 3
    assert found["turns_per_s"] == pytest.approx(3 / 3.211)


def test_one_trajectory_after_another_is_full_load_to_the_end() -> None:
    found = load((served("a", 1, 0), served("b", 1, 2_000)))["throughput"]["full_load"]
    assert (found["duration_s"], found["turns"]) == (pytest.approx(3.211), 2)


def test_a_trajectory_that_lost_a_turn_or_was_interrupted_is_no_job() -> None:
    lost = (*TWO_AT_ONCE[:3], replace(TWO_AT_ONCE[3], error="timeout: late"), TWO_AT_ONCE[4])
    assert load(lost)["throughput"]["jobs_per_h"] == pytest.approx(2 * 3600 / 5.211)
    assert load(lost)["throughput"]["turns_per_s"] == pytest.approx(4 / 5.211)
    seam = load(TWO_AT_ONCE, seams={("a", 2)})
    assert seam["throughput"]["jobs_per_h"] == pytest.approx(2 * 3600 / 5.211)


def test_a_part_of_nothing_but_turns_given_up_has_no_load_to_show() -> None:
    given_up = replace(served("a", 3, 9_000), error="not issued", completed_ns=9_000_000_000)
    found = load((*TWO_AT_ONCE, given_up), starts=(len(TWO_AT_ONCE),))["throughput"]
    assert found["full_load"] == load(TWO_AT_ONCE)["throughput"]["full_load"]


def test_what_is_not_counted_has_no_rate() -> None:
    silent = [replace(one, output_tokens=None, evaluated_tokens=None) for one in TWO_AT_ONCE]
    found = load(silent)["throughput"]
    assert (found["evaluated_tokens_per_s"], found["session"]["output_tokens_per_s"]) == (None, None)
    assert load(())["throughput"]["turns_per_s"] is None
    assert load(())["throughput"]["full_load"]["duration_s"] is None


def test_goodput_counts_the_turns_that_met_every_objective() -> None:
    dropped = replace(TWO_AT_ONCE[4], error="timeout: late")
    found = load((*TWO_AT_ONCE[:4], dropped), slo=Slo(ttft_s=1.1, tpot_s=0.05))["goodput"]
    assert found["slo"] == {"ttft_s": 1.1, "tpot_s": 0.05}
    assert (found["turns"], found["share"], found["dropped"]) == (3, 0.6, 1)
    assert found["missed"] == {"ttft_s": 0, "tpot_s": 1}
    assert found["turns_per_s"] == pytest.approx(3 / 5.211)


def test_an_empty_answer_is_judged_by_its_completion_and_has_no_tpot_to_miss() -> None:
    empty = replace(served("a", 1, 0), token_ns=(), first_token_ns=None, output_tokens=0)
    assert load([empty], slo=Slo(ttft_s=2.0, tpot_s=0.001))["goodput"]["turns"] == 1
    late = replace(empty, completed_ns=3_000_000_000)
    assert load([late], slo=Slo(ttft_s=2.0))["goodput"]["missed"] == {"ttft_s": 1}
    assert load([late], slo=Slo(latency_s=2.0))["goodput"]["turns"] == 0


def test_without_objectives_there_is_no_goodput() -> None:
    assert "goodput" not in load(TWO_AT_ONCE)


@pytest.mark.parametrize(
    ("text", "slo"),
    [
        ("ttft=2s", Slo(ttft_s=2.0)),
        ("ttft=2s,tpot=50ms", Slo(ttft_s=2.0, tpot_s=0.05)),
        (" latency = 1.5min , tpot=900us", Slo(latency_s=90.0, tpot_s=0.0009)),
    ],
)
def test_objectives_are_read_with_their_units(text: str, slo: Slo) -> None:
    read = parse_slo(text)
    assert read.to_dict() == pytest.approx(slo.to_dict())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ttft",
        "ttft=2",
        "ttft=2h",
        "itl=2ms",
        "ttft=-1s",
        "ttft=0s",
        "ttft=1s,ttft=2s",
        "ttft=1s,",
        f"ttft={'9' * 400}s",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--slo"):
        parse_slo(text)
