"""Every number of a replay, on turns whose readings can be added up by eye."""

from dataclasses import replace

import pytest
from fake_run import MS, turn, turns
from hypothesis import given
from hypothesis import strategies as st

from edge_agentic import metrics


def test_ttft_is_first_token_minus_submission() -> None:
    assert metrics.ttft_s(turn(start_ms=500, prefill_ms=990)) == 1.0


def test_tpot_is_the_time_between_tokens_after_the_first() -> None:
    assert metrics.tpot_s(turn(step_ms=50, tokens=5)) == 0.05


@pytest.mark.parametrize("tokens", [0, 1])
def test_tpot_and_decode_rate_are_undefined_below_two_tokens(tokens: int) -> None:
    assert metrics.tpot_s(turn(tokens=tokens)) is None
    assert metrics.decode_tokens_per_s(turn(tokens=tokens)) is None


def test_tpot_is_undefined_where_a_server_sent_everything_at_once() -> None:
    assert metrics.tpot_s(replace(turn(tokens=1), output_tokens=40)) is None


def test_turn_latency_is_completion_minus_submission() -> None:
    assert metrics.turn_latency_s(turn(prefill_ms=789, step_ms=50, tokens=5)) == 1.0


def test_prefill_time_begins_when_the_prompt_is_rendered() -> None:
    assert metrics.prefill_s(turn(prefill_ms=990)) == 0.99
    assert metrics.prefill_s(replace(turn(), rendered_ns=None)) is None


def test_rates_are_pooled_over_turns_and_not_averaged() -> None:
    fast, slow = turn(prefill_ms=1000, step_ms=10), turn(prefill_ms=4000, step_ms=90)
    assert metrics.pooled_prefill_tokens_per_s([fast, slow]) == 40.0  # 200 tokens in 5 s
    assert metrics.pooled_decode_tokens_per_s([fast, slow]) == 20.0  # 8 steps in 0.4 s


def test_rates_of_an_endpoint_that_tells_nothing_are_undefined() -> None:
    blind = replace(turn(), evaluated_tokens=None, rendered_ns=None, output_tokens=None)
    assert metrics.pooled_prefill_tokens_per_s([blind]) is None
    assert metrics.pooled_decode_tokens_per_s([blind]) is None


def test_the_small_run_adds_up() -> None:
    found = metrics.performance(turns())
    assert found["decode"] == "forced"
    assert found["turns"] == {"issued": 5, "completed": 5, "dropped": 0}
    assert found["duration_s"] == 10.171
    assert found["ttft_s"]["percentiles"]["50"] == 1.01
    assert found["ttft_s"]["max"] == 1.97
    assert found["tpot_s"]["count"] == 5
    assert found["trajectory_duration_s"]["min"] == 4.171
    assert found["trajectory_duration_s"]["max"] == 5.211
    assert found["prefill_tokens_per_s"] == 588 / 5.88
    assert found["decode_tokens_per_s"] == 20 / 1.12
    assert found["output_tokens_per_s"] == 25 / 10.171
    assert found["agreement"] == {"iou": None, "token_agreement": 18 / 25, "scored": 0, "missing": 0}


def test_prefix_reuse_counts_what_was_possible_and_what_was_missed() -> None:
    assert metrics.prefix_reuse(turns()) == {
        "possible_tokens": 312,
        "reused_tokens": 212,
        "ratio": 212 / 312,
        "misses": {"turns": 1, "from_nothing": 0, "tokens": 100},
    }


def test_prefix_reuse_of_first_turns_alone_has_no_ratio() -> None:
    assert metrics.prefix_reuse([turn()])["ratio"] is None


def test_prefix_reuse_at_an_endpoint_is_what_the_server_states() -> None:
    stated = replace(turn(), possible_tokens=None, reused_tokens=90)
    silent = replace(stated, reused_tokens=None)
    expected = {"possible_tokens": None, "reused_tokens": 90, "ratio": None, "misses": {}}
    assert metrics.prefix_reuse([stated, silent]) == expected
    assert metrics.prefix_reuse([silent])["reused_tokens"] is None


