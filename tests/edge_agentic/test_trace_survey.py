"""What breaks a cache's prefix: templates that change the past, and volatile text near the start of prompts."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.errors import InputError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import Departure, PlannedTurn
from bfcl_gate.model.scripted_engine import ScriptedEngine
from edge_agentic.report.stats_content import stats_sections
from edge_agentic.report.stats_html import render_stats_html
from edge_agentic.trace_stats import Survey
from edge_agentic.trace_stats.heads import Head, compare
from edge_agentic.trace_stats.volatile_forms import masked, pieces_of

Rows = list[dict[str, Any]]
TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


def rows_of(name: str, system: str | None = None, user: str = "list", **more: Any) -> Rows:
    """Two turns: 4 + 2 + 3 characters beside the system prompt and the user's text."""
    head = {"system": system} if system is not None else {}
    rows: Rows = [
        {"role": "user", "content": user, **head, **more},
        {"role": "assistant", "content": "look"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "yes"},
    ]
    return [{"conversation_id": name, "turn": number, **row} for number, row in enumerate(rows, start=1)]


def survey(tmp_path: Path, rows: Rows, plan: Any = None) -> Survey:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = Survey(plan=plan)
    found.read(path, lambda label, done, total: None)
    return found


def volatile(tmp_path: Path, rows: Rows, plan: Any = None) -> list[dict[str, Any]]:
    return survey(tmp_path, rows, plan).to_dict()["volatile_text"]


LONG = "Obey the rules. " * 10


def test_what_changes_between_trajectories_costs_all_that_follows_it(tmp_path: Path) -> None:
    rows = [
        row
        for day in (1, 2, 3)
        for row in rows_of(f"d{day}", f"Today is 2026-03-0{day}. {LONG}", user=f"task {'abc'[day - 1]}")
    ]
    (found,) = volatile(tmp_path, rows)
    # The head would agree up to the letter of the task: the whole system prompt and "task ".
    agreed = len(f"Today is 2026-03-01. {LONG}") + len("task ")
    assert found == {
        "scope": "trajectories",
        "part": "system prompt",
        "kind": "timestamp",
        "position_characters": len("Today is "),
        "first_trajectory": "d2",
        "was": "2026-03-01",
        "now": "2026-03-02",
        "times": 2,
        "unit": "characters",
        "possible_reuse": 2 * agreed,
        "lost_reuse": 2 * agreed - len("Today is 2026-03-0") * 2,
        "lost_share": 1 - len("Today is 2026-03-0") / agreed,
    }


def test_a_system_prompt_written_anew_for_each_request_costs_the_whole_history(tmp_path: Path) -> None:
    rows = rows_of("a", f"cch=1f3a9c0; {LONG}")
    rows[2]["system"] = f"cch=77b0d12; {LONG}"
    (found,) = volatile(tmp_path, rows)
    first_prompt = len(f"cch=1f3a9c0; {LONG}") + len("list")
    assert [found[key] for key in ("scope", "kind", "position_characters", "times")] == ["turns", "id", 4, 1]
    assert (found["possible_reuse"], found["lost_reuse"]) == (first_prompt, first_prompt - 4)


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("at 2026-03-01T10:00:00Z", "at 2026-03-01T10:00:01Z", "timestamp"),
        ("on Monday, March 2, 2026", "on Tuesday, March 3, 2026", "timestamp"),
        ("it is 10:00:01", "it is 9:59:59 PM", "timestamp"),
        ("epoch 1760000000", "epoch 1760000001.25", "timestamp"),
        (
            "run 0f8fad5b-d9cb-469f-a165-70867728950e",
            "run 7c9e6679-7425-40de-944b-e07fc1f90ae7",
            "UUID",
        ),
        ("in /tmp/tmpab12/work", "in /tmp/tmpzz99x/work", "temporary path"),
        ("session ses_01AbCdEf01AbCdEf01", "session ses_99XyZzEf01AbCdEf77", "id"),
        ("head 3f2a9bc of main", "head 77b0d12 of main", "id"),
        ("request 9", "request 10", "counter"),
    ],
)
def test_each_kind_of_volatile_text_is_known(tmp_path: Path, first: str, second: str, kind: str) -> None:
    rows = [*rows_of("a", f"{first}, {LONG}"), *rows_of("b", f"{second}, {LONG}")]
    (found,) = volatile(tmp_path, rows)
    assert found["kind"] == kind
    assert found["lost_share"] > 0.5
    assert "".join(piece.text for piece in pieces_of(first)) == first
    assert masked(first) == masked(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"Be brief. {LONG}", f"Be brief. {LONG}"),  # nothing differs
        ("You write Rust.", "You write C."),  # another agent, not another moment
        ("Be brief. Use ls.", "Be brief. Use rg."),
        (None, None),
    ],
)
def test_what_does_not_change_or_is_no_volatile_text_is_not_flagged(
    tmp_path: Path, first: str | None, second: str | None
) -> None:
    assert volatile(tmp_path, [*rows_of("a", first), *rows_of("b", second)]) == []


