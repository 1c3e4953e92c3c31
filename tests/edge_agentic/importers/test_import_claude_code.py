"""Claude Code sessions: the tree of records, what is written twice, compactions and sub-agents."""

import json
from pathlib import Path
from typing import Any

import pytest
from importing import bare, call_row, result_row, run, write_lines

from bfcl_gate.errors import InputError


def record(
    kind: str, uuid: str, parent: str | None, content: Any, second: float = 0, **fields: Any
) -> dict[str, Any]:
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    stamp = f"2026-01-01T00:00:{second:06.3f}Z"
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": stamp,
        "message": message,
        **fields,
    }


def block(id_: str = "c1", command: str = "ls") -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}


def outcome(id_: str = "c1", text: Any = "x.py") -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": id_, "content": text}]


def turn(id_: str) -> dict[str, Any]:
    return {
        "message": {
            "id": id_,
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 9},
        }
    }


def session(tmp_path: Path, *records: Any) -> Any:
    rows, report = run(write_lines(tmp_path / "s1.jsonl", *records))
    return bare(rows), report


def test_the_blocks_of_a_call_are_one_reply_and_parallel_results_one_row(tmp_path: Path) -> None:
    rows, report = session(
        tmp_path,
        record("user", "u1", None, "hi", 1),
        record("assistant", "a1", "u1", [{"type": "text", "text": "see"}], 2, **turn("m1")),
        record("assistant", "a2", "a1", [block("c1")], 3, **turn("m1")),
        # The first result hangs on the first call, the chain goes on from the second.
        record("user", "r1", "a2", outcome("c1", "1"), 4),
        record("assistant", "a3", "a2", [block("c2", "pwd")], 3.5, **turn("m1")),
        record("user", "r2", "a3", outcome("c2", "2"), 5.25, toolUseResult={"stdout": "2"}),
        record("assistant", "a4", "r2", [{"type": "text", "text": "done"}], 9, **turn("m2")),
    )
    assert rows == {
        "s1": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "see",
                "tool_calls": [
                    call_row("c1", '{"command": "ls"}', "Bash"),
                    call_row("c2", '{"command": "pwd"}', "Bash"),
                ],
            },
            {
                "role": "tool",
                "tool_results": [result_row("c1", "1"), result_row("c2", "2")],
                "delay_seconds": 1.75,
            },
            {"role": "assistant", "content": "done"},
        ]
    }
    assert report.repairs == {"R2": 2}
    assert report.prompts[0]["first_input_tokens"] == 43


def test_records_written_again_count_once_with_their_last_content(tmp_path: Path) -> None:
    first = record(
        "assistant",
        "a1",
        "u1",
        [{"type": "text", "text": "h"}],
        2,
        message={"id": "m1", "usage": {"output_tokens": 1}},
    )
    last = record(
        "assistant",
        "a1",
        "u1",
        [{"type": "text", "text": "hello"}],
        2,
        message={"id": "m1", "usage": {"output_tokens": 5}},
    )
    rows, report = run(write_lines(tmp_path / "s1.jsonl", record("user", "u1", None, "hi", 1), first, last))
    assert (rows[1]["content"], rows[1]["recorded_output_tokens"]) == ("hello", 5)
    assert report.repairs == {"R20": 1}


def test_a_rewind_is_a_trajectory_of_its_own(tmp_path: Path) -> None:
    rows, report = session(
        tmp_path,
        record("user", "u1", None, "hi", 1),
        record("assistant", "a1", "u1", "hello", 2, **turn("m1")),
        record("user", "u2", "a1", "left", 3),
        record("assistant", "a2", "u2", "gone left", 4, **turn("m2")),
        record("user", "u3", "a1", "right", 5),
        record("assistant", "a3", "u3", "gone right", 6, **turn("m3")),
    )
    assert [row["content"] for row in rows["s1"]] == ["hi", "hello", "right", "gone right"]
    assert [row["content"] for row in rows["s1.r2"]] == ["hi", "hello", "left", "gone left"]
    head = rows["s1.r2"][0]
    assert (head["split_reason"], head["parent_conversation_id"], head["fork_turn"]) == ("rewind", "s1", 2)
    assert report.splits == {"rewind": 1}


