"""The gate object of result.json and the words about it."""

from dataclasses import replace

import pytest
from gate_fakes import answer

from bfcl_gate.gate_text import gate_text, misses_text, summary_line
from bfcl_gate.junit import junit_xml
from bfcl_gate.lines import Line, LineOptions
from bfcl_gate.preflight import PreflightReport
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.verdict import gate_object, judge_answers, judge_preflight

POLICY = GatePolicy(sample="ids.txt")
PROMISED = (
    "passed screening reference rules tool_schemas calls samples overall_accuracy overall_interval "
    "normalized_accuracy native lenient categories subsets checks"
)
ANSWERS = [
    answer("irrelevance_0", True),
    answer("irrelevance_1", False, error="HTTP 500", text=None, mark_error="gate_error:request_failed"),
    answer("simple_java_36", False, True),
    answer("simple_python_0", False, True, finish_reason="length"),
    answer("simple_python_1", False, text="", attempts=({"name": "f", "raw_arguments": "["},)),
]
IDS = [given.id for given in ANSWERS]
LINE = Line(
    source="baseline",
    reference="baseline old",
    overall=0.5,
    normalized=0.5,
    reference_overall=0.6,
    marks={"irrelevance_0": False, "simple_java_36": True, "simple_python_1": True},
)


def test_the_object_holds_every_promised_key() -> None:
    gate = gate_object(ANSWERS, IDS, POLICY, LINE)
    assert set(PROMISED.split()) <= set(gate)
    assert {"overall_accuracy", "normalized_accuracy"} <= set(gate["native"]) & set(gate["lenient"])
    assert gate["subsets"]["simple_python"] | {"interval": None} == {
        "samples": 2,
        "correct": 1,
        "accuracy": 0.5,
        "interval": None,
    }
    assert (gate["passed"], gate["screening"], gate["reference"]) == (True, False, "baseline old")
    assert (gate["samples"], gate["sample"], gate["partial"]) == (5, "file", False)


def test_the_judged_mode_gives_the_top_figures_and_both_modes_stand_beside_it() -> None:
    gate = gate_object(ANSWERS, IDS, POLICY, LINE)
    assert gate["overall_accuracy"] == gate["lenient"]["overall_accuracy"] == 3 / 5
    assert gate["native"]["overall_accuracy"] == 1 / 5
    # hallucination 1/2; non_live the mean of simple_java 1/1 and simple_python 1/2
    assert gate["normalized_accuracy"] == (1 / 2 + 3 / 4) / 2
    assert gate["categories"]["non_live"]["accuracy"] == 3 / 4


def test_what_went_wrong_is_counted() -> None:
    gate = gate_object(ANSWERS, IDS, POLICY, LINE)
    assert gate["failed_requests"] == 1
    assert gate["failed_requests_the_reference_credits"] == 1
    assert gate["token_limit_answers"] == 1
    assert gate["empty_answers"] == 0
    assert gate["malformed_answers"] == 1
    assert gate["unpassable_samples"] == ["simple_java_36"]


def test_a_comparison_lists_what_flipped_and_decides_nothing() -> None:
    gate = gate_object(ANSWERS, IDS, POLICY, LINE)
    assert gate["comparison"] == {
        "samples": 3,
        "gained": ["irrelevance_0"],
        "lost": ["simple_python_1"],
        "mcnemar_p": 1.0,
    }


def test_without_a_line_nothing_is_judged() -> None:
    gate = gate_object(ANSWERS, IDS, POLICY, None)
    assert (gate["passed"], gate["checks"], gate["chance"], gate["comparison"]) == (None, [], None, None)


def test_a_run_stopped_early_is_partial_and_keeps_the_verdict_of_the_whole() -> None:
    line = Line(source="minima", reference="explicit minima", overall=0.5, normalized=None)
    gate = gate_object(ANSWERS, [*IDS, "simple_python_2"], POLICY, line)
    assert (gate["passed"], gate["partial"], gate["samples"], gate["planned_samples"]) == (True, True, 5, 6)
    assert gate["chance"]["false_fail_probability"] is None
    assert any("stopped after 5 of 6" in note for note in gate["notes"])


def test_the_quick_sample_is_a_screening_gate() -> None:
    gate = judge_answers(ANSWERS, GatePolicy(sample="quick"), LineOptions(), None)
    assert gate["screening"] is True
    assert [check["name"] for check in gate["checks"]] == ["overall accuracy (screening)"]


def test_chance_is_told_from_the_models_own_counts() -> None:
    answers = [answer("simple_python_0", True), answer("simple_python_1", False)]
    line = Line(source="minima", reference="explicit minima", overall=0.5, normalized=None)
    gate = gate_object(answers, [a.id for a in answers], POLICY, line)
    # Two fair draws: none right in a quarter of cases. 0 of 2 fails; P(0 of 2) = 0.8 at 1 - sqrt(0.8).
    assert gate["chance"]["false_fail_probability"] == pytest.approx(0.25)
    assert gate["chance"]["visible_accuracy"] == pytest.approx(1 - 0.8**0.5)