def test_agreement_is_the_mean_over_scored_turns_with_dropped_ones_as_zero() -> None:
    scored = [replace(turn(), agreement=1.0), replace(turn(), agreement=0.5)]
    dropped = replace(turn(), agreement=0.0, error="timeout", agreed_tokens=None)
    unscored = replace(turn(), agreement=None)
    found = metrics.agreement([*scored, dropped, unscored])
    assert (found["iou"], found["scored"], found["missing"]) == (0.5, 3, 1)


def test_a_dropped_turn_takes_wall_time_but_enters_no_distribution() -> None:
    failed = replace(turn(start_ms=2000), error="timeout", completed_ns=9000 * MS)
    found = metrics.performance([turn(), failed])
    assert found["turns"] == {"issued": 2, "completed": 1, "dropped": 1}
    assert found["duration_s"] == 9.0
    assert found["turn_latency_s"]["count"] == 1
    assert found["trajectory_duration_s"]["count"] == 0
    assert found["output_tokens"]["count"] == 1


def test_a_resumed_run_sums_its_sessions_and_leaves_the_seam_out() -> None:
    shifted = [
        *turns()[:2],
        turn(turn=5, position=2, start_ms=900_000),
        turn(trajectory_id="b", position=3, start_ms=902_000),
    ]
    found = metrics.performance(shifted, seams={("a", 5)}, starts=[2])
    assert found["turns"]["issued"] == 4
    assert found["turn_latency_s"]["count"] == 3
    assert found["duration_s"] == 3.171 + 1.211  # 0 to 3.171 s, then trajectory b alone
    assert found["trajectory_duration_s"]["count"] == 1
    assert found["trajectory_duration_s"]["max"] == 1.211


def test_a_trajectory_spread_over_two_sessions_has_no_duration() -> None:
    again = turn(turn=3, position=1, start_ms=900_000)
    assert metrics.performance([turn(), again], starts=[1])["trajectory_duration_s"]["count"] == 0


def test_nothing_replayed_is_nothing_and_not_zero() -> None:
    found = metrics.performance([])
    assert found["decode"] is None
    assert found["duration_s"] is None
    assert found["ttft_s"]["mean"] is None
    assert found["output_tokens_per_s"] is None
    assert found["mlperf"]["qps"] is None


def test_mlperf_counts_the_answer_without_its_end_token_and_divides_by_the_tokens_after_the_first() -> None:
    answered = turn(step_ms=50, tokens=5)  # first to completion: 201 ms, text tokens: 4
    assert metrics.mlperf_output_tokens(answered) == 4
    assert metrics.mlperf_tpot_ms(answered) == 67.0
    assert metrics.mlperf_output_tokens(replace(answered, finish_reason="length")) == 5
    assert metrics.mlperf_tpot_ms(turn(tokens=2)) is None


def test_mlperf_keeps_the_latency_of_failed_turns_but_not_of_turns_given_up_unasked() -> None:
    failed = replace(turn(start_ms=2000), error="timeout", completed_ns=8000 * MS)
    unasked = replace(turn(start_ms=8000), error="not issued", completed_ns=8000 * MS)
    found = metrics.performance([turn(prefill_ms=789), failed, unasked])["mlperf"]
    assert found["latency_ms"]["count"] == 2
    assert found["latency_ms"]["mean"] == 3500.0
    assert found["qps"] == 2 / 8
    assert found["tps"] == 4 / 8


readings = st.lists(st.integers(0, 10**12), min_size=2, max_size=40)