def test_a_compaction_begins_a_trajectory_with_its_summary(tmp_path: Path) -> None:
    rows, report = session(
        tmp_path,
        record("user", "u1", None, "hi", 1),
        record("assistant", "a1", "u1", "hello", 2, **turn("m1")),
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "b",
            "parentUuid": None,
            "logicalParentUuid": "a1",
            "sessionId": "s",
        },
        record("user", "u2", "b", "so far: hi", 3, isCompactSummary=True),
        record("user", "u3", "u2", "go on", 4),
        record("assistant", "a2", "u3", "going", 5, **turn("m2")),
    )
    assert [row["content"] for row in rows["s1.c2"]] == ["so far: hi\n\ngo on", "going"]
    assert (rows["s1.c2"][0]["parent_conversation_id"], rows["s1.c2"][0]["fork_turn"]) == ("s1", 2)
    assert report.repairs == {"R1": 1, "R13": 1}


def test_sub_agents_are_never_merged_into_the_main_chat(tmp_path: Path) -> None:
    task = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "count"}}
    rows, _ = session(
        tmp_path,
        record("user", "u1", None, "hi", 1),
        record("assistant", "a1", "u1", [task], 2, **turn("m1")),
        record("user", "x1", None, "count", 3, isSidechain=True, agentId="7f"),
        record("assistant", "x2", "x1", "three", 4, isSidechain=True, agentId="7f", **turn("m2")),
        record("user", "r1", "a1", outcome("t1", "three"), 5, toolUseResult={"agentId": "7f"}),
        record("assistant", "a2", "r1", "3", 6, **turn("m3")),
    )
    assert [row["role"] for row in rows["s1"]] == ["user", "assistant", "tool", "assistant"]
    head = rows["s1.agent-7f"][0]
    assert (head["content"], head["split_reason"], head["fork_turn"]) == ("count", "subagent", 2)


def test_the_files_of_sub_agents_are_linked_to_their_session(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "s1" / "subagents").mkdir(parents=True)
    write_lines(
        folder / "s1.jsonl",
        record("user", "u1", None, "hi", 1),
        record("assistant", "a1", "u1", "yes", 2, **turn("m1")),
    )
    write_lines(
        folder / "s1" / "subagents" / "agent-7f.jsonl",
        record("user", "x1", None, "count", 3, isSidechain=True, agentId="7f"),
        record("assistant", "x2", "x1", "three", 4, isSidechain=True, agentId="7f", **turn("m2")),
    )
    (folder / "s1" / "subagents" / "agent-7f.meta.json").write_text("{}", encoding="utf-8")
    rows, report = run(folder)
    heads = {row["conversation_id"]: row.get("parent_conversation_id") for row in rows if row["turn"] == 1}
    assert heads == {"s1": None, "s1.agent-7f": "s1"}
    assert report.remarks == ()


