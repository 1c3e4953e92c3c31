"""The recorder on a tiny workspace, and the bundled trace against the sessions it was recorded from."""

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

import record_traces  # noqa: E402
from agent_tools import Workspace, call_tool  # noqa: E402

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
        ("bash", {"command": "wc -l < a.txt"}, "3\n"),
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


def bundled() -> list[dict[str, Any]]:
    lines = find_trace("smoke").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_bundled_trace_says_where_it_is_from() -> None:
    metadata = bundled()[0]
    assert (metadata["_type"], metadata["licence"]) == ("dataset_metadata", "Apache-2.0")
    assert metadata["recorder"] == "scripts/record_traces.py"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ with Python 3\.\d+", metadata["recorded_at"])


def test_the_bundled_trace_has_three_sessions_of_six_to_ten_turns_without_a_warning() -> None:
    trace = check_trace(find_trace("smoke"))
    assert trace.problems == ()
    assert len(trace.trajectories) == 3
    assert all(6 <= len(trajectory.turns) <= 10 for trajectory in trace.trajectories)


def test_the_bundled_trace_holds_failures_and_text_beyond_ascii() -> None:
    outputs = [result["content"] for row in bundled() for result in row.get("tool_results", ())]
    assert any("[exit code" in output for output in outputs)
    assert any(output.startswith("Error: ") for output in outputs)
    assert any(not output.isascii() for output in outputs)


@pytest.mark.parametrize(
    "name", sorted(folder.parent.name for folder in (SCRIPTS / "sessions").glob("*/session.py"))
)
def test_a_session_recorded_again_is_the_bundled_one(name: str) -> None:
    def comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Leave out what differs by machine: times, and how versions of Python and pytest word things."""
        return [
            {key: value for key, value in row.items() if key not in ("delay_seconds", "tool_results")}
            | {"results": [result["tool_call_id"] for result in row.get("tool_results", ())]}
            for row in rows
        ]

    stored = [row for row in bundled() if row.get("conversation_id") == name]
    assert comparable(record_traces.record(SCRIPTS / "sessions" / name)) == comparable(stored)
