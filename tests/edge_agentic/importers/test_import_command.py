"""`edge-agentic traces import` as a user meets it: files, exit codes, the report."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from importing import write_lines

from bfcl_gate.errors import InputError
from edge_agentic.cli.import_trace import import_command
from edge_agentic.importers import source as source_module
from edge_agentic.importers.convert import import_trace
from edge_agentic.importers.rows import Limits
from edge_agentic.importers.trajectories import Options

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
TALK = {
    "messages": [
        {"role": "user", "content": "list \x1b[2J"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "AKIAABCDEFGHIJKLMNOP"},
        {"role": "assistant", "content": "done"},
    ]
}


def imported(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "edge_agentic", "traces", "import", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def convert(source: Path, output: Path, **fields: Any) -> Any:
    return import_trace(source, output, Options(limits=Limits()), **fields)


def test_the_report_is_text_and_the_file_is_a_valid_trace(tmp_path: Path) -> None:
    source, output = write_lines(tmp_path / "log\x1b.jsonl", TALK), tmp_path / "out.jsonl"
    done = imported(str(source), "--output", str(output))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{output}: imported from {tmp_path}/log\\x1b.jsonl (openai)"
    assert lines[1] == "  trajectories 1; turns 2; tool calls 1; tool results 1"
    assert "  R16 ansi                           1" in lines
    assert any(
        line.startswith("  - 1 of 1 trajectories have no system prompt; the agent's") for line in lines
    )
    assert any(line.startswith("Secrets: texts that look like an AWS access key (1).") for line in lines)
    assert "\x1b" not in done.stdout
    check = subprocess.run(
        [sys.executable, "-m", "edge_agentic", "traces", "validate", str(output)],
        capture_output=True,
        check=False,
    )
    assert check.returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: is no regular file; expected a recording of an agent"):
        convert(tmp_path / "pipe", tmp_path / "out.jsonl")


def test_the_report_is_json_on_request_and_files_stand_in(tmp_path: Path) -> None:
    source, output = write_lines(tmp_path / "log.jsonl", TALK), tmp_path / "out.jsonl"
    (tmp_path / "system.txt").write_text("be brief\n", encoding="utf-8")
    (tmp_path / "tools.json").write_text(
        json.dumps({"tools": [{"name": "bash", "input_schema": {"type": "object"}}]})
    )
    done = imported(
        *(
            str(source),
            "--output",
            str(output),
            "--report-format",
            "json",
            "--max-tokens",
            "64",
            "--strip-ansi",
        ),
        *("--system", str(tmp_path / "system.txt"), "--tools", str(tmp_path / "tools.json")),
    )
    report = json.loads(done.stdout)
    assert report["counts"] == {"trajectories": 1, "turns": 2, "tool_calls": 1, "tool_results": 1}
    assert report["repairs"] == {"R16": 1}
    row = json.loads(output.read_text("utf-8").splitlines()[1])
    assert (row["system"], row["content"], row["max_new_tokens"]) == ("be brief\n", "list ", 64)
    assert row["tools"] == [
        {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"format_name": "word"}, "--format 'word' is unknown; expected one of abench, anthropic, atif"),
        ({"report_format": "xml"}, "--report-format 'xml' is unknown"),
        ({"max_delay": -1.0}, "--max-delay is -1.0"),
        ({"max_delay": float("nan")}, "--max-delay is nan"),
        ({"max_tokens": 0}, "--max-tokens is 0"),
        ({"min_turns": 0}, "--min-turns is 0"),
        ({"max_prompt": 0}, "--max-prompt is 0"),
        (
            {"tools": Path("missing.json")},
            "missing.json: there is no such file; expected a JSON list of tools",
        ),
        ({"tools": Path("/dev/null")}, "/dev/null: this is a pipe or a device"),
        ({"system": Path("missing.txt")}, "missing.txt: there is no such file; expected a system prompt"),
        ({"system": Path(__file__).parent}, "importers: this is a folder"),
    ],
)
def test_wrong_usage_is_refused(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    source = write_lines(tmp_path / "log.jsonl", TALK)
    with pytest.raises(InputError) as caught:
        import_command(source, tmp_path / "out.jsonl", **options)
    assert text in str(caught.value)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_refusal_is_exit_2_with_one_paragraph(tmp_path: Path) -> None:
    done = imported(
        str(write_lines(tmp_path / "x\x1b.json", {"a": 1})), "--output", str(tmp_path / "out.jsonl")
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {tmp_path}/x\\x1b.json: its format is not known (first record: a)")
    assert done.stderr.count("\n") == 1


def test_an_existing_output_is_kept_without_force(tmp_path: Path) -> None:
    source, output = write_lines(tmp_path / "log.jsonl", TALK), tmp_path / "out.jsonl"
    output.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="exists already"):
        convert(source, output)
    assert output.read_text("utf-8") == "mine"
    convert(source, output, force=True)
    assert output.read_text("utf-8").startswith('{"_type": "dataset_metadata"')
    with pytest.raises(InputError, match="is the recording itself"):
        convert(source, source, force=True)
    with pytest.raises(InputError, match="is no regular file"):
        convert(source, tmp_path, force=True)
    with pytest.raises(InputError, match="its folder does not exist"):
        convert(source, tmp_path / "no" / "out.jsonl")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"hello\n", "no line of it is JSON"),
        (b"\x28\xb5\x2f\xfdxx", "compressed with zstd"),
        (b"\xff\xfe{\x00}\x00", "it is UTF-16"),
        (b"\x1f\x8bxx", "cannot read it"),
        (b"interactions:\n- request:\n", "record without messages (1)"),
        (b"# aider chat started at 2026-01-01\n", "Aider's Markdown history"),
        (b'{"a": 1}\n', "its format is not known (first record: a)"),
        (b"[]", "its format is not known (first record: list)"),
        (b"17", "its format is not known (first record: int)"),
        (
            b'{"conversation_id": "a", "turn": 1, "role": "user", "content": "x"}\n',
            "it is a trace file already",
        ),
        (b"[" * 100_000, "no line of it is JSON"),
        (b'{"messages": []}', "holds no conversation that could be replayed"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', "holds no conversation that could be replayed"),
    ],
)
def test_nothing_to_import_is_never_a_success(tmp_path: Path, content: bytes, reason: str) -> None:
    source = tmp_path / "x.json"
    source.write_bytes(content)
    with pytest.raises(InputError) as caught:
        convert(source, tmp_path / "out.jsonl")
    assert reason in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file or folder"):
        convert(tmp_path / "none", tmp_path / "out.jsonl")


def test_a_compressed_recording_is_unpacked(tmp_path: Path) -> None:
    source = tmp_path / "log.jsonl.gz"
    source.write_bytes(gzip.compress(json.dumps(TALK).encode()))
    assert convert(source, tmp_path / "out.jsonl").counts["turns"] == 2


def test_what_would_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_FILE_BYTES", 1000)
    source = tmp_path / "log.jsonl.gz"
    source.write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(InputError, match="is larger than"):
        convert(source, tmp_path / "out.jsonl")


def test_a_folder_is_imported_whole_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write_lines(folder / "a.jsonl", TALK)
    write_lines(folder / "b.jsonl", TALK)
    write_lines(folder / "c.json", {"unknown": 1})
    (folder / "notes.txt").write_text("not looked at", encoding="utf-8")
    report = convert(folder, tmp_path / "out.jsonl")
    assert report.counts["trajectories"] == 2
    assert len(report.remarks) == 1
    assert report.remarks[0].startswith(f"Left out: {folder}/c.json: its format is not known")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(InputError, match="holds no file to import"):
        convert(tmp_path / "logs", tmp_path / "out.jsonl")


def test_a_format_can_be_named(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "x.jsonl", {"messages": TALK["messages"]})
    report = convert(source, tmp_path / "out.jsonl", format_name="mini-swe-agent")
    assert report.formats == ("mini-swe-agent",)


def test_ids_that_look_like_numbers_or_hold_other_letters_are_made_safe(tmp_path: Path) -> None:
    turns = [{"input_delta": [{"role": "user", "content": "a"}], "assistant_text": "b"}]
    lines = [{"session_id": id_, "turns": turns} for id_ in ("007", "é ü", "nan", "x", "x")]
    convert(write_lines(tmp_path / "a.jsonl", *lines), tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [row["conversation_id"] for row in rows if row.get("turn") == 1] == [
        "s007",
        "trace",
        "snan",
        "x",
        "x.2",
    ]
