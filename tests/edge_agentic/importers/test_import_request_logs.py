"""Request bodies and logs: grouping by prompt, streams, containers, and what a log cannot tell."""

import base64
import json
from pathlib import Path
from typing import Any

from importing import bare, call_row, result_row, run, write_lines

from edge_agentic.importers.streams import read_stream

TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
SYSTEM = {"role": "system", "content": "be brief"}
ASK = {"role": "user", "content": "list"}
CALLS = {"role": "assistant", "content": None, "tool_calls": [call_row()]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "x.py\n"}
DONE = {"role": "assistant", "content": "x.py is there"}
ROWS = [
    {"role": "user", "content": "list", "system": "be brief", "tools": [TOOL]},
    {"role": "assistant", "tool_calls": [call_row()]},
    {"role": "tool", "tool_results": [result_row()]},
    {"role": "assistant", "content": "x.py is there"},
]


def request(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [SYSTEM, *messages], "tools": [TOOL], **fields}


def completion(message: dict[str, Any], **usage: int) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def logged(tmp_path: Path, *records: Any, **options: Any) -> Any:
    rows, report = run(write_lines(tmp_path / "log.jsonl", *records), **options)
    return bare(rows), report


def test_one_dialogue_is_one_trajectory(tmp_path: Path) -> None:
    rows, report = logged(tmp_path, request(ASK, CALLS, RESULT, DONE))
    assert rows == {"log": ROWS}
    assert report.repairs == {}
    assert report.missing == ()


def test_a_bare_list_of_messages_is_a_dialogue(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([SYSTEM, ASK, CALLS, RESULT, DONE]), encoding="utf-8")
    rows, _ = run(path, tools=(TOOL,))
    assert bare(rows) == {"chat": ROWS}


def test_requests_that_extend_each_other_are_one_trajectory_in_the_order_of_their_times(
    tmp_path: Path,
) -> None:
    second = {
        **request(ASK, CALLS, RESULT),
        "response": completion(DONE, prompt_tokens=90, completion_tokens=7),
        "startTime": "2026-01-01T00:00:03.500Z",
        "endTime": "2026-01-01T00:00:09Z",
    }
    first = {
        **request(ASK),
        "response": completion(CALLS, prompt_tokens=50, completion_tokens=9),
        "startTime": "2026-01-01T00:00:00Z",
        "endTime": "2026-01-01T00:00:02Z",
    }
    path = write_lines(tmp_path / "log.jsonl", second, first)
    rows, report = run(path)
    assert bare(rows) == {"log": [*ROWS[:2], {**ROWS[2], "delay_seconds": 1.5}, ROWS[3]]}
    assert [row.get("recorded_input_tokens") for row in rows] == [None, 50, None, 90]
    assert [row.get("recorded_output_tokens") for row in rows] == [None, 9, None, 7]
    (prompt,) = report.prompts
    assert (prompt["token_growth"], prompt["requests_with_counts"]) == (40, 2)


def test_the_reply_stays_as_later_prompts_hold_it(tmp_path: Path) -> None:
    """Clients drop or rewrite reasoning and ids; what the model is asked is the client's version."""
    told = {**DONE, "reasoning_content": "hm", "content": "x.py is there"}
    rows, _ = logged(
        tmp_path,
        {**request(ASK), "response": completion(told)},
        request(ASK, DONE, {"role": "user", "content": "ok"}, {"role": "assistant", "content": "."}),
    )
    assert rows["log"][1] == {"role": "assistant", "content": "x.py is there", "reasoning_content": "hm"}


def test_a_second_reply_to_one_prompt_is_a_retry_and_a_later_one_a_fork(tmp_path: Path) -> None:
    other = {"role": "assistant", "content": "let me see"}
    more = {"role": "user", "content": "more"}
    rows, report = logged(
        tmp_path,
        {**request(ASK), "response": completion(other)},
        {**request(ASK), "response": completion(DONE)},
        {**request(ASK, DONE, more), "response": completion(other)},
        {**request(ASK, DONE, {"role": "user", "content": "else"}), "response": completion(other)},
    )
    assert [[row["content"] for row in each] for each in rows.values()] == [
        ["list", "x.py is there", "more", "let me see"],
        ["list", "x.py is there", "else", "let me see"],
    ]
    fork = rows["log.2"][0]
    assert (fork["split_reason"], fork["parent_conversation_id"], fork["fork_turn"]) == ("fork", "log.1", 2)
    assert report.repairs == {"R3": 1, "R13": 1}


