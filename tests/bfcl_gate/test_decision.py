"""The conditions of a gate, and stopping as soon as they are certain."""

import pytest
from gate_fakes import answer
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.decision import checks_of, decide, failing_count, is_screening, passes, until_decided
from bfcl_gate.lines import Line
from bfcl_gate.ruleset import LINE_FACTOR, MLPERF_FIGURES
from bfcl_gate.scoring import wilson_upper

SUBSETS = ("irrelevance", "live_simple", "multiple", "simple_java", "simple_python")


def line(overall: float | None = None, normalized: float | None = None, **changes: object) -> Line:
    values: dict[str, object] = {"source": "baseline", "reference": "tiny"}
    return Line(**{**values, "overall": overall, "normalized": normalized, **changes})  # type: ignore[arg-type]


MLPERF = line(
    LINE_FACTOR * MLPERF_FIGURES.overall_percent / 100,
    LINE_FACTOR * MLPERF_FIGURES.normalized_percent / 100,
    source="mlperf",
    percent_decimals=2,
)


def python(right: int, wrong: int) -> list[tuple[str, bool]]:
    return [(f"simple_python_{n}", n < right) for n in range(right + wrong)]


lines = st.builds(
    line,
    st.none() | st.floats(0, 1),
    st.none() | st.floats(0, 1),
    percent_decimals=st.none() | st.just(2),
    source=st.sampled_from(["minima", "table"]),
).filter(lambda made: made.overall is not None or made.normalized is not None)
screenings = st.booleans()
marks = st.lists(
    st.tuples(st.sampled_from([f"{subset}_{n}" for subset in SUBSETS for n in range(4)]), st.booleans()),
    min_size=1,
    max_size=20,
)


def test_a_full_gate_passes_at_its_lines_and_fails_one_right_answer_below() -> None:
    half = line(0.5, 0.5)
    assert passes(checks_of(python(2, 2), half, screening=False))
    assert not passes(checks_of(python(1, 3), half, screening=False))


def test_both_lines_must_hold() -> None:
    given_marks = [("irrelevance_0", False), *python(9, 0)]
    overall, normalised = checks_of(given_marks, line(0.9, 0.9), screening=False)
    assert (overall.passed, normalised.passed) == (True, False)
    assert (overall.name, normalised.name) == ("overall accuracy", "normalised accuracy")
    assert overall.detail == "90.00%, at or above the line 90.00% (0.97 x tiny)"
    assert normalised.detail == "50.00%, below the line 90.00% (0.97 x tiny)"


def test_the_mlperf_line_needs_833_of_the_995() -> None:
    (overall, _) = checks_of(python(833, 162), MLPERF, screening=False)
    assert overall.passed is True
    (overall, _) = checks_of(python(832, 163), MLPERF, screening=False)
    assert overall.passed is False
    assert failing_count([""] * 995, MLPERF, screening=False) == 832


def test_the_mlperf_line_compares_percentages_of_two_decimals() -> None:
    # 85.322 % is above 85.3212 %, but as 85.32 % it is below.
    exact = line(None, 0.853212)
    rounded = line(None, 0.853212, percent_decimals=2)
    given_marks = python(85322, 100000 - 85322)
    assert passes(checks_of(given_marks, exact, screening=False))
    assert not passes(checks_of(given_marks, rounded, screening=False))


def test_a_screening_gate_judges_the_upper_bound_of_overall_only() -> None:
    (check,) = checks_of(python(6, 4), line(0.8, 1.0), screening=True)
    assert wilson_upper(6, 10) == pytest.approx(0.8058, abs=1e-4)
    assert check.passed is True
    (check,) = checks_of(python(5, 5), line(0.8, 1.0), screening=True)
    assert check.passed is False
    assert "upper bound" in check.detail


def test_only_the_quick_sample_is_screened_and_explicit_minima_judge_it_as_given() -> None:
    assert is_screening("quick", line(0.5))
    assert not is_screening("mlperf", line(0.5))
    assert not is_screening("quick", line(0.5, source="minima"))


def test_an_undefined_normalised_accuracy_misses_a_line_that_was_given() -> None:
    (check,) = checks_of([("live_relevance_0-0-0", True)], line(None, 0.1), screening=False)
    assert check.passed is False
    assert "undefined" in check.detail


def test_no_condition_is_no_pass() -> None:
    assert passes(()) is False


@given(marks, lines, screenings, st.data())
def test_another_right_answer_never_turns_a_pass_into_a_fail(
    given_marks: list[tuple[str, bool]], least: Line, screening: bool, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(given_marks) - 1))
    better = list(given_marks)
    better[place] = (better[place][0], True)
    if passes(checks_of(given_marks, least, screening=screening)):
        assert passes(checks_of(better, least, screening=screening))


@given(marks, lines, screenings)
def test_stopping_when_decided_gives_the_verdict_of_the_whole(
    given_marks: list[tuple[str, bool]], least: Line, screening: bool
) -> None:
    ids = [sample_id for sample_id, _ in given_marks]
    answers = [answer(sample_id, right) for sample_id, right in given_marks]
    asked = list(until_decided(answers, ids, least, screening=screening))
    assert asked == answers[: len(asked)]
    early = decide([(a.id, a.correct) for a in asked], ids[len(asked) :], least, screening=screening)
    assert early is not None
    assert passes(early) == passes(checks_of(given_marks, least, screening=screening))


@given(marks, lines, screenings)
def test_nothing_is_decided_a_moment_too_late(
    given_marks: list[tuple[str, bool]], least: Line, screening: bool
) -> None:
    ids = [sample_id for sample_id, _ in given_marks]
    answers = [answer(sample_id, right) for sample_id, right in given_marks]
    asked = list(until_decided(answers, ids, least, screening=screening))
    before = [(a.id, a.correct) for a in asked[:-1]]
    verdicts = {
        passes(checks_of([*before, *((i, right) for i in ids[len(before) :])], least, screening=screening))
        for right in (True, False)
    }
    assert verdicts == {True, False} or len(asked) == 1


def test_what_was_not_asked_is_named_in_the_finding() -> None:
    found = decide(python(3, 0), ["simple_python_8"], line(0.5), screening=False)
    assert found is not None
    assert found[0].detail.endswith("; the 1 not asked counted as wrong")
    found = decide(python(0, 3), ["simple_python_8"], line(0.5), screening=False)
    assert found is not None
    assert found[0].detail.endswith("; the 1 not asked counted as right")


@given(st.integers(1, 200), lines, screenings)
def test_the_failing_count_is_the_last_that_fails(total: int, least: Line, screening: bool) -> None:
    failing = failing_count([""] * total, least, screening=screening)
    judged = line(least.overall, None, source=least.source, percent_decimals=least.percent_decimals)
    if least.overall is None:
        assert failing == -1
        return
    for right, expected in ((failing, False), (failing + 1, True)):
        if 0 <= right <= total:
            assert passes(checks_of(python(right, total - right), judged, screening=screening)) is expected
