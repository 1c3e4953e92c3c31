"""What every layout of a report must do, whatever it looks like."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from fake_run import gate, manifest, result, turn, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl_gate.errors import InputError
from edge_agentic.report.comparison import work_of
from edge_agentic.report.console import render_text
from edge_agentic.report.content import verdict
from edge_agentic.report.csv import TIMES, render_csv
from edge_agentic.report.document import (
    build_result,
    check_manifest,
    check_result,
    ungated_performance,
)
from edge_agentic.report.html import render_html
from edge_agentic.report.stored import StoredRun, StoredTurns, result_of, ungated_of
from edge_agentic.report.words import clean, count, number, percent, seconds
from edge_agentic.validity import INVALID, WARN, Check

SPEED_WORDS = ("TTFT", "TPOT", "tokens/s", "latency", "QPS", "wall time")
HOSTILE = "\x1b[2J<script>alert(1)</script>&\"'\n\u202e\ud800valid"


def page(made: Mapping[str, Any], **options: Any) -> str:
    return render_html(made, turns(), **options)


def checked(*checks: Check, passed: bool = True) -> dict[str, Any]:
    return build_result(manifest(), turns(), gate(passed=passed), checks)


@pytest.mark.parametrize(
    ("made", "head"),
    [
        (checked(), "VALID. "),
        (checked(Check("drift", WARN, False, "")), "VALID. "),
        (checked(Check("suspend", INVALID, False, "")), "INVALID. "),
        (checked(passed=False), "GATE FAILED. "),
        (checked(Check("suspend", INVALID, False, ""), passed=False), "INVALID, GATE FAILED. "),
        (build_result(manifest(), turns(), None, (), complete=False), "INCOMPLETE. "),
    ],
)
def test_the_first_line_is_the_verdict(made: dict[str, Any], head: str) -> None:
    assert verdict(made).startswith(head)
    assert render_text(made).startswith(head)
    assert "\n" not in verdict(made)


def test_the_first_line_names_the_broken_rules_and_says_reduced() -> None:
    line = verdict(checked(Check("suspend", INVALID, False, ""), Check("swap_in", INVALID, False, "")))
    assert "broke 2 rules (suspend, swap_in)" in line
    assert line.endswith("Reduced: not comparable to the full workload.")


@pytest.mark.parametrize("render", [render_text, page])
@pytest.mark.parametrize(
    "made", [result(passed=False), build_result(manifest(), turns(), None, (), complete=False)]
)
def test_without_a_passed_gate_nothing_about_speed_is_said(
    render: Callable[[Mapping[str, Any]], str], made: dict[str, Any]
) -> None:
    text = render(made)
    assert [word for word in SPEED_WORDS if word in text] == []
    assert "<svg" not in text


def test_csv_without_a_passed_gate_has_empty_columns_of_speed() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(turns(), gated=False))))
    assert {row[name] for row in rows for name in TIMES} == {""}
    assert [row["input_tokens"] for row in rows] == ["100", "200", "200", "100", "200"]


def test_text_shown_ungated_marks_every_line_about_speed() -> None:
    text = render_text(result(passed=False), show_ungated=ungated_performance(turns()))
    lines = [line for line in text.splitlines() if any(word in line for word in SPEED_WORDS)]
    assert len(lines) > 10
    assert all(line.startswith("UNGATED") for line in lines)


def test_html_shown_ungated_marks_every_heading_row_and_plot_about_speed() -> None:
    text = page(result(passed=False), show_ungated=ungated_performance(turns()))
    lines = [line for line in text.splitlines() if any(word in line for word in SPEED_WORDS)]
    told = [line for line in lines if line.startswith(("<h2>", "<tr><td>", "<p>"))]
    assert len(told) > 10
    assert all(line.partition(">")[2].removeprefix("<td>").startswith("UNGATED") for line in told)
    assert text.count("<svg") == 3


def test_a_section_without_rows_is_its_title_alone() -> None:
    bare = {**gate(), "checks": [], "notes": [], "reference": None}
    text = render_text(build_result(manifest(), turns(), bare, ()))
    assert "\n\nValidity: 0 of 0 rules kept\n\nNext" in text
    assert (
        "\n\nGate: screening gate passed (8 samples, rules mlperf, tool schemas mlperf)\n\nAccuracy" in text
    )


def test_a_passed_gate_marks_nothing() -> None:
    assert "UNGATED" not in render_text(result(), show_ungated=ungated_performance(turns()))
    assert "UNGATED" not in page(result(), show_ungated=ungated_performance(turns()))


def hostile() -> dict[str, Any]:
    made = result()
    made["gate"] = {
        **made["gate"],
        "reference": HOSTILE,
        "checks": [{"name": HOSTILE, "passed": True, "detail": HOSTILE}],
        "subsets": {HOSTILE: {"samples": 1, "correct": 1, "accuracy": 1.0}},
        "categories": {HOSTILE: {"accuracy": 1.0}},
    }
    made["model"] = {"name": HOSTILE, HOSTILE: HOSTILE}
    made["trace"] = {"name": HOSTILE}
    made["engine"] = {"kind": HOSTILE, "build": HOSTILE}
    made["environment"] = {"machine": HOSTILE}
    made["validity"] = [Check(HOSTILE, WARN, False, HOSTILE).to_dict()]
    made["performance"] = {
        **made["performance"],
        "decode": HOSTILE,
        "roofline": {HOSTILE: HOSTILE},
        "energy": {HOSTILE: {HOSTILE: 1}},
    }
    made.update(engine_id=HOSTILE, ruleset=HOSTILE, created_at=HOSTILE, tool_version=HOSTILE)
    return made


def test_text_shows_no_control_character_and_no_foreign_line() -> None:
    text = render_text(hostile())
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert [line for line in text.splitlines() if line.startswith(("<script", "valid"))] == []


class Tags(HTMLParser):
    """Collects the tags and attribute names of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_html_holds_no_script_no_foreign_tag_and_no_address() -> None:
    odd = [replace(one, trajectory_id=HOSTILE, error=None) for one in turns()]
    text = render_html(hostile(), odd)
    tags = Tags()
    tags.feed(text)
    assert tags.tags == {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div"),
        *("table", "tr", "th", "td", "svg", "circle", "rect", "line", "text"),
    }
    assert not {name for name in tags.attributes if name.startswith("on") or name in ("src", "href")}
    assert "http:" not in text
    assert "https:" not in text
    assert [c for c in text if not c.isprintable() and c != "\n"] == []