def test_two_conversations_that_begin_alike_keep_their_own_times_and_counts(tmp_path: Path) -> None:
    """Two agents on the same task at once: each reply is told by the conversation it went into."""
    calls = {name: {**CALLS, "tool_calls": [call_row(arguments=f'{{"command": "{name}"}}')]} for name in "ab"}

    def asked(name: str, messages: list[Any], reply: Any, start: float, end: float, used: int) -> Any:
        times = {"startTime": 1_800_000_000 + start, "endTime": 1_800_000_000 + end}
        return {**request(*messages), "response": completion(reply, prompt_tokens=used), **times}

    rows, report = run(
        write_lines(
            tmp_path / "log.jsonl",
            asked("a", [ASK], calls["a"], 0, 1, 10),
            asked("b", [ASK], calls["b"], 0.5, 2, 20),
            asked("b", [ASK, calls["b"], RESULT], DONE, 2.7, 4, 21),
            asked("a", [ASK, calls["a"], RESULT], DONE, 3, 5, 11),
        )
    )
    trajectories = [rows[:4], rows[4:]]
    assert [
        (each[1]["tool_calls"][0]["function"]["arguments"], each[1]["recorded_input_tokens"])
        for each in trajectories
    ] == [('{"command": "b"}', 20), ('{"command": "a"}', 10)]
    assert [each[2]["delay_seconds"] for each in trajectories] == [0.7, 2.0]
    assert report.splits == {"fork": 1}


def test_a_rewritten_history_is_a_trajectory_of_its_own(tmp_path: Path) -> None:
    cut = {**RESULT, "content": "[cleared]"}
    rows, report = logged(
        tmp_path,
        {**request(ASK), "response": completion(CALLS)},
        {**request(ASK, CALLS, RESULT), "response": completion(DONE)},
        {**request(ASK, CALLS, cut, DONE, ASK), "response": completion(DONE)},
    )
    assert list(rows) == ["log.1", "log.2"]
    assert report.splits == {"history_rewrite": 1}
    assert rows["log.2"][0]["fork_turn"] == 2


def test_a_system_prompt_that_changes_with_each_request_is_reported(tmp_path: Path) -> None:
    first = {**request(ASK), "response": completion(CALLS)}
    second = {**request(ASK, CALLS, RESULT), "response": completion(DONE)}
    second["messages"][0] = {"role": "system", "content": "be brief (2)"}
    rows, report = logged(tmp_path, first, second)
    assert rows == {"log": ROWS}
    assert "system_prompt_varies" in report.remarks[0]


def test_small_talk_of_the_agent_is_kept_or_left_out(tmp_path: Path) -> None:
    title = {"messages": [{"role": "user", "content": "title?"}], "response": completion(DONE)}
    talk = request(ASK, CALLS, RESULT, DONE)
    assert len(logged(tmp_path, talk, title)[0]) == 2
    rows, report = logged(tmp_path, talk, title, min_turns=2)
    assert list(rows) == ["log.1"]
    assert report.skipped == {"conversation below --min-turns": 1}


STREAM = "".join(
    f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': finish}]})}\n\n"
    for delta, finish in (
        ({"role": "assistant", "content": "let me "}, None),
        ({"content": "see"}, None),
        ({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "bash", "arguments": ""}}]}, None),
        ({"tool_calls": [{"index": 0, "function": {"name": "bash", "arguments": '{"command":'}}]}, None),
        ({"tool_calls": [{"index": 0, "id": "", "function": {"arguments": ' "ls"}'}}]}, "tool_calls"),
    )
)


def test_a_streamed_reply_is_put_together(tmp_path: Path) -> None:
    usage = 'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}\n\ndata: [DONE]\n\n'
    record = {"request": {"body": json.dumps(request(ASK))}, "response": {"body": STREAM + usage}}
    rows, _ = run(write_lines(tmp_path / "log.jsonl", record))
    assert rows[1]["content"] == "let me see"
    assert rows[1]["tool_calls"] == [call_row()]
    assert (rows[1]["recorded_input_tokens"], rows[1]["recorded_finish_reason"]) == (5, "tool_calls")


def test_only_the_line_ends_of_an_event_stream_end_its_lines(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\x0bd"
    event = {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}], "timings": {"prompt_n": 2}}
    event["timings"] |= {"cache_n": 3, "predicted_n": 4}
    body = f": ping\r\ndata: {json.dumps(event, ensure_ascii=False)}\r\n\r\ndata: [DONE]\r\n\r\n"
    rows, _ = run(write_lines(tmp_path / "log.jsonl", {"request": request(ASK), "response": body}))
    assert rows[1]["content"] == text
    assert (rows[1]["recorded_input_tokens"], rows[1]["recorded_output_tokens"]) == (5, 4)


def test_an_anthropic_stream_is_put_together(tmp_path: Path) -> None:
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 4, "cache_read_input_tokens": 6}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "see"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "c1", "name": "bash", "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"command": "ls"}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
    ]
    body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    asked = {"system": [{"type": "text", "text": "be brief"}], "messages": [ASK]}
    rows, report = run(write_lines(tmp_path / "log.jsonl", {"request": asked, "response": {"body": body}}))
    assert report.formats == ("anthropic",)
    assert (rows[0]["system"], rows[1]["content"], rows[1]["tool_calls"]) == ("be brief", "see", [call_row()])
    assert (rows[1]["recorded_input_tokens"], rows[1]["recorded_output_tokens"]) == (10, 2)


