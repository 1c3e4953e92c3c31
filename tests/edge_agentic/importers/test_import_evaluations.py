"""ATIF, OpenHands, SWE-agent, Inspect, OTLP, tau-bench, LMCache and abench: small recordings of our own."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from importing import bare, call_row, result_row, run, write_lines

from bfcl_gate.errors import InputError

LS = call_row()
OUTCOME = [result_row()]
TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
DONE = {"role": "assistant", "content": "done"}


def document(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


# ATIF


def trajectory(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    agent = {"name": "a", "version": "1", "tool_definitions": [TOOL]}
    return {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": agent, "steps": list(steps), **fields}


CALLING = {
    "source": "agent",
    "message": "",
    "reasoning_content": "hm",
    "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}],
    "metrics": {"prompt_tokens": 12, "completion_tokens": 3},
}


def test_atif_results_without_an_id_pair_by_order(tmp_path: Path) -> None:
    value = trajectory(
        {"source": "system", "message": "be brief"},
        {"source": "user", "message": "list"},
        {**CALLING, "observation": {"results": [{"source_call_id": None, "content": "x.py\n"}]}},
        {"source": "agent", "message": "done"},
    )
    rows, report = run(document(tmp_path / "t.json", value))
    assert bare(rows)["s1"] == [
        {"role": "user", "content": "list", "system": "be brief", "tools": [TOOL]},
        {"role": "assistant", "reasoning_content": "hm", "tool_calls": [LS]},
        {"role": "tool", "tool_results": OUTCOME},
        DONE,
    ]
    assert (report.repairs, report.missing) == ({}, ())


@pytest.mark.parametrize("version", ["1.4", "1.5", "1.6", "1.7", "1.8", "1.9"])
def test_atif_versions_are_read_and_unknown_ones_named(tmp_path: Path, version: str) -> None:
    value = trajectory({"source": "user", "message": "a"}, {"source": "agent", "message": "b", "new": 1})
    value["schema_version"] = f"ATIF-v{version}"
    _, report = run(document(tmp_path / "t.json", value))
    assert len(report.remarks) == (version == "1.9")


def test_atif_agents_without_calls_are_told_in_text(tmp_path: Path) -> None:
    value = trajectory(
        {"source": "user", "message": "list"},
        {"source": "agent", "message": "ls", "observation": {"results": [{"content": "x.py"}]}},
        {"source": "agent", "message": "done"},
    )
    rows, report = run(document(tmp_path / "t.json", value))
    assert [row["role"] for row in rows] == ["user", "assistant", "user", "assistant"]
    assert report.repairs == {"R6": 1}


def test_atif_embedded_sub_agents_are_linked_by_the_call(tmp_path: Path) -> None:
    child = trajectory(
        {"source": "user", "message": "count"}, {"source": "agent", "message": "3"}, trajectory_id="kid"
    )
    reference = [{"trajectory_id": "kid"}]
    observed = {"results": [{"source_call_id": "c1", "content": "3", "subagent_trajectory_ref": reference}]}
    value = trajectory(
        {"source": "user", "message": "list"},
        {**CALLING, "observation": observed},
        {"source": "agent", "message": "done"},
        subagent_trajectories=[child],
        trajectory_id="main",
    )
    rows, report = run(document(tmp_path / "t.json", value))
    head = bare(rows)["kid"][0]
    assert (head["parent_conversation_id"], head["fork_turn"]) == ("main", 2)
    assert report.splits == {"subagent": 1}


# OpenHands


def reply(id_: str, *calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    return {
        "id": id_,
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5},
    }


def test_openhands_takes_calls_from_the_reply_and_counts_copies_once(tmp_path: Path) -> None:
    second = call_row("c2", '{"command": "pwd"}')
    both = reply("r1", LS, second, content="see")

    def event(id_: int, second: float, call: str, **fields: Any) -> dict[str, Any]:
        metadata = {"tool_call_id": call, "model_response": both}
        return {
            "id": id_,
            "timestamp": f"2026-01-01T00:00:{second:09.6f}",
            "tool_call_metadata": metadata,
            **fields,
        }

    history = [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "be brief", "tools": [TOOL]}},
        {"id": 1, "source": "user", "action": "message", "args": {"content": "list"}},
        {"id": 2, "source": "user", "action": "recall", "args": {}},
        event(
            3, 1.0, "c1", source="agent", action="run", args={"command": "ls", "thought": "see", "extra": 1}
        ),
        event(4, 1.0, "c2", source="agent", action="run", args={"command": "pwd"}),
        event(5, 2.0, "c1", source="agent", observation="run", content="x.py\n", cause=3),
        event(6, 2.5, "c2", source="agent", observation="run", content="/w\n", cause=4),
        {"id": 9, "source": "agent", "action": "message", "args": {"content": "done"}},
    ]
    rows, report = run(
        write_lines(tmp_path / "output.jsonl", {"instance_id": "django-1", "history": history})
    )
    assert bare(rows)["django-1"] == [
        {"role": "user", "content": "list", "system": "be brief", "tools": [TOOL]},
        {"role": "assistant", "content": "see", "tool_calls": [LS, second]},
        {"role": "tool", "tool_results": [*OUTCOME, result_row("c2", "/w\n")], "delay_seconds": 1.5},
        DONE,
    ]
    assert report.repairs == {}


def test_openhands_events_of_the_sdk_lie_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "talk" / "events"
    folder.mkdir(parents=True)
    call = {"id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
    events = [
        {"kind": "SystemPromptEvent", "system_prompt": {"type": "text", "text": "be brief"}, "tools": [TOOL]},
        {
            "kind": "MessageEvent",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": "list"}]},
        },
        {
            "kind": "ActionEvent",
            "llm_response_id": "r1",
            "tool_call_id": "c1",
            "tool_call": call,
            "thought": [],
        },
        {
            "kind": "ActionEvent",
            "llm_response_id": "r1",
            "tool_call_id": "c2",
            "tool_call": {**call, "id": "c2"},
        },
        {
            "kind": "ObservationEvent",
            "tool_call_id": "c1",
            "observation": {"content": [{"type": "text", "text": "x.py\n"}]},
        },
        {"kind": "AgentErrorEvent", "tool_call_id": "c2", "error": "no"},
        {"kind": "MessageEvent", "llm_message": {"role": "assistant", "content": "done"}},
        {"kind": "Condensation", "summary": "listed", "forgotten_event_ids": ["1"]},
        {"kind": "MessageEvent", "llm_message": {"role": "assistant", "content": "more"}},
    ]
    for number, event in enumerate(events):
        document(folder / f"event-{number:05}-x.json", event)
    rows, report = run(tmp_path / "talk")
    found = bare(rows)
    assert [row["role"] for row in found["talk"]] == ["user", "assistant", "tool", "assistant"]
    assert found["talk"][2]["tool_results"] == [*OUTCOME, result_row("c2", "no")]
    assert [row["content"] for row in found["talk.c2"]] == ["list\n\nlisted", "more"]
    assert report.splits == {"compaction": 1}


# SWE-agent


def test_swe_agent_has_the_time_of_each_command_and_its_ids_in_a_list(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "be brief", "message_type": "system_prompt"},
        {"role": "user", "content": "demo", "is_demo": True},
        {"role": "assistant", "content": "demo answer", "is_demo": True},
        {"role": "user", "content": [{"type": "text", "text": "list", "cache_control": {}}]},
        {"role": "assistant", "content": "see", "tool_calls": [LS]},
        {"role": "tool", "content": "x.py\n", "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": "done"},
    ]
    sent = [{"role": "user", "content": "Old environment output: (3 lines omitted)"}]
    steps = [{"execution_time": 0.25, "query": history[:4]}, {"execution_time": 1.0, "query": sent}]
    rows, report = run(document(tmp_path / "t.traj", {"trajectory": steps, "history": history, "info": {}}))
    assert bare(rows)["t"][2:] == [
        {"role": "user", "content": "list"},
        {"role": "assistant", "content": "see", "tool_calls": [LS]},
        {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 0.25},
        DONE,
    ]
    assert any("1 of 2 steps were shortened" in text for text in report.remarks)


# Inspect


def inspect_log() -> dict[str, Any]:
    call = {"id": "c1", "function": "bash", "arguments": {"command": "ls"}}
    asked = {"role": "user", "content": "attachment://a1"}
    calling = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "x.py\n"}
    flat = {"name": "bash", "parameters": {"type": "object"}}

    def model(references: list[list[int]], message: dict[str, Any], at: int) -> dict[str, Any]:
        stamp = f"2026-01-01T00:00:0{at}+00:00"
        output = {"choices": [{"message": message, "stop_reason": "stop"}], "usage": {"input_tokens": 9}}
        return {
            "event": "model",
            "input": [],
            "input_refs": references,
            "tools": [flat],
            "output": output,
            "timestamp": stamp,
        }

    sample = {
        "id": 1,
        "epoch": 1,
        "attachments": {"a1": "list"},
        "message_pool": [asked, calling, result],
        "events": [
            model([[0, 1]], calling, 1),
            {"event": "tool", "id": "c1", "working_time": 0.75},
            model([[0, 1], [1, 3]], {"role": "assistant", "content": "done"}, 3),
        ],
    }
    return {"version": 2, "eval": {}, "plan": {}, "samples": [sample]}


INSPECT_ROWS = [
    {"role": "user", "content": "list", "tools": [TOOL]},
    {"role": "assistant", "tool_calls": [LS]},
    {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 0.75},
    DONE,
]


def test_inspect_messages_come_from_the_pool_and_the_attachments(tmp_path: Path) -> None:
    rows, report = run(document(tmp_path / "log.json", inspect_log()))
    assert bare(rows) == {"log.1.1": INSPECT_ROWS}
    assert report.remarks == ()


def test_an_inspect_archive_is_read_without_unpacking_it(tmp_path: Path) -> None:
    log = inspect_log()
    (sample,) = log.pop("samples")
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({**log, "version": 9}))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    rows, report = run(path)
    assert bare(rows) == {"log.1.1": INSPECT_ROWS}
    assert "version 9" in report.remarks[0]


def test_another_archive_and_a_damaged_one_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(InputError, match=r"holds no header\.json"):
        run(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match="damaged"):
        run(path)


# OTLP


def span(operation: str, start: int, end: int, **attributes: Any) -> dict[str, Any]:
    pairs = [{"key": "gen_ai.operation.name", "value": {"stringValue": operation}}]
    for key, value in attributes.items():
        typed = {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}
        pairs.append({"key": f"gen_ai.{key.replace('__', '.')}", "value": typed})
    return {"startTimeUnixNano": str(start * 10**9), "endTimeUnixNano": str(end * 10**9), "attributes": pairs}


def spans(*found: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"scope": {}, "spans": list(found)}]}]}


def test_otlp_chats_are_chained_and_tool_spans_give_the_waits(tmp_path: Path) -> None:
    system = {"role": "system", "parts": [{"type": "text", "content": "be brief"}]}
    asked = {"role": "user", "parts": [{"type": "text", "content": "list"}]}
    calling = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}],
    }
    answer = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "x.py\n"}]}
    said = {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "done"}],
    }
    twice = json.dumps(json.dumps([system, asked, calling, answer]))
    rows, report = run(
        write_lines(
            tmp_path / "otlp.jsonl",
            spans(span("chat", 20, 21, input__messages=twice, output__messages=json.dumps([said]))),
            spans(
                span("execute_tool", 12, 15, tool__call__id="c1"),
                span(
                    "chat",
                    10,
                    11,
                    input__messages=json.dumps([system, asked]),
                    output__messages=json.dumps([calling]),
                    usage__input_tokens=9,
                ),
            ),
            spans(span("chat", 30, 31, input__messages='[{"role": "user", "parts": [{"ty')),
        )
    )
    assert bare(rows) == {
        "otlp": [
            {"role": "user", "content": "list", "system": "be brief"},
            {"role": "assistant", "tool_calls": [LS]},
            {"role": "tool", "tool_results": OUTCOME, "delay_seconds": 3.0},
            {"role": "assistant", "content": "done", "reasoning_content": "hm"},
        ]
    }
    assert rows[1]["recorded_input_tokens"] == 9
    assert report.skipped == {"chat span without messages": 1, "span execute_tool": 1}


def test_otlp_without_content_is_refused_with_the_cure(tmp_path: Path) -> None:
    path = document(tmp_path / "o.json", spans(span("chat", 1, 2, usage__input_tokens=5)))
    with pytest.raises(InputError, match="switch the instrumentation's content capture on"):
        run(path)


# tau-bench, LMCache, abench


def test_tau_bench_ends_with_its_simulated_user(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "a"},
        DONE,
        {"role": "user", "content": "###STOP###"},
    ]
    rows, report = run(document(tmp_path / "t.json", [{"task_id": 4, "trial": 1, "traj": messages}]))
    assert list(bare(rows)) == ["t.task-4.trial-1"]
    assert report.repairs == {"R10": 1}


def test_lmcache_prompts_are_cut_where_the_one_before_ends(tmp_path: Path) -> None:
    def row(stamp: int, prompt: str, answer: str) -> dict[str, Any]:
        return {"timestamp": 1760000000000000 + stamp, "input": prompt, "output": answer, "session_id": "s"}

    rows, report = run(
        write_lines(tmp_path / "l.jsonl", row(2, "ab", "y"), row(1, "a", "x"), row(3, "q", "z"))
    )
    assert [[each["content"] for each in found] for found in bare(rows).values()] == [
        ["a", "x", "b", "y"],
        ["q", "z"],
    ]
    assert "all that is new in a prompt is user text" in report.remarks[0]


def test_abench_tool_messages_are_text(tmp_path: Path) -> None:
    turns = [
        {
            "input_delta": [{"role": "user", "content": "a"}],
            "assistant_text": "b",
            "input_tokens": 4,
            "output_tokens": 2,
        },
        {"input_delta": [{"role": "tool", "content": "c"}], "assistant_text": "d"},
    ]
    rows, report = run(
        write_lines(tmp_path / "a.jsonl", {"session_id": "s1", "system_prompt": "p", "turns": turns})
    )
    assert [(row["role"], row["content"]) for row in bare(rows)["s1"]] == [
        ("user", "a"),
        ("assistant", "b"),
        ("user", "c"),
        ("assistant", "d"),
    ]
    assert report.repairs == {"R6": 1}
