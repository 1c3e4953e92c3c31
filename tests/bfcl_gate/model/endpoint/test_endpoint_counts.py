import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.model.endpoint_engine.counts import Counts, counts_of

TIMINGS = {"cache_n": 90, "prompt_n": 10, "prompt_ms": 2.5, "predicted_n": 7, "predicted_ms": 60.0}
USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 90}}
TOKENS = ("input_tokens", "reused_tokens", "evaluated_tokens", "output_tokens")


def tokens(usage: Any, timings: Any) -> tuple[int | None, ...]:
    counts = counts_of(usage, timings)
    return tuple(getattr(counts, name) for name in TOKENS)


def test_timings_alone_tell_everything() -> None:
    drafts = {"draft_n": 8, "draft_n_accepted": 6}
    assert counts_of(None, {**TIMINGS, **drafts}) == Counts(
        input_tokens=100,
        reused_tokens=90,
        evaluated_tokens=10,
        output_tokens=7,
        prefill_ns=2_500_000,
        decode_ns=60_000_000,
        drafted_tokens=8,
        accepted_tokens=6,
    )


def test_usage_alone_tells_the_tokens() -> None:
    assert tokens(USAGE, None) == (100, 90, 10, 7)


def test_without_a_count_of_reuse_nothing_is_known_of_what_was_evaluated() -> None:
    assert tokens({"prompt_tokens": 100, "completion_tokens": 7}, None) == (100, None, None, 7)
    assert tokens({"prompt_tokens": 100}, {"prompt_n": 10}) == (100, None, 10, None)


def test_two_statements_of_one_number_that_differ_are_no_statement() -> None:
    assert tokens({**USAGE, "completion_tokens": 9}, TIMINGS) == (100, 90, 10, None)
    assert tokens({**USAGE, "prompt_tokens_details": {"cached_tokens": 1}}, TIMINGS) == (100, None, 10, 7)


def test_more_reused_than_there_was_is_not_subtracted() -> None:
    assert tokens({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, None) == (
        5,
        9,
        None,
        None,
    )


@pytest.mark.parametrize("nonsense", [-1, 1.5, True, "7", None, [7], 1 << 50])
def test_a_count_that_is_no_count_is_unknown(nonsense: object) -> None:
    assert tokens({"prompt_tokens": nonsense, "completion_tokens": nonsense}, None) == (None,) * 4


@pytest.mark.parametrize("nonsense", [-0.1, math.nan, math.inf, "1", None, 1e300, 10**400])
def test_a_time_that_is_no_time_is_unknown(nonsense: object) -> None:
    assert counts_of(None, {"prompt_ms": nonsense}).prefill_ns is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from([*USAGE]), json_values) | json_values,
    st.dictionaries(st.sampled_from([*TIMINGS]), json_values) | json_values,
)
def test_whatever_a_server_states_is_counts_or_nothing(usage: Any, timings: Any) -> None:
    for value in tokens(usage, timings):
        assert value is None or value >= 0