def test_tools_and_the_first_user_text_are_looked_at_too(tmp_path: Path) -> None:
    dated = [
        {**TOOL, "function": {**TOOL["function"], "description": f"cwd /tmp/run{n}/x"}}  # type: ignore[dict-item]
        for n in (1, 2)
    ]
    rows = [*rows_of("a", LONG, tools=[dated[0]]), *rows_of("b", LONG, tools=[dated[1]])]
    assert [(each["part"], each["kind"]) for each in volatile(tmp_path, rows)] == [
        ("tools", "temporary path")
    ]
    env = [f"<env>2026-01-0{n}</env> AGENTS.md says: {LONG}" for n in (1, 2)]
    rows = [*rows_of("a", LONG, user=env[0]), *rows_of("b", LONG, user=env[1])]
    assert [each["part"] for each in volatile(tmp_path, rows)] == ["first user text"]


def test_nothing_is_shared_beyond_the_end_of_the_shorter_text(tmp_path: Path) -> None:
    rows = [
        *rows_of("a", f"At 10:00. {LONG * 2}And kind.", user="the same"),
        *rows_of("b", f"At 11:00. {LONG * 2}", user="the same"),
    ]
    (found,) = volatile(tmp_path, rows)
    shared = len(f"At 11:00. {LONG * 2}")
    assert (found["possible_reuse"], found["lost_reuse"]) == (shared, shared - len("At 1"))


some_text = st.lists(
    st.sampled_from(
        ["at ", "on ", "10:00", "11:30", "2026-01-02", "7", "42", "/tmp/a1/x", "ab12cd3", ". ", "ä"]
    ),
    max_size=8,
).map("".join)


@given(first=some_text, second=some_text)
def test_healing_a_head_makes_it_agree_as_far_as_is_said(first: str, second: str) -> None:
    found = compare(Head(first, "", "same"), Head(second, "", "same"))
    agreed = len(os.path.commonprefix([first, second]))  # noqa: RUF071
    if found is None:
        assert first == second or masked(first) != masked(second)
        return
    assert found.actual == agreed < max(len(first), len(second))
    healed = found.healed.system
    assert len(os.path.commonprefix([first, healed])) >= agreed  # noqa: RUF071
    assert found.actual <= found.possible <= len(second) + len("same")
    assert healed.endswith(second[found.possible :]) or found.possible > len(second)


def words(requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...]:
    return ScriptedEngine(lambda request: "").plan(requests)


