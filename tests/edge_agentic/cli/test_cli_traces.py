"""`edge-agentic traces` as a user meets it: what goes to stdout, what to stderr, exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bfcl_gate.download import local_model
from bfcl_gate.model.catalog import DEFAULT, find

ROWS: list[dict[str, Any]] = [
    {"conversation_id": "a", "turn": 1, "role": "user", "content": "hello"},
    {"conversation_id": "a", "turn": 2, "role": "assistant", "content": "hi"},
]


def traces(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "edge_agentic", "traces", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


def trace(folder: Path, *rows: dict[str, Any], name: str = "t.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_list_names_the_bundled_and_the_official_trace() -> None:
    done = traces("list")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["edge-coding", "smoke", "mlperf"]


def test_a_valid_trace_is_said_to_be_valid(tmp_path: Path) -> None:
    path = trace(tmp_path, *ROWS)
    done = traces("validate", path, "smoke", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"{path}: valid, 1 trajectory, 1 turn"


def test_every_problem_of_every_file_is_shown_with_its_line_and_the_exit_code_is_2(tmp_path: Path) -> None:
    bad = trace(tmp_path, {**ROWS[0], "content": ""}, {**ROWS[1], "role": "system"}, name="bad.jsonl")
    good = trace(tmp_path, *ROWS, name="good.jsonl")
    done = traces("validate", bad, good, str(tmp_path / "none.jsonl"))
    assert done.returncode == 2
    assert done.stdout.splitlines() == [f"{bad}: 2 errors", f"{good}: valid, 1 trajectory, 1 turn"]
    assert done.stderr.startswith(f'Error: {bad}:1: `content` is ""; expected the user\'s text, not empty')
    assert f'\n{bad}:2: `role` is "system"; expected user, assistant or tool' in done.stderr
    assert f"\n{tmp_path}/none.jsonl: there is no such trace file" in done.stderr


def test_errors_are_shown_where_another_file_cannot_be_had(tmp_path: Path) -> None:
    bad = trace(tmp_path, {**ROWS[0], "content": ""})
    offline = {
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "",
        "https_proxy": "http://127.0.0.1:9",
        "no_proxy": "",
    }
    done = traces("validate", "mlperf", bad, EDGE_AGENTIC_CACHE=str(tmp_path / "cache"), **offline)
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: {bad}:1: `content`")
    assert len(done.stderr.splitlines()) == 2


def test_problems_beyond_twenty_are_counted(tmp_path: Path) -> None:
    done = traces("validate", trace(tmp_path, *[{**ROWS[0], "content": ""}] * 25))
    assert done.stdout.endswith(": 25 errors\n")
    assert len(done.stderr.splitlines()) == 21
    assert done.stderr.endswith("… and 5 more.\n")


def test_the_number_of_problems_named_can_be_chosen(tmp_path: Path) -> None:
    done = traces("validate", trace(tmp_path, *[{**ROWS[0], "content": ""}] * 25), "--max-errors", "2")
    assert done.stdout.endswith(": 25 errors\n")
    assert [line.split(": `")[0][-2:] for line in done.stderr.splitlines()[:2]] == [":1", ":2"]
    assert done.stderr.endswith("… and 23 more.\n")


def test_standard_input_is_validated_as_a_stream(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "edge_agentic", "traces", "validate", "-"]
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "standard input: valid, 1 trajectory, 1 turn\n")
    bad = subprocess.run(command, input=f"{text}x\n", capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (2, "standard input: 1 error\n")
    assert bad.stderr.startswith("Error: standard input:3: column 1 is not valid JSON")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
@pytest.mark.parametrize("command", ["validate", "stats"])
def test_a_pipe_is_refused_in_one_paragraph(tmp_path: Path, command: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = traces(command, str(pipe))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"Error: {pipe}: this is a pipe, socket or device; expected a regular file")


def test_a_warning_is_shown_and_strict_makes_it_an_error(tmp_path: Path) -> None:
    path = trace(tmp_path, *ROWS, {**ROWS[0], "turn": 3})
    done = traces("validate", path)
    assert (done.returncode, done.stdout) == (0, f"{path}: valid, 1 trajectory, 2 turns\n")
    assert done.stderr.startswith(f"Warning: {path}:3: `role` is user and is the last row")
    strict = traces("validate", path, "--strict")
    assert (strict.returncode, strict.stdout) == (2, f"{path}: 1 error\n")
    assert strict.stderr.startswith(f"Error: {path}:3: `role` is user and is the last row")


def test_control_characters_of_a_trace_never_reach_the_terminal(tmp_path: Path) -> None:
    path = trace(
        tmp_path, {**ROWS[0], "conversation_id": "a\x1b[2J"}, {"_type": "dataset_metadata", "name": 1}
    )
    done = traces("validate", path)
    assert done.returncode == 2
    assert "\x1b" not in done.stdout + done.stderr
    assert "a\\u001b[2J" in done.stderr


def test_stats_without_a_model_say_how_to_get_tokens_and_count_characters(tmp_path: Path) -> None:
    empty = {
        "EDGE_AGENTIC_CACHE": str(tmp_path / "cache"),
        "HF_HOME": str(tmp_path),
        "HF_HUB_CACHE": str(tmp_path),
    }
    path = trace(tmp_path, *ROWS)
    done = traces("stats", path, path, "--format", "json", **empty)
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"No tokens are counted: the default model {DEFAULT} is not on this machine."
    )
    document = json.loads(done.stdout)
    assert [document[key] for key in ("model", "trajectories", "turns", "total_prompt_tokens")] == [
        None,
        2,
        2,
        None,
    ]
    assert (document["largest_prompt_characters"], document["total_prompt_characters"]) == (5, 10)
    assert [(file["path"], file["turns"]) for file in document["files"]] == [(path, 1), (path, 1)]
    text = traces("stats", path, **empty).stdout
    assert text.startswith(f"{path}\n  1 trajectory, 1 turn, 1 with a recorded answer")
    assert "largest prompt 5 characters; all prompts 5; answers 2" in text


def test_stats_refuse_a_trace_that_does_not_validate_and_an_unknown_format(tmp_path: Path) -> None:
    assert traces("stats", trace(tmp_path, {**ROWS[0], "turn": 2})).returncode == 2
    done = traces("stats", trace(tmp_path, *ROWS), "--format", "xml")
    assert (done.returncode, done.stderr) == (2, "Error: --format 'xml' is unknown; expected text or json.\n")


@pytest.mark.model
def test_stats_of_the_bundled_trace_in_the_default_model_s_tokens() -> None:
    if local_model(find(DEFAULT)) is None:
        pytest.skip(f"the default model {DEFAULT} is not on this machine")
    document = json.loads(traces("stats", "smoke", "--format", "json").stdout)
    assert [document[key] for key in ("model", "trajectories", "turns", "answered_turns")] == [
        DEFAULT,
        3,
        26,
        26,
    ]
    assert document["answers_extending_prompt"] == 26
    assert 2_000 < document["largest_prompt_tokens"] < 4_000
    assert (
        document["new_tokens"]["forced"] < document["new_tokens"]["natural"] < document["total_prompt_tokens"]
    )
