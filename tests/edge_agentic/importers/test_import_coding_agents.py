"""mini-swe-agent, OpenCode, Codex, Pi, Qwen Code, Gemini CLI and Kimi: small sessions of our own."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from importing import bare, call_row, result_row, run, write_lines

from bfcl_gate.errors import InputError
from edge_agentic.importers.mini_swe_agent import BASH_TOOL

LS = call_row()
OUTCOME = [result_row()]


def document(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


# mini-swe-agent


def test_mini_swe_agent_has_the_times_of_its_commands_and_its_own_tool(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "fix"},
        {"role": "assistant", "content": "", "tool_calls": [LS], "extra": {"timestamp": 100.0}},
        {"role": "tool", "tool_call_id": "c1", "content": "x.py\n", "extra": {"timestamp": 100.5}},
        {
            "role": "assistant",
            "content": "done",
            "extra": {"response": {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}},
        },
        {"role": "exit", "content": "done"},
    ]
    path = document(
        tmp_path / "a.traj.json",
        {"info": {}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"},
    )
    rows, report = run(path)
    assert bare(rows)["a"] == [
        {"role": "user", "content": "fix", "system": "be brief", "tools": [BASH_TOOL]},
        {"role": "assistant", "tool_calls": [LS]},
        {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 0.5},
        {"role": "assistant", "content": "done"},
    ]
    assert rows[3]["recorded_input_tokens"] == 9
    assert report.skipped == {"message of role exit": 1}


def test_mini_swe_agent_with_whole_responses_has_no_roles(tmp_path: Path) -> None:
    output = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "see"}]},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
    ]
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "fix"},
        {"object": "response", "output": output, "extra": {"timestamp": 1.0}},
        {"type": "function_call_output", "call_id": "c1", "output": "x.py\n", "extra": {"timestamp": 3.0}},
        {"object": "response", "output": [output[0]]},
    ]
    rows, _ = run(
        document(tmp_path / "a.traj.json", {"messages": messages, "trajectory_format": "mini-swe-agent-1.1"})
    )
    assert bare(rows)["a"][1:] == [
        {"role": "assistant", "content": "see", "tool_calls": [LS]},
        {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 2.0},
        {"role": "assistant", "content": "see"},
    ]


def test_mini_swe_agent_in_text_has_no_tool(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "fix"},
        {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>"},
        {"role": "assistant", "content": "done"},
    ]
    rows, report = run(
        document(tmp_path / "a.traj.json", {"messages": messages, "trajectory_format": "mini-swe-agent-1"})
    )
    assert [row["role"] for row in rows] == ["user", "assistant", "user", "assistant"]
    assert (report.repairs, "tools" in rows[0]) == ({"R6": 1}, False)


# OpenCode


def tool_part(status: str = "completed", **state: Any) -> dict[str, Any]:
    state = {
        "status": status,
        "input": {"command": "ls"},
        "output": "x.py\n",
        "time": {"start": 1000, "end": 1250},
        **state,
    }
    return {"type": "tool", "callID": "c1", "tool": "bash", "state": state}


def export(*messages: tuple[dict[str, Any], list[dict[str, Any]]], **info: Any) -> dict[str, Any]:
    return {"info": {"id": "ses_1", **info}, "messages": [{"info": i, "parts": p} for i, p in messages]}


USER_PART = [{"type": "text", "text": "list"}, {"type": "text", "text": "(not sent)", "ignored": True}]
STEPS = [
    {"type": "step-start"},
    {"type": "reasoning", "text": "hm"},
    tool_part(),
    {
        "type": "step-finish",
        "reason": "tool-calls",
        "tokens": {"input": 5, "output": 7, "cache": {"read": 90, "write": 5}},
    },
    {"type": "step-start"},
    {"type": "text", "text": "done"},
    {"type": "step-finish", "reason": "stop", "tokens": {"input": 8, "output": 1}},
]
OPENCODE_ROWS = [
    {"role": "user", "content": "list"},
    {"role": "assistant", "reasoning_content": "hm", "tool_calls": [LS]},
    {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 0.25},
    {"role": "assistant", "content": "done"},
]


def test_a_message_of_opencode_is_split_at_its_steps(tmp_path: Path) -> None:
    value = export(
        ({"role": "user", "id": "m1"}, USER_PART), ({"role": "assistant", "id": "m2", "modelID": "m"}, STEPS)
    )
    rows, report = run(document(tmp_path / "e.json", value))
    assert bare(rows)["ses_1"] == OPENCODE_ROWS
    assert (rows[1]["recorded_input_tokens"], rows[1]["recorded_output_tokens"]) == (100, 7)
    assert rows[0]["model"] == "m"
    assert report.formats == ("opencode",)


def test_the_database_of_opencode_is_read_only(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE session (id TEXT, parent_id TEXT)")
        db.execute("CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)")
        db.execute("CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)")
        db.execute("INSERT INTO session VALUES ('ses_1', NULL), ('ses_2', 'ses_1')")
        for n, (info, parts) in enumerate([({"role": "user"}, USER_PART), ({"role": "assistant"}, STEPS)]):
            for session in ("ses_1", "ses_2"):
                key = f"{session}_m{n}"
                db.execute("INSERT INTO message VALUES (?, ?, ?)", (key, session, json.dumps(info)))
                for k, part in enumerate(parts):
                    part = (
                        {**part, "text": f"{session} {part['text']}"} if part.get("text") == "list" else part
                    )
                    db.execute("INSERT INTO part VALUES (?, ?, ?)", (f"{key}_p{k}", key, json.dumps(part)))
    db.close()
    before = path.read_bytes()
    rows, report = run(path)
    assert [len(each) for each in bare(rows).values()] == [4, 4]
    assert bare(rows)["ses_2"][0]["parent_conversation_id"] == "ses_1"
    assert (report.splits, path.read_bytes()) == ({"subagent": 1}, before)


def test_values_of_other_types_in_a_database_hold_nothing(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE session (id, parent_id)")
        db.execute("CREATE TABLE message (id, session_id, data)")
        db.execute("CREATE TABLE part (id, message_id, data)")
        db.execute("INSERT INTO session VALUES (1, 2.5)")
        db.execute("INSERT INTO message VALUES (1, 1, 17), (2, 1, x'ff'), (3, 1, CAST(x'ff' AS TEXT))")
        db.execute("INSERT INTO part VALUES (1, 1, 17), (2, 2, NULL)")
    db.close()
    with pytest.raises(InputError, match="holds no conversation"):
        run(path)


def test_another_database_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "goose.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE sessions (id TEXT)")
    db.close()
    with pytest.raises(InputError, match=r"cannot be read as OpenCode's database \(no such table: part\)"):
        run(path)


def test_opencode_tools_that_never_came_to_their_end_have_no_result(tmp_path: Path) -> None:
    pending = [tool_part("running", output="", time={"start": 1})]
    value = export(
        ({"role": "user"}, USER_PART),
        ({"role": "assistant", "id": "m2", "error": {"name": "MessageAbortedError"}}, pending),
        ({"role": "user"}, [{"type": "text", "text": "again"}]),
        (
            {"role": "assistant", "id": "m4", "error": {"name": "APIError"}},
            [{"type": "text", "text": "half"}],
        ),
        ({"role": "assistant", "id": "m5"}, [{"type": "text", "text": "done"}]),
    )
    rows, report = run(document(tmp_path / "e.json", value))
    assert bare(rows)["ses_1"][2]["tool_results"] == [result_row("c1", "[no result recorded]\n\nagain")]
    assert report.repairs == {"R3": 1, "R4": 1, "R9": 1}


def test_an_opencode_summary_begins_a_linked_trajectory(tmp_path: Path) -> None:
    value = export(
        ({"role": "user"}, USER_PART),
        ({"role": "assistant", "id": "m2"}, [{"type": "text", "text": "ok"}]),
        ({"role": "assistant", "id": "m3", "summary": True}, [{"type": "text", "text": "so far: list"}]),
        ({"role": "user"}, [{"type": "text", "text": "go on"}]),
        ({"role": "assistant", "id": "m5"}, [{"type": "text", "text": "done"}]),
    )
    rows, _ = run(document(tmp_path / "e.json", value))
    assert bare(rows)["ses_1.c2"][0]["content"] == "so far: list\n\ngo on"
    assert bare(rows)["ses_1.c2"][0]["parent_conversation_id"] == "ses_1"


# Codex


def item(kind: str, second: int = 0, **payload: Any) -> dict[str, Any]:
    return {
        "timestamp": f"2026-01-01T00:00:{second:02}.000Z",
        "type": "response_item",
        "payload": {"type": kind, **payload},
    }


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def counted(total: int, tokens: int = 10) -> dict[str, Any]:
    info = {
        "total_token_usage": {"input_tokens": total},
        "last_token_usage": {"input_tokens": tokens, "output_tokens": 2},
    }
    return {"timestamp": "", "type": "event_msg", "payload": {"type": "token_count", "info": info}}


META = {"type": "session_meta", "payload": {"id": "x1", "base_instructions": {"text": "be brief"}}}
CODEX_CALL = item("function_call", 2, name="bash", call_id="c1", arguments='{"command": "ls"}')
CODEX_RESULT = item("function_call_output", 4, call_id="c1", output="x.py\n")


def test_a_codex_call_ends_with_its_token_count_or_its_result(tmp_path: Path) -> None:
    late = item("function_call", 3, name="bash", call_id="c2", arguments="{}")
    rows, report = run(
        write_lines(
            tmp_path / "rollout.jsonl",
            META,
            said("developer", "rules"),
            said("user", "list"),
            item("reasoning", summary=[], encrypted_content="gAAA"),
            CODEX_CALL,
            CODEX_RESULT,
            late,  # streamed on while the first tool ran
            counted(10),
            counted(10),  # written again
            item("function_call_output", 5, call_id="c2", output="Wall time: 0.5000 seconds\nok"),
            said("assistant", "done"),
            counted(30, 20),
        )
    )
    assert bare(rows)["x1"] == [
        {"role": "user", "content": "rules\n\nlist", "system": "be brief"},
        {"role": "assistant", "tool_calls": [LS, call_row("c2", "{}")]},
        {
            "role": "tool",
            "tool_results": [result_row(), result_row("c2", "Wall time: 0.5000 seconds\nok")],
            "delay_seconds": 0.5,
        },
        {"role": "assistant", "content": "done"},
    ]
    assert [row.get("recorded_input_tokens") for row in rows] == [None, 10, None, 20]
    assert report.formats == ("codex",)


def test_older_codex_counts_stand_before_the_call(tmp_path: Path) -> None:
    rows, _ = run(
        write_lines(
            tmp_path / "r.jsonl",
            META,
            said("user", "a"),
            counted(10),
            CODEX_CALL,
            CODEX_RESULT,
            counted(30, 20),
            said("assistant", "b"),
        )
    )
    assert [row.get("recorded_input_tokens") for row in rows] == [None, 10, None, 20]
    assert rows[2]["delay_source"] == "none"  # there call and result have one stamp


def test_a_codex_compaction_begins_with_the_history_it_left(tmp_path: Path) -> None:
    left = [said("user", "list")["payload"], said("user", "summary: listed")["payload"]]
    rows, report = run(
        write_lines(
            tmp_path / "r.jsonl",
            META,
            said("user", "list"),
            CODEX_CALL,
            counted(10),
            CODEX_RESULT,
            {"type": "compacted", "payload": {"message": "", "replacement_history": left}},
            said("assistant", "done"),
            counted(20),
        )
    )
    assert [row["content"] for row in bare(rows)["x1.c2"]] == ["list\n\nsummary: listed", "done"]
    assert bare(rows)["x1.c2"][0]["system"] == "be brief"
    assert report.splits == {"compaction": 1}


def test_turns_that_a_codex_user_took_back_are_a_branch(tmp_path: Path) -> None:
    rows, report = run(
        write_lines(
            tmp_path / "r.jsonl",
            META,
            said("user", "<environment_context>here</environment_context>"),
            said("user", "one"),
            said("assistant", "a1"),
            said("user", "two"),
            said("assistant", "a2"),
            {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
            said("user", "three"),
            said("assistant", "a3"),
        )
    )
    first = "<environment_context>here</environment_context>\n\none"
    found = {name: [row["content"] for row in each] for name, each in bare(rows).items()}
    assert found == {"x1": [first, "a1", "three", "a3"], "x1.r2": [first, "a1", "two", "a2"]}
    assert report.splits == {"rewind": 1}


def test_a_codex_patch_is_free_text_under_one_argument(tmp_path: Path) -> None:
    patch = item("custom_tool_call", name="apply_patch", call_id="c1", input="*** Begin Patch\n")
    rows, report = run(write_lines(tmp_path / "r.jsonl", META, said("user", "a"), patch, counted(10)))
    assert rows[1]["tool_calls"] == [call_row("c1", '{"input": "*** Begin Patch\\n"}', "apply_patch")]
    assert report.repairs == {"R2": 1, "R4": 1}


def test_a_codex_line_that_was_cut_and_written_again_is_read_once(tmp_path: Path) -> None:
    whole = json.dumps(said("user", "a"))
    rows, report = run(write_lines(tmp_path / "r.jsonl", META, whole[:50], whole, said("assistant", "b")))
    assert [row["content"] for row in rows] == ["a", "b"]
    assert report.repairs == {"R18": 1}


def test_a_first_line_of_many_kilobytes_is_no_hindrance(tmp_path: Path) -> None:
    meta = {
        "type": "session_meta",
        "timestamp": "",
        "payload": {"id": "x1", "base_instructions": {"text": "x" * 70_000}},
    }
    rows, _ = run(write_lines(tmp_path / "r.jsonl", meta, said("user", "a"), said("assistant", "b")))
    assert len(rows[0]["system"]) == 70_000


def test_codex_exec_output_is_refused(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "r.jsonl", {"type": "thread.started", "thread_id": "x"}, {"type": "turn.started"}
    )
    with pytest.raises(InputError, match="which holds no prompts"):
        run(path)


def test_a_codex_fork_is_linked_and_a_whole_copy_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    begin = [said("user", "a"), said("assistant", "b")]
    fork = {"type": "session_meta", "payload": {"id": "x2", "forked_from_id": "x1"}}
    write_lines(folder / "1.jsonl", META, *begin, said("user", "c"), said("assistant", "d"))
    write_lines(folder / "2.jsonl", fork, META, *begin, said("user", "e"), said("assistant", "f"))
    write_lines(folder / "3.jsonl", {"type": "session_meta", "payload": {"id": "x3"}}, *begin)
    rows, report = run(folder)
    assert list(bare(rows)) == ["x1", "x2"]
    head = bare(rows)["x2"][0]
    assert (head["parent_conversation_id"], head["fork_turn"], head["split_reason"]) == ("x1", 2, "fork")
    assert report.repairs == {"R13": 1, "R20": 1}


# Pi, Qwen Code, Gemini CLI, Kimi


def entry(
    id_: str, parent: str | None, second: int, role: str, content: Any, **message: Any
) -> dict[str, Any]:
    stamp = f"2026-01-01T00:00:{second:02}.000Z"
    return {
        "type": "message",
        "id": id_,
        "parentId": parent,
        "timestamp": stamp,
        "message": {"role": role, "content": content, **message},
    }


def test_a_pi_compaction_keeps_the_entries_it_names_and_failed_replies_are_left_out(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    rows, report = run(
        write_lines(
            tmp_path / "s.jsonl",
            {"type": "session", "version": 3, "id": "p1"},
            entry("1", None, 1, "user", [{"type": "text", "text": "list"}]),
            entry("2", "1", 2, "assistant", [{"type": "text", "text": "hal"}], stopReason="aborted"),
            entry(
                "3",
                "2",
                3,
                "assistant",
                [{"type": "thinking", "thinking": "hm"}, call],
                usage={"input": 5, "cacheRead": 6},
            ),
            entry("4", "3", 4, "toolResult", [{"type": "text", "text": "x.py\n"}], toolCallId="c1"),
            {"type": "compaction", "id": "5", "parentId": "4", "summary": "listed", "firstKeptEntryId": "3"},
            entry("6", "5", 6, "assistant", [{"type": "text", "text": "done"}]),
        )
    )
    found = bare(rows)
    assert [row["role"] for row in found["p1"]] == ["user", "assistant"]
    assert found["p1.c2"][0]["content"] == "listed"
    assert found["p1.c2"][2] == {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 1.0}
    assert (report.formats, report.splits) == (("pi",), {"compaction": 1})
    assert rows[1]["recorded_input_tokens"] == 11


def test_qwen_code_is_told_from_claude_code_and_joins_the_parts_of_a_reply(tmp_path: Path) -> None:
    def line(
        kind: str, uuid: str, parent: str | None, role: str, *parts: Any, **fields: Any
    ) -> dict[str, Any]:
        return {
            "type": kind,
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": "s",
            "message": {"role": role, "parts": parts},
            **fields,
        }

    call = {"functionCall": {"id": "c1", "name": "bash", "args": {"command": "ls"}}}
    answer = {"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "x.py\n"}}}
    rows, report = run(
        write_lines(
            tmp_path / "q.jsonl",
            line("user", "1", None, "user", {"text": "list"}),
            line("assistant", "2", "1", "model", {"text": "hm", "thought": True}),
            line("assistant", "2", "1", "model", call, usageMetadata={"promptTokenCount": 7}),
            line("tool_result", "3", "2", "user", answer),
            line("assistant", "4", "3", "model", {"text": "done"}),
        )
    )
    assert report.formats == ("qwen-code",)
    assert bare(rows)["q"] == [
        {"role": "user", "content": "list"},
        {"role": "assistant", "reasoning_content": "hm", "tool_calls": [LS]},
        {"role": "tool", "tool_results": OUTCOME},
        {"role": "assistant", "content": "done"},
    ]


def test_gemini_records_replace_rewind_and_compress(tmp_path: Path) -> None:
    def message(id_: str, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
        return {"id": id_, "type": kind, "content": content, **fields}

    call = {"id": "c1", "name": "bash", "args": {"command": "ls"}, "timestamp": "2026-01-01T00:00:03Z"}
    response = [{"functionResponse": {"id": "c1", "response": {"output": "x.py\n"}}}]
    rows, report = run(
        write_lines(
            tmp_path / "g.jsonl",
            {"sessionId": "g1", "projectHash": "h", "kind": "main"},
            message("1", "user", [{"text": "list"}]),
            message("2", "gemini", "", toolCalls=[call], timestamp="2026-01-01T00:00:02Z"),
            message(
                "2", "gemini", "", toolCalls=[{**call, "result": response}], timestamp="2026-01-01T00:00:02Z"
            ),
            message("3", "gemini", "done"),
            message("4", "user", "left"),
            message("5", "gemini", "gone left"),
            {"$rewindTo": "4"},
            message("6", "user", "right"),
            message("7", "gemini", "gone right"),
            {"$set": {"messages": [message("8", "user", "summary"), message("9", "gemini", "ok")]}},
        )
    )
    found = bare(rows)
    assert found["g1"][:3] == [
        {"role": "user", "content": "list"},
        {"role": "assistant", "tool_calls": [LS]},
        {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 1.0},
    ]
    assert {name: each[-1]["content"] for name, each in found.items()} == {
        "g1": "gone right",
        "g1.c2": "ok",
        "g1.r2": "gone left",
    }
    assert report.repairs == {"R13": 2, "R20": 1}


def test_kimi_steps_are_calls_with_their_system_prompt_and_tools(tmp_path: Path) -> None:
    def loop(kind: str, time: int, **event: Any) -> dict[str, Any]:
        return {
            "type": "context.append_loop_event",
            "event": {"type": kind, **event},
            "time": 1785612800000 + time,
        }

    tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
    rows, report = run(
        write_lines(
            tmp_path / "wire.jsonl",
            {"type": "metadata", "protocol_version": "1.4"},
            {"type": "config.update", "systemPrompt": "be brief"},
            {"type": "llm.tools_snapshot", "tools": json.dumps([tool])},
            {
                "type": "context.append_message",
                "message": {"role": "user", "content": [{"type": "text", "text": "list"}]},
            },
            loop("step.begin", 1000, uuid="s1"),
            loop("content.part", 1100, stepUuid="s1", part={"type": "think", "think": "hm"}),
            loop("tool.call", 1200, stepUuid="s1", toolCallId="c1", name="bash", args={"command": "ls"}),
            loop("tool.result", 1700, toolCallId="c1", result={"output": "x.py\n"}),
            loop(
                "step.end",
                1700,
                uuid="s1",
                usage={"inputOther": 3, "inputCacheRead": 4, "output": 2},
                finishReason="tool_use",
            ),
            loop("step.begin", 1800, uuid="s2"),
            loop("content.part", 1900, stepUuid="s2", part={"type": "text", "text": "done"}),
        )
    )
    assert list(bare(rows).values()) == [
        [
            {"role": "user", "content": "list", "system": "be brief", "tools": [tool]},
            {"role": "assistant", "reasoning_content": "hm", "tool_calls": [LS]},
            {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 0.5},
            {"role": "assistant", "content": "done"},
        ]
    ]
    assert rows[1]["recorded_input_tokens"] == 7
    assert report.formats == ("kimi",)