def test_the_whole_report_reads_like_this() -> None:
    assert gate_text(gate_object(ANSWERS, IDS, POLICY, LINE)) == REPORT


def test_the_summary_is_one_line() -> None:
    assert summary_line(gate_object(ANSWERS, IDS, POLICY, None)) == (
        "NOT JUDGED overall=60.00% normalized=62.50% calls=lenient sample=file samples=5/5 "
        "partial=no rules=mlperf tool-schemas=mlperf line=none\n"
    )


def test_summary_and_junit_say_where_a_run_stopped_early() -> None:
    gate = gate_object(ANSWERS, [*IDS, "irrelevance_9"], POLICY, replace(LINE, overall=0.1, normalized=0.1))
    assert "samples=5/6 partial=yes" in summary_line(gate)
    xml = junit_xml(gate).decode()
    assert '<property name="planned_samples" value="6" />' in xml
    assert '<property name="partial" value="yes" />' in xml


def test_a_set_that_is_no_known_sample_is_partial_too() -> None:
    gate = gate_object(ANSWERS, IDS, GatePolicy(sample="partial"), None)
    assert "sample=partial samples=5/5 partial=yes" in summary_line(gate)
    assert '<property name="partial" value="yes" />' in junit_xml(gate).decode()


def test_the_summary_of_a_run_that_ended_at_its_preflight_says_so() -> None:
    report = PreflightReport(passed=False, answers=(), cause="prose", raw="no")
    assert "NOT PASSED overall=undefined normalized=undefined" in summary_line(
        judge_preflight(report, POLICY, 995, screening=False)
    )
    assert "samples=0/995 partial=yes" in summary_line(judge_preflight(report, POLICY, 995, screening=False))


def test_misses_are_listed_with_their_reason_and_the_beginning_of_the_answer() -> None:
    wrong = [
        answer("simple_python_0", False, text="a\n  b", mark_error="type_error:simple"),
        answer("irrelevance_0", False, text="x" * 70, error="HTTP 500"),
    ]
    assert misses_text(wrong).splitlines() == [
        "",
        "Misses",
        "simple_python_0  type_error:simple  a b",
        f"irrelevance_0    HTTP 500           {'x' * 60}…",
    ]
    assert misses_text([]) == ""


def test_junit_holds_a_case_for_each_check() -> None:
    gate = gate_object(
        ANSWERS, IDS, POLICY, Line(source="minima", reference="m\x1b", overall=0.9, normalized=0.5)
    )
    xml = junit_xml(gate).decode()
    assert 'name="bfcl-gate" tests="2" failures="1" skipped="0"' in xml
    assert '<failure message="60.00%, below the line 90.00% (m)" />' in xml
    assert "\x1b" not in xml


def test_junit_without_a_line_holds_one_skipped_case() -> None:
    xml = junit_xml(gate_object(ANSWERS, IDS, POLICY, None)).decode()
    assert 'tests="1" failures="0" skipped="1"' in xml
    assert "<skipped" in xml


REPORT = """\
BFCL gate: PASSED (file sample, 5 answers; rules mlperf, tool schemas mlperf, lenient calls judged)

  ok      overall accuracy: 60.00%, at or above the line 50.00% (0.97 x baseline old)
  ok      normalised accuracy: 62.50%, at or above the line 50.00% (0.97 x baseline old)

                 samples  native                   lenient (judged)
overall                5    20.00% [  3.6,  62.4]    60.00% [ 23.1,  88.2]
normalised             5    25.00% [  0.0,  50.0]    62.50% [ 25.0, 100.0]
hallucination          2    50.00% [  0.0, 100.0]    50.00% [  0.0, 100.0]
non_live               3     0.00% [  0.0,   0.0]    75.00% [ 50.0, 100.0]
  irrelevance          2    50.00% [  9.5,  90.5]    50.00% [  9.5,  90.5]
  simple_java          1     0.00% [  0.0,  79.3]   100.00% [ 20.7, 100.0]
  simple_python        2     0.00% [  0.0,  65.8]    50.00% [  9.5,  90.5]

failed requests 1, answers ended by the token limit 1, empty answers 0
intervals are 95 %: Wilson, for normalised and categories bootstrapped

- A gate of 5 samples fails a true overall accuracy of 32.7% (a drop of 27.3 points from the reference) four
  times in five; a smaller drop can pass unseen. Drawn anew, samples like these would fail this model 31.2% of
  the time.
- Sample by sample against the stored marks (3 shared): 1 gained, 1 lost, McNemar p = 1 (decides nothing):
  +irrelevance_0, -simple_python_1.
- 1 failed request, wrong here; MLPerf's scorer would credit 1 of them, on irrelevance and live_irrelevance.
- Warning: 20.0% of the answers were ended by the token limit, so the model may know more than it could say;
  raise --max-tokens, or switch reasoning off.
- 1 answer with a call that does not decode, judged as the reference judges it; 0 answers on which a
  reference's scorer would crash, wrong here.
- Ceiling: no call can pass simple_java_36; mlperf tool schemas declare Java and JavaScript types where the
  checker demands text: an answer that obeys the schema gets 61.3 % of simple_java and 41.9 % of
  simple_javascript in the 995.
"""
