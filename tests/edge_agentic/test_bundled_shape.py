"""The suite edge-coding against the shape of the official Edge-Agentic trace, in characters (no model needed)."""

import json
import re
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

import pytest

from edge_agentic.trace import Trajectory, bundled_traces, find_trace, load_trajectories
from edge_agentic.trace_stats import measure

# Of the official trace (agentic_coding_2.5h.jsonl), as the first test finds them there.
OFFICIAL = {
    "trajectories": 20,
    "turns": 1007,
    "turns of a trajectory": (27, 61),
    "last prompt": (50_120, 96_661),
    "median growth": 963,
    "p90 growth": 2_966,
    "median answer": 219,
    "mean answer": 560,
    "median wait": 0.063,
    "p90 wait": 0.479,
}


def shape(trajectories: tuple[Trajectory, ...]) -> dict[str, object]:
    sizes = [measure(trajectory) for trajectory in trajectories]
    counts = [len(turns) for turns in sizes]
    ends = [turns[-1].prompt_characters for turns in sizes]
    growth = sorted(
        after.prompt_characters - before.prompt_characters
        for turns in sizes
        for before, after in pairwise(turns)
    )
    answers = [turn.answer_characters or 0 for turns in sizes for turn in turns]
    waits = sorted(turn.delay_s for turns in sizes for turn in turns if turn.delay_s is not None)
    return {
        "trajectories": len(sizes),
        "turns": sum(counts),
        "turns of a trajectory": (min(counts), max(counts)),
        "last prompt": (min(ends), max(ends)),
        "median growth": int(median(growth)),
        "p90 growth": growth[len(growth) * 9 // 10],
        "median answer": int(median(answers)),
        "mean answer": int(mean(answers)),
        "median wait": round(median(waits), 3),
        "p90 wait": round(waits[len(waits) * 9 // 10], 3),
    }


def test_the_figures_here_are_those_of_the_official_trace(shared: Path) -> None:
    assert shape(load_trajectories(shared / "data" / "agentic_coding_2.5h.jsonl")) == OFFICIAL


@pytest.fixture(scope="module")
def trajectories() -> tuple[Trajectory, ...]:
    return load_trajectories(find_trace("edge-coding"))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, object]]:
    lines = find_trace("edge-coding").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_the_suite_has_at_least_16_trajectories_and_500_turns(trajectories: tuple[Trajectory, ...]) -> None:
    assert len(trajectories) >= 16
    assert sum(len(trajectory.turns) for trajectory in trajectories) >= 500


def test_trajectories_are_about_as_long_as_official_ones(trajectories: tuple[Trajectory, ...]) -> None:
    counts = [len(trajectory.turns) for trajectory in trajectories]
    shortest, longest = OFFICIAL["turns of a trajectory"]  # type: ignore[misc]
    assert min(counts) >= 20
    assert shortest <= median(counts)
    assert max(counts) <= longest


def test_turns_grow_and_answers_weigh_as_official_ones_do(trajectories: tuple[Trajectory, ...]) -> None:
    ours = shape(trajectories)
    for name in ("median growth", "p90 growth", "median answer", "mean answer"):
        assert 0.5 <= ours[name] / OFFICIAL[name] <= 2, (name, ours[name])  # type: ignore[operator]


def test_waits_are_of_the_order_of_official_ones(trajectories: tuple[Trajectory, ...]) -> None:
    ours = shape(trajectories)
    for name in ("median wait", "p90 wait"):
        assert 1 / 3 <= ours[name] / OFFICIAL[name] <= 3, (name, ours[name])  # type: ignore[operator]


def test_contexts_end_where_official_ones_do_or_before(trajectories: tuple[Trajectory, ...]) -> None:
    ends = sorted(measure(trajectory)[-1].prompt_characters for trajectory in trajectories)
    shortest, longest = OFFICIAL["last prompt"]  # type: ignore[misc]
    assert ends[0] >= 25_000
    assert sum(end >= shortest for end in ends) >= 5
    assert ends[-1] <= longest


def test_agents_have_one_four_or_seven_tools(rows: list[dict[str, list[object]]]) -> None:
    counts = [len(row["tools"]) for row in rows if row["turn"] == 1]
    assert {count: counts.count(count) >= 3 for count in set(counts)} == {1: True, 4: True, 7: True}


def test_outputs_hold_what_real_ones_hold(rows: list[dict[str, list[dict[str, str]]]]) -> None:
    outputs = [result["content"] for row in rows for result in row.get("tool_results", ())]
    assert sum("\x1b[" in output for output in outputs) >= 5  # terminal colours
    assert sum(not output.isascii() for output in outputs) >= 50
    assert sum("[exit code" in output or output.startswith("Error: ") for output in outputs) >= 10
    assert sum("Traceback (most recent call last)" in output for output in outputs) >= 5
    assert sum(len(output) > 2_000 for output in outputs) >= 20


def test_no_two_bundled_trajectories_share_an_id() -> None:
    ids = [trajectory.id for path in bundled_traces().values() for trajectory in load_trajectories(path)]
    assert len(ids) == len(set(ids))


def test_the_readme_counts_what_the_files_hold(rows: list[dict[str, list[object]]]) -> None:
    readme = (find_trace("edge-coding").parent / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \|.*\| ([^|]+) \| (\d+) \|$", readme, re.MULTILINE)
    tools = {row["conversation_id"]: len(row["tools"]) for row in rows if row["turn"] == 1}
    turns = {
        trajectory.id: len(trajectory.turns)
        for path in bundled_traces().values()
        for trajectory in load_trajectories(path)
    }
    assert {name: int(count) for name, _, count in listed} == turns
    assert {name: int(each) for name, each, _ in listed if name in tools} == tools
    for name, path in bundled_traces().items():
        counts = [turns[trajectory.id] for trajectory in load_trajectories(path)]
        assert (
            f"| `{name}` | `{path.name}` | {len(counts)} coding-agent sessions, {sum(counts)} turns,"
            in readme
        )
    waits = [row["delay_seconds"] for row in rows if "delay_seconds" in row]
    assert f" / {sum(waits):.1f} | 0.063" in readme  # type: ignore[arg-type]