def test_html_plots_leave_out_what_does_not_exist() -> None:
    blind = replace(turn(), input_tokens=None)
    assert render_html(result(), [blind]).count("<svg") == 1
    assert render_html(result(), []).count("<svg") == 0
    assert (
        render_html(result(), turns(), seams={(t.trajectory_id, t.turn) for t in turns()}).count("<svg") == 0
    )


def test_csv_has_one_row_a_turn_with_its_own_readings() -> None:
    dropped = replace(turn(turn=7), error="timeout")
    text = render_csv([*turns(), dropped], gated=True, seams={("a", 3)})
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 6
    assert (rows[0]["ttft_s"], rows[0]["tpot_s"], rows[0]["decode_tokens_per_s"]) == ("1.01", "0.05", "20.0")
    assert [row["seam"] for row in rows] == ["0", "1", "0", "0", "0", "0"]
    assert (rows[5]["error"], rows[5]["ttft_s"]) == ("timeout", "")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("=cmd()", "'=cmd()"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\t=x", "\\t=x"),
        ("a\r\nb,c", "a\\r\\nb,c"),
    ],
)
def test_csv_gives_a_spreadsheet_no_formula_and_no_foreign_row(name: str, shown: str) -> None:
    text = render_csv([replace(turn(), trajectory_id=name)], gated=True)
    assert [row["trajectory_id"] for row in csv.DictReader(io.StringIO(text))] == [shown]


def test_what_does_not_exist_is_not_printed() -> None:
    blind = tuple(
        replace(
            t,
            decode="natural",
            input_tokens=None,
            possible_tokens=None,
            reused_tokens=None,
            evaluated_tokens=None,
            output_tokens=None,
            rendered_ns=None,
            agreed_tokens=None,
        )
        for t in turns()
    )
    text = render_text(build_result(manifest(), blind, gate(), ()))
    assert "TTFT" in text
    for absent in (
        "TPOT",
        "prefill",
        "tokens/s",
        "prefix reuse",
        "token agreement",
        "None",
        "nan",
        "certified",
    ):
        assert absent not in text


def test_certified_percentiles_appear_when_there_are_enough_turns() -> None:
    many = [turn(turn=i, position=i, start_ms=2000 * i) for i in range(64)]
    text = render_text(build_result(manifest(), many, gate(), ()))
    block = text[text.index("At most, with 99 % confidence") :].split("\n\n")[0].splitlines()
    assert block[1].split() == ["p50", "p90"]
    assert block[2].split() == ["TTFT", "1.01", "s", "1.01", "s"]


def test_numbers_are_written_with_three_digits_and_their_unit() -> None:
    values = (0.0, 0.00123, 0.123, 1.234, 12.34, 123.4, 12345.0)
    assert [number(x) for x in values] == ["0", "0.00123", "0.123", "1.23", "12.3", "123", "12,345"]
    assert [seconds(x) for x in (0.0123, 1.5, None)] == ["12.3 ms", "1.50 s", ""]
    assert [seconds(x, like=2.0) for x in (0.5, 1234.5)] == ["0.50 s", "1,234 s"]
    assert (percent(0.8623), percent(None)) == ("86.23 %", "")
    assert [count(n, "trajectory") for n in (1, 2)] == ["1 trajectory", "2 trajectories"]


@given(st.text())
def test_clean_text_is_one_printable_line(text: str) -> None:
    assert all(c.isprintable() for c in clean(text))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside a JSON value."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [found for key in keys for found in [(*path, key), *places(value[key], (*path, key))]]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = holder = json.loads(json.dumps(document))
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return made


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(places(result())), JSON_VALUES)
def test_a_result_with_any_one_value_replaced_is_refused_or_shown(path: tuple[Any, ...], value: Any) -> None:
    made = replaced(result(), path, value)
    try:
        check_result(made, "result.json")
    except InputError:
        return
    assert render_text(made)
    assert page(made)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(places(manifest())), JSON_VALUES)
def test_a_run_with_any_one_value_of_its_manifest_replaced_is_refused_or_shown(
    path: tuple[Any, ...], value: Any
) -> None:
    altered = replaced(manifest(), path, value)
    try:
        check_manifest(altered, "run.json")
        run = StoredRun(manifest=altered, replay=StoredTurns(turns=turns()), gate_rows=0, result=None)
        made, ungated = result_of(run), ungated_of(run)
    except InputError:
        return
    assert render_text(made, show_ungated=ungated)
    assert page(made, show_ungated=ungated)
    assert work_of(run)
