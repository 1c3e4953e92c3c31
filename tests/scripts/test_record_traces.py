"""The recorder on a tiny workspace, and the bundled traces against the sessions they were recorded from."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from edge_agentic.trace import check_trace, find_trace

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import record_traces  # noqa: E402 - found by the path set above
from agent_tools import Workspace, call_tool  # noqa: E402 - found by the path set above

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="sessions are recorded with bash")

SESSION = """
SYSTEM = "be brief"
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
TASK = "make it green"
CHECK = "grep -q green colour.txt"
STEPS = [
    {"content": "looking", "calls": [("bash", {"command": "cat colour.txt; pwd"}), ("bash", {"command": "false"})]},
    {"reasoning_content": "grün", "calls": [("bash", {"command": "cd /workspace && echo green > colour.txt"})]},
    {"content": "done"},
    {"user": "thanks"},
    {"content": "welcome"},
]
"""


def session(folder: Path, colour: str = "red", text: str = SESSION) -> Path:
    (folder / "tiny" / "workspace").mkdir(parents=True)
    (folder / "tiny" / "session.py").write_text(text, encoding="utf-8")
    (folder / "tiny" / "workspace" / "colour.txt").write_text(f"{colour}\n", encoding="utf-8")
    return folder / "tiny"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    return Workspace.copy_of(source, tmp_path)


def test_a_session_becomes_rows_that_the_loader_takes_without_a_warning(tmp_path: Path) -> None:
    rows = record_traces.record(session(tmp_path))
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert check_trace(path).problems == ()
    assert [row["role"] for row in rows] == [
        "user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert {row["conversation_id"] for row in rows} == {"tiny"}
    assert [call["id"] for row in rows for call in row.get("tool_calls", ())] == [
        "call_0",
        "call_1",
        "call_2",
    ]
    assert [result["content"] for result in rows[2]["tool_results"]] == ["red\n/workspace\n", "[exit code 1]"]
    assert rows[4]["tool_results"][0]["content"] == "(no output)"
    assert rows[2]["delay_seconds"] > 0


def test_a_long_session_goes_on_in_files_of_steps(tmp_path: Path) -> None:
    folder = session(tmp_path)
    for name, said in (("steps_3_end.py", "end"), ("steps_2_more.py", "more")):
        text = f'STEPS = [{{"user": "go on"}}, {{"content": "{said}"}}]\n'
        (folder / name).write_text(text, encoding="utf-8")
    rows = record_traces.record(folder)
    assert [row["content"] for row in rows[-4:]] == ["go on", "more", "go on", "end"]


def test_what_differs_from_an_earlier_recording_is_named_numbers_aside(tmp_path: Path) -> None:
    rows = record_traces.record(session(tmp_path))
    other = json.loads(json.dumps(rows).replace("red", "blue").replace('"call_0"', '"call_9"'))
    assert record_traces._compared(rows, rows) == "8 rows, changed: none"
    assert record_traces._compared(rows, other) == "8 rows, changed: 3"
    assert record_traces._compared([], rows) == "8 rows, changed: 0 rows became 8"


def test_a_wait_is_processor_time(tmp_path: Path) -> None:
    text = SESSION.replace("cat colour.txt; pwd", "sleep 0.6; cat colour.txt; pwd")
    rows = record_traces.record(session(tmp_path, text=text))
    assert 0 < rows[2]["delay_seconds"] < 0.6


def test_the_workspace_itself_is_not_changed(tmp_path: Path) -> None:
    folder = session(tmp_path)
    record_traces.record(folder)
    assert (folder / "workspace" / "colour.txt").read_text(encoding="utf-8") == "red\n"


def test_a_session_that_has_nothing_to_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="tiny: the check passes before anything was done"):
        record_traces.record(session(tmp_path, colour="green"))


def test_a_session_that_does_not_end_in_success_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="tiny: the check fails at the end"):
        record_traces.record(session(tmp_path, text=SESSION.replace("echo green", "echo blue")))


def test_a_recording_that_shows_the_machine_is_refused() -> None:
    with pytest.raises(SystemExit, match="belongs to this machine"):
        record_traces._refuse_traces_of_this_machine(f"x {Path.home()}/y")


def test_a_command_sees_a_fixed_environment(workspace: Workspace) -> None:
    output, code = workspace.run("env | cut -d= -f1 | sort | tr '\\n' ' '; pwd; echo ä >&2")
    assert code == 0
    assert "EDGE" not in output
    assert output.endswith("/workspace\nä\n")


def test_a_command_that_takes_too_long_is_killed(workspace: Workspace) -> None:
    assert workspace.run("echo begun; sleep 60 & sleep 60", timeout_s=0.5) == ("begun\n", -9)


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("read_file", {"path": "a.txt"}, "    1\tone\n    2\ttwo\n    3\tthree"),
        ("read_file", {"path": "/workspace/a.txt", "offset": 2, "limit": 1}, "    2\ttwo"),
        ("read_file", {"path": "b.txt"}, "Error: No such file or directory"),
        ("read_file", {"path": "../source/a.txt"}, "Error: ../source/a.txt is outside of /workspace"),
        ("write_file", {"path": "new/b.txt", "content": "x\ny\n"}, "Created new/b.txt (2 lines)"),
        ("write_file", {"path": "a.txt", "content": "x\n"}, "Overwrote a.txt (1 lines)"),
        ("edit_file", {"path": "a.txt", "old_text": "two", "new_text": "2"}, "Edited a.txt"),
        (
            "edit_file",
            {"path": "a.txt", "old_text": "e", "new_text": "E"},
            "Error: old_text occurs 3 times in a.txt; it must occur exactly once",
        ),
        ("search", {"pattern": "t[wh]"}, "a.txt:2:two\na.txt:3:three"),
        ("search", {"pattern": "t", "glob": "*.py"}, "No matches"),
        (
            "edit_file",
            {"path": "a.txt", "old_text": "e", "new_text": "E", "replace_all": True},
            "Edited a.txt (3 times)",
        ),
        (
            "edit_file",
            {"path": "a.txt", "old_text": "z", "new_text": "Z", "replace_all": True},
            "Error: old_text occurs 0 times in a.txt; it must occur exactly once",
        ),
        ("search", {"pattern": "t", "path": "a.txt"}, "a.txt:2:two\na.txt:3:three"),
        ("search", {"pattern": "t", "path": "b"}, "Error: b does not exist"),
        ("list_files", {"path": "/workspace"}, "      14  a.txt"),
        ("list_files", {"path": "/workspace", "glob": "*.py"}, "No files"),
        (
            "update_plan",
            {"plan": [{"step": "x", "status": "completed"}, {"step": "y", "status": "pending"}]},
            "Plan noted: 1 of 2 steps completed",
        ),
        ("bash", {"command": "wc -l < a.txt"}, "3\n"),
        ("bash", {"command": "sleep 60", "timeout_s": 0.2}, "[exit code -9]"),
        (
            "bash",
            {"command": "cat /workspace/b.txt"},
            "cat: /workspace/b.txt: No such file or directory\n[exit code 1]",
        ),
    ],
)
def test_a_tool_answers_with_what_came_back(
    workspace: Workspace, name: str, arguments: dict[str, Any], answer: str
) -> None:
    assert call_tool(workspace, name, arguments) == answer


def test_bytes_that_are_no_text_are_not_shown(workspace: Workspace) -> None:
    (workspace.root / "b.bin").write_bytes(b"ab\xff")
    assert call_tool(workspace, "read_file", {"path": "b.bin"}) == "Error: not valid UTF-8 text (byte 2)"
    assert call_tool(workspace, "search", {"pattern": "o"}) == "a.txt:1:one\na.txt:2:two"


def rows_of(suite: str) -> list[dict[str, Any]]:
    lines = find_trace(suite).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def outputs(suite: str) -> list[str]:
    return [result["content"] for row in rows_of(suite) for result in row.get("tool_results", ())]


@pytest.fixture(params=record_traces.SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_bundled_trace_says_where_it_is_from(suite: str) -> None:
    metadata = rows_of(suite)[0]
    assert (metadata["_type"], metadata["name"]) == ("dataset_metadata", suite)
    assert metadata["licence"] == "Apache-2.0"
    assert metadata["recorder"] == "scripts/record_traces.py"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ with Python 3\.\d+", metadata["recorded_at"])


def test_a_bundled_trace_holds_its_sessions_in_order_without_a_warning(suite: str) -> None:
    trace = check_trace(find_trace(suite))
    assert trace.problems == ()
    assert tuple(trajectory.id for trajectory in trace.trajectories) == record_traces.SUITES[suite].sessions


def test_every_turn_of_a_bundled_trace_has_a_recorded_answer(suite: str) -> None:
    trajectories = check_trace(find_trace(suite)).trajectories
    assert all(turn.recorded is not None for trajectory in trajectories for turn in trajectory.turns)


def test_every_session_belongs_to_one_suite() -> None:
    recorded = [name for suite in record_traces.SUITES.values() for name in suite.sessions]
    written = [folder.parent.name for folder in (SCRIPTS / "sessions").glob("*/session.py")]
    assert sorted(recorded) == sorted(written)


def test_a_bundled_trace_holds_failures_and_text_beyond_ascii(suite: str) -> None:
    assert any("[exit code" in output for output in outputs(suite))
    assert any(output.startswith("Error: ") for output in outputs(suite))
    assert any(not output.isascii() for output in outputs(suite))


def test_the_smoke_trace_has_short_sessions() -> None:
    turns = [len(trajectory.turns) for trajectory in check_trace(find_trace("smoke")).trajectories]
    assert all(6 <= count <= 10 for count in turns)


@pytest.mark.parametrize("name", [*record_traces.SUITES["smoke"].sessions, "incident-logs"])
def test_a_session_recorded_again_is_the_bundled_one(name: str) -> None:
    def comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Leave out what differs by machine: times, and how versions of Python and pytest word things."""
        return [
            {key: value for key, value in row.items() if key not in ("delay_seconds", "tool_results")}
            | {"results": [result["tool_call_id"] for result in row.get("tool_results", ())]}
            for row in rows
        ]

    stored = [
        row for suite in record_traces.SUITES for row in rows_of(suite) if row.get("conversation_id") == name
    ]
    assert comparable(record_traces.record(SCRIPTS / "sessions" / name)) == comparable(stored)


@pytest.mark.skipif(shutil.which("jq") is None, reason="the log analysis uses jq")
def test_a_session_without_timings_is_recorded_to_the_letter() -> None:
    def results(rows: list[dict[str, Any]]) -> list[Any]:
        return [row.get("tool_results") for row in rows]

    stored = [row for row in rows_of("edge-coding") if row.get("conversation_id") == "incident-logs"]
    assert results(record_traces.record(SCRIPTS / "sessions" / "incident-logs")) == results(stored)