def test_a_resumed_session_replaces_the_one_it_copies(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    begin = [record("user", "u1", None, "hi", 1), record("assistant", "a1", "u1", "yes", 2, **turn("m1"))]
    write_lines(folder / "a.jsonl", *begin)
    write_lines(
        folder / "b.jsonl",
        *begin,
        record("user", "u2", "a1", "more", 3),
        record("assistant", "a2", "u2", "ok", 4, **turn("m2")),
    )
    rows, report = run(folder)
    assert list(bare(rows)) == ["b"]
    assert report.repairs == {"R20": 1}


def test_a_parent_that_is_not_there_does_not_end_the_chat(tmp_path: Path) -> None:
    rows, _ = session(
        tmp_path,
        record("user", "u1", "lost", "hi", 1),
        record("assistant", "a1", "u1", "hello", 2, **turn("m1")),
        record("user", "u2", "lost too", "more", 3),
        record("assistant", "a2", "u2", "ok", 4, **turn("m2")),
    )
    assert [row["content"] for row in rows["s1"]] == ["hi", "hello", "more", "ok"]


def test_unknown_records_broken_lines_and_bookkeeping_are_counted(tmp_path: Path) -> None:
    rows, report = session(
        tmp_path,
        {"type": "atis-latch", "sessionId": "s", "session_id": "s"},
        record("user", "u1", None, "hi \ud83d", 1),
        "\0" * 20,
        "42",
        {"type": "system", "subtype": "new", "uuid": "y", "parentUuid": "u1", "sessionId": "s"},
        record(
            "assistant", "a1", "y", [{"type": "text", "text": "hello"}, {"type": "fallback"}], 2, **turn("m1")
        ),
        '{"type": "user", "uu',
    )
    assert rows["s1"][0]["content"] == "hi \ufffd"
    assert report.repairs == {"R17": 1, "R18": 3}
    assert report.skipped == {"record atis-latch": 1, "record system": 1, "content block fallback": 1}


def test_an_error_of_the_service_is_no_reply(tmp_path: Path) -> None:
    rows, report = session(
        tmp_path,
        record("user", "u1", None, "hi", 1),
        record("assistant", "e1", "u1", "API Error: 500", 2, isApiErrorMessage=True, **turn("m0")),
        record("assistant", "a1", "e1", "hello", 3, **turn("m1")),
    )
    assert [row["content"] for row in rows["s1"]] == ["hi", "hello"]
    assert report.repairs == {"R3": 1}


def test_a_broken_image_is_replaced_not_read(tmp_path: Path) -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "!!not base64!!"},
    }
    rows, report = session(
        tmp_path,
        record("user", "u1", None, "hi", 1),
        record("assistant", "a1", "u1", [block()], 2, **turn("m1")),
        record("user", "r1", "a1", outcome(text=[image]), 3),
        record("assistant", "a2", "r1", "hm", 4, **turn("m2")),
    )
    assert rows["s1"][2]["tool_results"] == [result_row("c1", "[image image/png, 1 kB removed]")]
    assert report.repairs == {"R15": 1}


def test_stream_json_has_sub_agents_by_the_call_that_began_them(tmp_path: Path) -> None:
    def event(kind: str, content: Any, parent: str | None = None, **message: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "session_id": "s",
            "parent_tool_use_id": parent,
            "message": {"role": kind, "content": content, **message},
        }

    task = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "count"}}
    rows, report = session(
        tmp_path,
        {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Task"]},
        event("user", "hi"),
        event("assistant", [task], id="m1"),
        event("user", "count", "t1"),
        event("assistant", "three", "t1", id="m2"),
        event("user", outcome("t1", "three")),
        event("assistant", "3", id="m3"),
        {"type": "result", "session_id": "s"},
    )
    assert [row["role"] for row in rows["s1"]] == ["user", "assistant", "tool", "assistant"]
    assert rows["s1.agent-t1"][0]["fork_turn"] == 2
    assert any("neither their schemas" in text for text in report.remarks)


def test_a_session_without_a_reply_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"holds no conversation that could be replayed.*conversation without a reply"
    ):
        session(tmp_path, record("user", "u1", None, "hi", 1))


def test_a_given_system_prompt_and_tools_stand_in_for_what_is_not_stored(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "Bash", "parameters": {"type": "object"}}}
    path = write_lines(
        tmp_path / "s1.jsonl",
        record("user", "u1", None, "hi", 1),
        record("assistant", "a1", "u1", [block()], 2, **turn("m1")),
    )
    rows, report = run(path, system=" You are an agent.\n", tools=(tool,))
    assert (rows[0]["system"], rows[0]["tools"]) == (" You are an agent.\n", [tool])
    assert [text for text in report.missing if "is the one given with" in text] == list(report.missing[:2])
    assert json.dumps(rows[0]["tools"])
