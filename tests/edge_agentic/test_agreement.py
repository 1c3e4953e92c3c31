"""Agreement of commands with the recording: MLPerf's rules, oddities included."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agentic import agreement, load_trajectories
from edge_agentic.agreement import score

FAILED = {"role": "assistant"}


def bash(*commands: Any, name: str = "bash", key: str = "command") -> dict[str, Any]:
    """An assistant message that runs these commands, one call each."""
    calls = [{"function": {"name": name, "arguments": json.dumps({key: command})}} for command in commands]
    return {"role": "assistant", "tool_calls": calls}


@pytest.mark.parametrize(
    ("recorded", "answer", "expected"),
    [
        ("ls", "ls", 1.0),
        ("ls", "cat x", 0.0),
        ("grep a b | head", "head c | grep d", 1.0),
        ("grep a b | head", "grep a b", 0.5),
        ("python a.py", "python a.py; python b.py", 0.5),
        ("python a.py; python b.py; ls", "python c.py; wc c.py", 0.25),
    ],
)
def test_agreement_is_the_intersection_over_the_union_of_programs_with_counts(
    recorded: str, answer: str, expected: float
) -> None:
    assert score(bash(recorded), bash(answer)) == expected


def test_the_commands_of_several_calls_count_together() -> None:
    assert score(bash("ls", "cat x"), bash("cat x && ls")) == 1.0


def test_a_failed_answer_scores_nothing() -> None:
    assert score(bash("ls"), FAILED) == 0.0


@pytest.mark.parametrize(
    "recorded",
    [
        {},
        FAILED,
        {"role": "assistant", "content": "ls"},
        {"tool_calls": None},
        {"tool_calls": "ls"},
        {"tool_calls": ["ls", None, {}, {"function": None}, {"function": "bash"}]},
        bash("echo done"),
        bash(""),
        bash("   "),
        bash(None),
        bash(["ls"]),
        bash("ls", name="Bash"),
        bash("ls", name="shell"),
        bash("ls", key="cmds"),
        {"tool_calls": [{"function": {"name": "bash", "arguments": '{"command": "ls'}}]},
        {"tool_calls": [{"function": {"name": "bash", "arguments": "[" * 99_999}}]},
        {"tool_calls": [{"function": {"name": "bash", "arguments": '["ls"]'}}]},
        {"tool_calls": [{"function": {"name": "bash", "arguments": None}}]},
    ],
)
def test_a_recording_that_starts_no_known_program_has_nothing_to_score(recorded: dict[str, Any]) -> None:
    assert score(recorded, bash("ls")) is None


def test_arguments_may_be_an_object_and_the_command_may_be_called_cmd() -> None:
    plain = {"tool_calls": [{"function": {"name": "bash", "arguments": {"command": "ls"}}}]}
    assert score(plain, bash("ls", key="cmd")) == 1.0
    both = {"tool_calls": [{"function": {"name": "bash", "arguments": {"command": "", "cmd": "ls"}}}]}
    assert score(both, plain) == 1.0


def test_unknown_keys_are_ignored() -> None:
    assert score({**bash("ls"), "turn": 2, "delay_seconds": 1.0}, {**bash("ls"), "x": 1}) == 1.0


ALIASES = {
    "python": [
        "python",
        "python2",
        "python3",
        "py",
        "python3.11",
        "python2.7.18",
        "Python3",
        "/usr/bin/python3",
    ],
    "pip": ["pip", "pip3", "pip3.12"],
    "sphinx-build": ["sphinx-build", "sphinx-quickstart"],
    "cat": ["cat", "less", "more"],
    "grep": ["grep", "egrep", "fgrep", "rg", "ag"],
    "awk": ["awk", "gawk"],
    "find": ["find", "locate"],
    "source": ["source", "."],
    "curl": ["curl", "wget"],
    "apt": ["apt", "apt-get"],
}
OWN_NAME = """
pytest pylint cython make conda head tail wc diff sed tr sort uniq cut ls xargs cp mv rm mkdir touch tee
which alias unset export git true false timeout date yum
"""


def test_the_table_has_58_names() -> None:
    names = [name for group in ALIASES.values() for name in group if not re.search(r"[/A-Z]|\.\d", name)]
    assert len(names) + len(OWN_NAME.split()) == len(agreement._PROGRAMS) == 58


@pytest.mark.parametrize(("program", "name"), [(p, name) for p, names in ALIASES.items() for name in names])
def test_other_names_of_a_program_count_as_it(program: str, name: str) -> None:
    assert score(bash(program), bash(f"{name} x")) == 1.0


@pytest.mark.parametrize("program", OWN_NAME.split())
def test_every_other_known_program_counts_as_itself_only(program: str) -> None:
    assert score(bash(program), bash(f"{program} x")) == 1.0
    assert score(bash(program), bash("python x")) == 0.0


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("ls || cat x && wc x; head x | tail\nsort x", "ls; cat; wc; head; tail; sort"),
        ("A=1 B_2='x y' env time nice sudo exec command python x", "python"),
        ("PYTHONPATH=. python -m pytest", "python"),
        ("grep 'a | sort' x", "grep"),
        ('grep "a && sort" x; ls', "grep; ls"),
        ("cat `find . | sort`", "cat"),
        ("grep 'a\n; sort\n' x", "grep"),
        ('grep "a\\"; sort" x', "grep"),
        ("find . -exec rm {} +", "find"),
        ("xargs rm", "xargs"),
        ("timeout 60 python x", "timeout"),
        ("ls & wc x", "ls"),
        ("cat |& grep x", "cat"),
        ("cat > run.sh <<EOF\nfind .\ndate\nEOF", "cat; find; date"),
        ("echo don't; ls; echo don't; wc x", "wc"),
        ("ls; echo it's", "ls"),
        ("python3.x y; ls", "ls"),
    ],
)
def test_commands_are_split_as_the_reference_splits_them(command: str, programs: str) -> None:
    assert score(bash(command), bash(programs)) == 1.0


@pytest.mark.parametrize(
    "command",
    [
        "echo x",
        "cd src",
        "test -f x",
        "bash run.sh",
        "node x.js",
        "npm test",
        "chmod +x x",
        "printf x",
        "kill 1",
        "sudo -u bob python x",
        "time -p make",
        "bash -c 'ls'",
        "if true2; then x; fi",
        "for f in *; do ls; done",
        "(cd x; cd y)",
        "x=$(ls)",
        "py.test x",
        "\\ls",
        "'ls'",
        "ls/",
        "A=1",
        "env",
    ],
)
def test_what_the_reference_does_not_see_counts_for_nothing(command: str) -> None:
    assert score(bash(command), FAILED) is None


QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")


@given(st.text(alphabet="ab'\"\\`\n ", max_size=30))
def test_quoted_text_is_blanked_as_the_reference_s_expression_blanks_it(command: str) -> None:
    assert agreement._without_quotes(command) == QUOTED.sub(" ", command)


@pytest.mark.parametrize(
    "piece", ["'", '"', "`", '"\\', '"\\"\'', '`"\\"', '"\\\n', '\\\n"', "env ", "a=1 ", ".1", "|", "["]
)
def test_a_megabyte_of_hostile_text_is_read(piece: str) -> None:
    # Quadratic time would make this a matter of hours.
    assert score(bash("ls\n" + piece * (1_000_000 // len(piece))), FAILED) == 0.0


def test_the_official_recording_agrees_with_itself_on_all_turns_but_one(shared: Path) -> None:
    turns = [t for each in load_trajectories(shared / "data/agentic_coding_2.5h.jsonl") for t in each.turns]
    scores = [
        ((turn.trajectory_id, turn.recorded_row), score(turn.recorded or {}, turn.recorded or {}))
        for turn in turns
    ]
    assert [place for place, value in scores if value is None] == [("astropy__astropy-12907", 18)]
    assert [value for _, value in scores if value is not None] == [1.0] * 1006
