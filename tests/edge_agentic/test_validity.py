"""Each rule: kept, broken, and silent where the facts are missing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fake_run import manifest, snapshots, turn, turns

from edge_agentic.turns import TurnResult
from edge_agentic.validity import INVALID, WARN, Check, check_run, valid


def checks(
    made: Sequence[TurnResult] = turns(),
    *,
    before: Any = None,
    after: Any = None,
    strict: bool = False,
    **facts: Any,
) -> dict[str, Check]:
    """The checks of a run by name; `facts` replace parts of the manifest."""
    pairs = [] if before is None else [{"before": before, "after": after}]
    found = check_run({**manifest(), **facts}, made, snapshots=pairs, strict=strict)
    return {check.name: check for check in found}


def natural(**changes: Any) -> TurnResult:
    return turn(
        **{"decode": "natural", "finish_reason": "stop", "text": "x", "agreed_tokens": None, **changes}
    )


def local(**facts: Any) -> dict[str, Any]:
    return {**manifest()["engine"], **facts}


def test_a_broken_invalid_rule_makes_a_run_invalid_and_a_warning_does_not() -> None:
    assert valid([Check("a", WARN, False, ""), Check("b", INVALID, True, "")])
    assert not valid([Check("b", INVALID, False, "")])


def test_a_complete_run_is_complete() -> None:
    assert checks()["completeness"] == Check("completeness", INVALID, True, "5 of 5 turns answered.")


def test_dropped_missing_and_repeated_turns_are_named() -> None:
    dropped = replace(turns()[1], error="timeout")
    found = checks([turns()[0], dropped, turns()[0]])["completeness"]
    assert not found.passed
    assert found.detail == (
        "2 of 5 turns answered; 1 dropped (first: a turn 3: timeout); 3 never asked; 1 asked twice."
    )


def test_a_run_without_a_turn_is_not_complete() -> None:
    assert not checks([], planned={})["completeness"].passed


def test_an_answer_cut_by_the_context_is_invalid_and_one_cut_by_max_tokens_is_not() -> None:
    cut = natural(input_tokens=500, finish_reason="length", tokens=12)
    assert not checks([cut])["context"].passed
    assert checks([cut], options={"max_tokens": 12})["context"].passed
    assert "context" not in checks([cut], engine={"kind": "endpoint"})


def test_a_largest_prompt_below_the_planned_one_was_shortened() -> None:
    assert not checks(planned={"turns": 5, "largest_prompt_tokens": 201})["prompts_whole"].passed
    assert checks(planned={"turns": 5, "largest_prompt_tokens": 200})["prompts_whole"].passed


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"reused_tokens": 1}, "100 input tokens are not 1 reused + 100 evaluated"),
        ({"rendered_ns": 2_000_000_000}, "clock readings run backwards"),
        ({"completed_ns": 5}, "clock readings run backwards"),
        ({"output_tokens": 6}, "6 output tokens have 5 timestamps"),
        ({"first_token_ns": 900_000_000}, "the first token has two different timestamps"),
    ],
)
def test_readings_that_do_not_add_up_are_invalid(changes: dict[str, Any], fault: str) -> None:
    found = checks([replace(turn(), **changes)])["bookkeeping"]
    assert not found.passed
    assert fault in found.detail


def test_an_endpoint_may_send_several_tokens_at_once() -> None:
    assert checks([replace(turn(), output_tokens=9)], engine={"kind": "endpoint"})["bookkeeping"].passed


def test_more_than_one_answer_in_twenty_cut_by_max_tokens_is_a_warning() -> None:
    own = [natural(turn=i) for i in range(19)]
    assert checks([*own, natural(turn=19, finish_reason="length")])["max_tokens"].passed
    found = checks([*own[:18], natural(turn=18, finish_reason="length")])["max_tokens"]
    assert (found.level, found.passed) == (WARN, False)


def test_more_than_a_fifth_of_empty_answers_is_a_warning() -> None:
    empty = natural(tokens=1, text="")
    assert checks([natural()] * 4 + [empty])["empty_answers"].passed
    assert not checks([natural()] * 3 + [empty])["empty_answers"].passed


def test_an_uncounted_answer_is_empty_when_it_says_and_calls_nothing() -> None:
    silent = natural(output_tokens=None, text="")
    calling = natural(output_tokens=None, text="", tool_calls=({"name": "bash", "arguments": "{}"},))
    assert not checks([silent], engine={"kind": "endpoint"})["empty_answers"].passed
    assert checks([calling], engine={"kind": "endpoint"})["empty_answers"].passed


def test_forced_answers_are_not_the_models_own() -> None:
    assert {"max_tokens", "empty_answers"} & checks().keys() == set()


def test_a_lost_prefix_is_a_warning() -> None:
    assert not checks()["prefix_reuse"].passed
    assert checks(turns()[:4])["prefix_reuse"].passed
    assert "prefix_reuse" not in checks(turns()[:1])


def drifting(last_step_ms: int) -> list[TurnResult]:
    """Eight equally deep turns; the last two decode at `last_step_ms` a step instead of 50."""
    steps = [50] * 6 + [last_step_ms] * 2
    return [turn(turn=i, position=i, tokens=65, step_ms=step) for i, step in enumerate(steps)]


@pytest.mark.parametrize(("step_ms", "kept"), [(50, True), (55, True), (56, False), (44, False)])
def test_the_last_quarter_must_decode_like_the_first_at_equal_depth(step_ms: int, kept: bool) -> None:
    assert checks(drifting(step_ms))["drift"].passed is kept


def test_drift_is_a_warning_and_invalid_under_a_strict_ruleset() -> None:
    assert checks(drifting(60))["drift"].level == WARN
    assert checks(drifting(60), strict=True)["drift"].level == INVALID


def test_drift_is_not_judged_without_common_depths() -> None:
    growing = [replace(t, input_tokens=2048 * i) for i, t in enumerate(drifting(60))]
    assert "drift" not in checks(growing)


def test_facts_that_were_not_recorded_make_no_check() -> None:
    assert checks(before={}, after={}, engine={}, planned={}, options={}).keys() == {
        "completeness",
        "bookkeeping",
        "prefix_reuse",
    }


@pytest.mark.parametrize(
    ("asked", "offloaded", "kept"), [(-1, 25, True), (-1, 24, False), (10, 10, True), (0, 0, True)]
)
def test_the_layers_asked_for_must_be_on_the_gpu(asked: int, offloaded: int, kept: bool) -> None:
    engine = local(gpu_layers=asked, layers=24, offloaded_layers=offloaded)
    assert checks(engine=engine)["offload"].passed is kept


CASES = [
    ("suspend", {"suspended_s": 5.0}, {"suspended_s": 5.1}, {"suspended_s": 6.0}),
    (
        "clock_step",
        {"wall_minus_monotonic_s": 100.0, "suspended_s": 0.0},
        {"wall_minus_monotonic_s": 107.0, "suspended_s": 7.0},
        {"wall_minus_monotonic_s": 100.1, "suspended_s": 0.0},
    ),
    ("throttling", {"throttle_events": 3}, {"throttle_events": 3}, {"throttle_events": 4}),
    ("swap_in", {"swapped_in_bytes": 0}, {"swapped_in_bytes": 1000}, {"swapped_in_bytes": 1001}),
    ("memory", {"oom_kills": 0}, {"memory_available_bytes": 2**30}, {"memory_available_bytes": 2**30 - 1}),
    (
        "memory",
        {"memory_available_bytes": 2**33, "oom_kills": 0},
        {"memory_available_bytes": 2**33, "oom_kills": 0},
        {"memory_available_bytes": 2**33, "oom_kills": 1},
    ),
    (
        "container_cpu",
        {"cgroup_cpu": {"periods": 0, "throttled": 0}},
        {"cgroup_cpu": {"periods": 100, "throttled": 1}},
        {"cgroup_cpu": {"periods": 100, "throttled": 2}},
    ),
    (
        "cpu_load",
        {"cpu": {"busy_s": 0, "total_s": 0, "own_s": 0}},
        {"cpu": {"busy_s": 9, "total_s": 10, "own_s": 8}},
        {"cpu": {"busy_s": 9, "total_s": 10, "own_s": 7}},
    ),
    (
        "model_unchanged",
        {"model_file": {"bytes": 5, "modified_ns": 1}},
        {"model_file": {"bytes": 5, "modified_ns": 1}},
        {"model_file": {"bytes": 5, "modified_ns": 2}},
    ),
    ("governor", {"power": {"governor": "performance"}}, {"power": {}}, None),
    (
        "power_unchanged",
        {"power": {"governor": "performance"}},
        {"power": {"governor": "performance"}},
        {"power": {"governor": "schedutil"}},
    ),
    (
        "battery",
        {"power": {"battery": "Full", "mains_online": True}},
        {"power": {"battery": "Charging", "mains_online": True}},
        {"power": {"battery": "Discharging", "mains_online": True}},
    ),
]


@pytest.mark.parametrize(("name", "before", "kept", "broken"), CASES)
def test_each_counter_has_a_value_that_is_tolerated_and_one_that_is_not(
    name: str, before: dict[str, Any], kept: dict[str, Any], broken: dict[str, Any] | None
) -> None:
    assert checks(before=before, after={**kept, "seen": 1})[name].passed
    if broken is not None:
        assert not checks(before=before, after=broken)[name].passed


def test_powersave_is_fine_where_the_hardware_chooses_its_clock() -> None:
    slow, smart = {"governor": "powersave"}, {"governor": "powersave", "driver": "intel_pstate"}
    assert not checks(before={"power": slow}, after={"power": slow})["governor"].passed
    assert checks(before={"power": smart}, after={"power": smart})["governor"].passed


def test_a_cooling_device_that_slows_the_machine_is_throttling() -> None:
    found = checks(
        before={"throttle_events": 0}, after={"throttle_events": 0, "cooling_active": ["cpu-throttle"]}
    )
    assert found["throttling"] == Check(
        "throttling", WARN, False, "0 throttle events were counted; slowed at the end by cpu-throttle."
    )


def test_the_load_of_another_machine_is_not_judged() -> None:
    pair = snapshots()[0]
    assert "cpu_load" in checks(before=pair["before"], after=pair["after"])
    assert "cpu_load" not in checks(before=pair["before"], after=pair["after"], engine={"kind": "endpoint"})


def test_counters_are_summed_over_the_sessions_and_a_crashed_session_is_left_out() -> None:
    pairs = [
        {"before": {"swapped_in_bytes": 0}, "after": {"swapped_in_bytes": 600}},
        {"before": {"swapped_in_bytes": 9000}},
        {"before": {"swapped_in_bytes": 100}, "after": {"swapped_in_bytes": 700}},
    ]
    found = {check.name: check for check in check_run(manifest(), turns(), snapshots=pairs)}
    assert not found["swap_in"].passed  # 1,200 bytes are more than 0.1 % of 1,000,000


def sized(tokens: int, size: int) -> TurnResult:
    return natural(input_tokens=tokens, evaluated_tokens=tokens, request_bytes=size)


def test_prompts_that_a_server_cut_in_silence_are_found_by_their_size() -> None:
    grown = [sized(size // 4, size) for size in range(4_000, 40_000, 4_000)]
    assert checks(grown)["prompts_uncut"].passed
    cut = [replace(one, input_tokens=min(one.input_tokens or 0, 3_000)) for one in grown]
    found = checks(cut)["prompts_uncut"]
    assert (found.level, found.passed) == (INVALID, False)
    assert found.detail.startswith("3 of 9 prompts have less than half the tokens")
    assert "none of them more than 3,000" in found.detail


def test_prompts_of_a_local_engine_are_not_judged_by_size() -> None:
    assert "prompts_uncut" not in checks()


@pytest.mark.parametrize(
    ("seconds", "passed", "told"),
    [
        ((599, 600), True, "0 turns took longer than 600 s"),
        ((10, 601), False, "1 turn took longer than 600 s"),
        ((600,) * 24, True, "all of them 14400 s, at most 14400 s"),
        ((600,) * 25, False, "all of them 15000 s, at most 14400 s"),
    ],
)
def test_what_the_reference_would_have_ended_is_invalid(
    seconds: Sequence[int], passed: bool, told: str
) -> None:
    made = [replace(turns()[0], completed_ns=turns()[0].submitted_ns + s * 10**9) for s in seconds]
    found = checks(made, limits={"turn_s": 600, "replay_s": 14_400})["deadlines"]
    assert (found.level, found.passed) == (INVALID, passed)
    assert told in found.detail


def test_a_ruleset_without_limits_has_no_deadlines() -> None:
    assert "deadlines" not in checks()


def found_at_server(level: str, passed: bool | None) -> dict[str, Any]:
    return {"name": "cache", "level": level, "passed": passed, "detail": "0 of 9 reused", "meaning": "slow"}


@pytest.mark.parametrize(("level", "passed"), [(WARN, False), (INVALID, False), (WARN, True)])
def test_what_the_preflight_found_is_a_rule(level: str, passed: bool) -> None:
    found = checks(engine={"kind": "endpoint"}, preflight=[found_at_server(level, passed)])["server_cache"]
    assert found == Check("server_cache", level, passed, "0 of 9 reused.")


def test_what_was_found_of_the_local_engine_has_its_name() -> None:
    found = checks(engine={"kind": "local"}, preflight=[found_at_server(WARN, False)])
    assert found["engine_cache"].passed is False


@pytest.mark.parametrize(("level", "passed"), [(WARN, None), ("INFO", False)])
def test_what_could_not_be_told_or_is_only_good_to_know_is_no_rule(level: str, passed: bool | None) -> None:
    assert not any("cache" in name for name in checks(preflight=[found_at_server(level, passed)]))