def test_a_streamed_call_is_known_again_in_the_next_prompt() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": {"partial_json": '{"command": "ls"}'}},
        {"type": "content_block_start", "index": 1, "content_block": {**call, "id": "c2", "name": "now"}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ""}},
    ]
    reply = read_stream("".join(f"data: {json.dumps(event)}\n\n" for event in events))
    assert [block["input"] for block in reply["content"]] == [{"command": "ls"}, {}]
    events[1]["delta"] = {"partial_json": '{"command": '}
    reply = read_stream("".join(f"data: {json.dumps(event)}\n\n" for event in events))
    assert reply["content"][0]["input"] == '{"command": '


def test_of_several_streamed_answers_the_first_is_the_reply() -> None:
    chunks = [
        {"choices": [{"index": index, "delta": {"content": text}}]}
        for index, text in ((0, "a"), (1, "x"), (0, "b"), (1, "y"))
    ]
    reply = read_stream("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks))
    assert reply["choices"][0]["message"]["content"] == "ab"


def test_the_items_of_a_responses_stream_are_its_output_where_the_last_event_holds_none() -> None:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
    events = [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "output": []}},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    assert read_stream(body) == {"id": "r", "output": [item]}


def test_a_har_capture_is_a_log(tmp_path: Path) -> None:
    entry = {
        "startedDateTime": "2026-01-01T00:00:00.000Z",
        "time": 2000,
        "request": {"postData": {"text": json.dumps(request(ASK))}},
        "response": {"content": {"text": json.dumps(completion(DONE))}},
    }
    path = tmp_path / "capture.har"
    path.write_text(json.dumps({"log": {"entries": [entry, {"request": {"url": "/"}}]}}), encoding="utf-8")
    rows, report = run(path)
    assert [row.get("content") for row in rows] == ["list", "x.py is there"]
    assert report.skipped == {"record without messages": 1}
    packed = base64.b64encode(json.dumps(completion(DONE)).encode()).decode()
    entry["response"] = {"content": {"text": packed, "encoding": "base64"}}
    path.write_text(json.dumps({"log": {"entries": [entry]}}), encoding="utf-8")
    assert [row.get("content") for row in run(path)[0]] == ["list", "x.py is there"]


def test_a_cassette_in_json_is_a_log(tmp_path: Path) -> None:
    interactions = [
        {
            "request": {"body": json.dumps(request(ASK))},
            "response": {"body": {"string": json.dumps(completion(DONE))}},
        }
    ]
    path = tmp_path / "cassette.json"
    path.write_text(json.dumps({"interactions": interactions, "version": 1}), encoding="utf-8")
    assert list(bare(run(path)[0])) == ["cassette"]


def test_responses_bodies_are_read_and_chained_by_their_ids(tmp_path: Path) -> None:
    flat = {"type": "function", "name": "bash", "parameters": {"type": "object"}}
    first = {
        "request": {"instructions": "be brief", "input": "list", "tools": [flat], "max_output_tokens": 99},
        "response": {
            "id": "r1",
            "output": [
                {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
            ],
            "usage": {"input_tokens": 8, "output_tokens": 4},
        },
    }
    second = {
        "request": {
            "previous_response_id": "r1",
            "input": [{"type": "function_call_output", "call_id": "c1", "output": "x.py\n"}],
        },
        "response": {
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "x.py is there"}],
                }
            ]
        },
    }
    rows, _ = logged(tmp_path, first, second)
    assert rows == {"log": [{**ROWS[0], "recorded_max_tokens": 99}, *ROWS[1:]]}


def test_anthropic_bodies_are_read_with_their_blocks(tmp_path: Path) -> None:
    body = {
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
        "messages": [
            ASK,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "go on"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "x.py\n"}],
                    },
                ],
            },
            {"role": "assistant", "content": "x.py is there"},
        ],
    }
    rows, report = logged(tmp_path, body)
    assert rows["log"] == [
        ROWS[0],
        {"role": "assistant", "reasoning_content": "hm", "tool_calls": [call_row()]},
        {"role": "tool", "tool_results": [result_row(text="x.py\n\n\ngo on")]},
        ROWS[3],
    ]
    assert report.repairs == {"R9": 1}
    assert report.skipped == {"content block redacted_thinking": 1}


def test_old_function_calls_are_calls(tmp_path: Path) -> None:
    old = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "bash", "arguments": '{"command": "ls"}'},
    }
    rows, report = logged(
        tmp_path, request(ASK, old, {"role": "function", "name": "bash", "content": "x"}, DONE)
    )
    assert rows["log"][1]["tool_calls"] == [call_row("call_1")]
    assert rows["log"][2]["tool_results"] == [result_row("call_1", "x")]
    assert report.repairs == {"R7": 1}


def test_thinking_inside_a_text_stays_where_it_was(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nyes"}
    rows, _ = logged(tmp_path, request(ASK, reply))
    assert rows["log"][1]["content"] == "<think>\nhm\n</think>\n\nyes"


def test_a_file_that_is_still_written_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    rows, report = logged(tmp_path, request(ASK, DONE), json.dumps(request(ASK, CALLS))[:40])
    assert list(rows) == ["log"]
    assert report.repairs == {"R18": 1}