def test_with_a_tokenizer_the_cost_is_in_tokens(tmp_path: Path) -> None:
    rows = [*rows_of("a", f"At 10:00 sharp. {LONG}"), *rows_of("b", f"At 11:00 sharp. {LONG}")]
    (found,) = volatile(tmp_path, rows, words)
    # Words: [] system: At 10:00 sharp. (3 x 10) <end> user: list <end> assistant:, of which the last is evaluated.
    assert (found["unit"], found["possible_reuse"], found["lost_reuse"]) == ("tokens", 39, 36)
    rows = rows_of("a", f"At 10:00 sharp. {LONG}")
    rows[2]["system"] = f"At 11:00 sharp. {LONG}"
    (found,) = volatile(tmp_path, rows, words)
    assert (found["scope"], found["possible_reuse"], found["lost_reuse"]) == ("turns", 40, 37)


def forgetful(requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...]:
    """A template that breaks each prompt after its third token."""
    broken = Departure(at=3, before="<b>was</b>", now="now\n", held=10, kept="a\x1b[2Jb")
    return tuple(
        PlannedTurn(
            prompt_tokens=10,
            answer_tokens=1,
            possible_forced=3,
            possible_natural=3,
            keep=3,
            answer_extends=True,
            departure=broken if number else None,
        )
        for number, _ in enumerate(requests)
    )


def test_a_template_that_changes_the_past_is_shown_where_it_does(tmp_path: Path) -> None:
    found = survey(tmp_path, [*rows_of("a"), *rows_of("b")], forgetful).to_dict()["template_stability"]
    assert (found["checked_turns"], found["unstable_turns"], found["lost_tokens"]) == (2, 2, 14)
    assert [(each["trajectory_id"], each["turn"], each["turns"]) for each in found["first"]] == [
        ("a", 3, 1),
        ("b", 3, 1),
    ]
    assert (found["first"][0]["position"], found["first"][0]["lost_tokens"]) == (3, 7)


def test_a_template_that_keeps_the_past_is_stable(tmp_path: Path) -> None:
    found = survey(tmp_path, rows_of("a"), words).to_dict()["template_stability"]
    # The generation prompt "assistant:" is what the answer begins with, so it stays too.
    assert found == {"checked_turns": 1, "unstable_turns": 0, "lost_tokens": 0, "first": []}
    assert survey(tmp_path, rows_of("a")).to_dict()["template_stability"] is None


def test_two_files_are_told_apart_and_together(tmp_path: Path) -> None:
    found = survey(tmp_path, rows_of("a"))
    other = tmp_path / "u.jsonl"
    other.write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows_of("b"), *rows_of("c")]), encoding="utf-8"
    )
    found.read(other, lambda label, done, total: None)
    document = found.to_dict()
    assert (document["trajectories"], document["turns"]) == (3, 6)
    assert [file["trajectories"] for file in document["files"]] == [1, 2]
    titles = [section.title for section in stats_sections({"model": None, **document})]
    assert titles == [str(tmp_path / "t.jsonl"), str(other), "All files"]


def test_a_trace_that_does_not_validate_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.jsonl:5: `turn` is 2.*not measured"):
        survey(tmp_path, [*rows_of("a"), *rows_of("b")[1:]])


def test_the_page_draws_all_and_lets_nothing_in(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m"
    rows = [*rows_of("a", f"2026-01-01 {LONG}"), *rows_of("</title><b>", f"2026-01-02 {LONG}", user=hostile)]
    rows[6]["delay_seconds"] = 0.5
    found = survey(tmp_path, rows, forgetful)
    page = render_stats_html({"model": "<i>m</i>", **found.to_dict()}, found)
    assert [
        page.count(f"<h2>{title}</h2>") for title in ("How contexts grow", "Recorded waits", "Trajectories")
    ] == [
        1,
        1,
        1,
    ]
    assert page.count("<polyline") == 2
    assert "&lt;b&gt;was&lt;/b&gt;" in page
    assert "a\\x1b[2Jb" in page
    assert not re.search(r"<script|<b>|<i>|\x1b|https?://|url\(|@import|<link|<img", page)
    assert "default-src 'none'" in page