@given(st.integers(0, 10**12), readings)
def test_ttft_and_tpot_lead_to_the_time_of_the_last_token(start: int, steps: list[int]) -> None:
    instants = [start + sum(steps[: i + 1]) for i in range(len(steps))]
    one = replace(
        turn(tokens=len(steps)),
        submitted_ns=start,
        first_token_ns=instants[0],
        token_ns=tuple(instants),
        completed_ns=instants[-1],
    )
    ttft, tpot = metrics.ttft_s(one), metrics.tpot_s(one)
    assert ttft is not None
    assert tpot is not None
    last_s = (instants[-1] - start) / 1e9
    assert ttft + (len(steps) - 1) * tpot == pytest.approx(last_s, rel=1e-9, abs=1e-9)
    assert ttft <= metrics.turn_latency_s(one)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20))
def test_reuse_and_agreement_stay_between_0_and_1(pairs: list[tuple[int, int]]) -> None:
    made = [
        replace(
            turn(),
            possible_tokens=max(pair),
            reused_tokens=min(pair),
            agreement=min(pair) / max(pair) if max(pair) else None,
            agreed_tokens=min(pair),
            output_tokens=max(pair),
        )
        for pair in pairs
    ]
    ratio, found = metrics.prefix_reuse(made)["ratio"], metrics.agreement(made)
    for share in (ratio, found["iou"], found["token_agreement"]):
        assert share is None or 0 <= share <= 1


def test_rates_as_a_server_states_them_are_pooled_over_its_own_times() -> None:
    told = replace(
        turn(tokens=5),
        evaluated_tokens=100,
        server_prefill_ns=2_000 * MS,
        server_decode_ns=500 * MS,
        drafted_tokens=8,
        accepted_tokens=6,
    )
    silent = replace(turn(), evaluated_tokens=None)
    assert metrics.performance([told, silent])["server"] == {
        "prefill_tokens_per_s": 50.0,
        "decode_tokens_per_s": 8.0,
        "draft_acceptance": 0.75,
    }


def test_what_a_server_shares_between_trajectories_is_what_their_first_turns_reused() -> None:
    stated = [
        replace(turn(trajectory_id=name, turn=number), possible_tokens=None, reused_tokens=reused)
        for name, number, reused in (("a", 1, 0), ("a", 3, 50), ("b", 1, 7), ("b", 3, 60))
    ]
    assert metrics.server(stated) == {"shared_tokens": 7}
    silent = replace(stated[0], reused_tokens=None)  # a server that states no count of nothing
    assert metrics.server([silent, *stated[1:]]) == {"shared_tokens": 7}
    assert metrics.server([silent, stated[1]]) == {}
    assert metrics.server([turn()]) == {}


def test_the_time_outside_llama_cpp_is_what_its_own_times_leave() -> None:
    told = turn(
        tokens=5, library_prefill_ns=1_003_000_000, library_decode_ns=199_000_000, prepare_ns=2_000_000
    )
    outside = metrics.outside([told, turn()])
    assert outside["turn_s"]["mean"] == pytest.approx(0.007)  # 10 ms of rendering, 1 s of prefill
    assert outside["token_s"]["mean"] == pytest.approx(0.00025)
    assert (outside["prepare_s"]["count"], outside["prepare_s"]["max"]) == (1, 0.002)
    assert metrics.outside([turn()]) == {}
    assert "outside" not in metrics.performance([turn()])
    short = turn(tokens=1, library_prefill_ns=1, library_decode_ns=0)
    assert metrics.outside([short])["token_s"]["count"] == 0


def test_a_server_that_tells_nothing_has_no_entry() -> None:
    silent = replace(turn(), evaluated_tokens=None)
    assert "server" not in metrics.performance([silent])


def test_mlperf_counts_from_the_first_piece_where_a_server_shows_its_first_token_before() -> None:
    late = replace(turn(start_ms=0, prefill_ms=90, tokens=3), first_piece_ns=150 * MS, completed_ns=300 * MS)
    found = metrics.mlperf([late], 1.0)
    assert found["ttft_ms"]["mean"] == 150.0
    assert found["tpot_ms"]["mean"] == 150.0  # 150 ms for the one of two tokens that is after the first piece
