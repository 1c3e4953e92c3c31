"""What is imported is what is loaded, for any session; and no bytes end in a traceback."""

import copy
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl_gate.errors import InputError
from edge_agentic.importers.convert import import_trace
from edge_agentic.importers.formats import FORMATS
from edge_agentic.importers.normal import Notes, Reply, Session, ToolCall, ToolResult, UserText
from edge_agentic.importers.rows import Limits, build_rows
from edge_agentic.importers.trajectories import Options, name_and_link
from edge_agentic.trace import check_trace, load_trajectories

TEXT = st.text(max_size=12)
IDS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "call_1"]))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
CALLS = st.builds(
    ToolCall,
    id=IDS,
    name=TEXT,
    arguments=st.one_of(JSON, st.just('{"a": 1}'), st.just('{"a": ')),
)
SECONDS = st.one_of(st.none(), st.floats(-5, 100))
ITEMS = st.one_of(
    st.builds(UserText, text=TEXT),
    st.builds(ToolResult, call_id=IDS, text=TEXT, wait_s=SECONDS, started_s=SECONDS, ended_s=SECONDS),
    st.builds(
        Reply,
        text=TEXT,
        reasoning=TEXT,
        calls=st.lists(CALLS, max_size=3).map(tuple),
        key=st.one_of(st.none(), st.sampled_from(["m1", "m2"])),
        ended_s=SECONDS,
        failed=st.booleans(),
    ),
)
SESSIONS = st.lists(
    st.builds(
        Session, id=TEXT, items=st.lists(ITEMS, max_size=12).map(tuple), system=st.one_of(st.none(), TEXT)
    ),
    min_size=1,
    max_size=3,
)


def messages_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the chat that rows stand for, written down once more on its own."""
    found: list[dict[str, Any]] = []
    if rows[0].get("system"):
        found.append({"role": "system", "content": rows[0]["system"]})
    for row in rows:
        if row["role"] == "tool":
            found += [{"role": "tool", **each} for each in row["tool_results"]]
        else:
            keys = ("role", "content", "tool_calls", "reasoning_content")
            found.append({key: row[key] for key in keys if key in row})
    return found


@settings(max_examples=60)
@given(SESSIONS)
def test_any_session_becomes_rows_that_load_as_the_same_chat(sessions: list[Session]) -> None:
    named = name_and_link(sessions, Options(limits=Limits()), Notes(), "test", set())
    rows = [row for each in named for row in each.rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        if not named:
            return
        trace = check_trace(path)
        assert trace.errors == ()
        # What is left to warn of is only what the recording lacks.
        assert {problem.field for problem in trace.warnings} <= {"tools"}
        for each, trajectory in zip(named, load_trajectories(path), strict=True):
            assert trajectory.id == each.id
            assert list(trajectory.turns[-1].conversation) == messages_of(list(each.rows))
            assert all(turn.recorded is not None for turn in trajectory.turns)
            assert all(turn.delay_s is None or 0 <= turn.delay_s <= 10 for turn in trajectory.turns)


@settings(max_examples=60)
@given(st.lists(ITEMS, max_size=12))
def test_no_text_of_a_user_is_lost_between_the_first_one_and_the_last_reply(drawn: list[Any]) -> None:
    # Without keys no reply is a part of an earlier one, so the last one ends the chat.
    items = [replace(item, key=None) if isinstance(item, Reply) else item for item in drawn]
    rows = build_rows(Session(id="s", items=tuple(items)), Limits(), Notes())
    whole = json.dumps(rows)
    ends = [i for i, item in enumerate(items) if isinstance(item, Reply) and item.text and not item.failed]
    texts = [item.text for item in items[: max(ends, default=0)] if isinstance(item, UserText)]
    assert [text for text in texts if json.dumps(text)[1:-1] not in whole] == []


RECORDS: dict[str, list[Any]] = {
    "openai": [
        {
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "a"}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": "r"},
            ],
            "tools": [{"type": "function", "function": {"name": "f"}}],
            "response": {"choices": [{"message": {"content": "b"}}], "usage": {"prompt_tokens": 3}},
            "startTime": "2026-01-01T00:00:00Z",
        }
    ],
    "claude-code": [
        {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": "s", "message": {"content": "a"}},
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "sessionId": "s",
            "timestamp": "2026-01-01T00:00:00Z",
            "message": {"id": "m", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        },
        {
            "type": "user",
            "uuid": "3",
            "parentUuid": "2",
            "sessionId": "s",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]},
        },
        {
            "type": "assistant",
            "uuid": "4",
            "parentUuid": "3",
            "sessionId": "s",
            "message": {"id": "n", "content": "b"},
        },
    ],
    "codex": [
        {"type": "session_meta", "timestamp": "", "payload": {"id": "x", "base_instructions": {"text": "s"}}},
        {
            "type": "response_item",
            "timestamp": "",
            "payload": {"type": "message", "role": "user", "content": "a"},
        },
        {
            "type": "response_item",
            "timestamp": "",
            "payload": {"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"},
        },
        {
            "type": "event_msg",
            "timestamp": "",
            "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 3}}},
        },
        {
            "type": "response_item",
            "timestamp": "",
            "payload": {"type": "function_call_output", "call_id": "c", "output": "{}"},
        },
        {"type": "compacted", "timestamp": "", "payload": {"message": "m", "replacement_history": []}},
        {
            "type": "response_item",
            "timestamp": "",
            "payload": {"type": "message", "role": "assistant", "content": "b"},
        },
    ],
    "opencode": [
        {
            "info": {"id": "s"},
            "messages": [
                {"info": {"role": "user"}, "parts": [{"type": "text", "text": "a"}]},
                {
                    "info": {"role": "assistant", "id": "m"},
                    "parts": [
                        {
                            "type": "tool",
                            "callID": "c",
                            "tool": "f",
                            "state": {
                                "status": "completed",
                                "input": {},
                                "output": "r",
                                "time": {"start": 1, "end": 2},
                            },
                        },
                        {"type": "text", "text": "b"},
                    ],
                },
            ],
        }
    ],
    "atif": [
        {
            "schema_version": "ATIF-v1.5",
            "session_id": "s",
            "agent": {"name": "a"},
            "steps": [
                {"source": "user", "message": "a"},
                {
                    "source": "agent",
                    "message": "b",
                    "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
                    "observation": {"results": [{"source_call_id": "c", "content": "r"}]},
                },
                {"source": "agent", "message": "d"},
            ],
        }
    ],
}


def mutated(draw: Any, value: Any) -> Any:
    """Return the value with one place in it replaced, taken out or doubled."""
    value = copy.deepcopy(value)
    node, key = [value], 0
    parent: Any = node
    while isinstance(parent[key], list | dict) and parent[key] and draw(st.integers(0, 4)):
        parent = parent[key]
        key = draw(st.sampled_from(list(parent) if isinstance(parent, dict) else list(range(len(parent)))))
    if draw(st.booleans()) and parent is not node:
        del parent[key]
    else:
        parent[key] = draw(
            st.one_of(JSON, st.sampled_from(["\ud800", "\0", 10**30, 1e308, -1, [[]], "9" * 400]))
        )
    return node[0]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_records_import_or_are_refused_and_nothing_else(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(sorted(RECORDS)))
    records = RECORDS[form]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(records) - 1))
        records = [*records[:at], mutated(data.draw, records[at]), *records[at + 1 :]]
    text = "".join(json.dumps(record) + "\n" for record in records)
    text = text[: data.draw(st.integers(len(text) // 2, len(text)))]
    named = data.draw(st.sampled_from([None, form, *sorted(FORMATS)]))
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "x.jsonl", Path(folder) / "out.jsonl"
        source.write_text(text, encoding="utf-8")
        refused, trajectories = "", 0
        try:
            report = import_trace(source, output, Options(limits=Limits()), format_name=named)
            trajectories = report.counts["trajectories"]
        except InputError as error:
            refused = str(error)
        assert "is no valid trace" not in refused
        assert output.exists() == (not refused)
        assert trajectories == (0 if refused else len(load_trajectories(output)))


@pytest.mark.parametrize("form", sorted(RECORDS))
def test_the_records_to_mutate_import_as_they_are(form: str, tmp_path: Path) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in RECORDS[form]), encoding="utf-8")
    report = import_trace(source, tmp_path / "out.jsonl", Options(limits=Limits()))
    assert report.formats == (form,)


@settings(max_examples=30)
@given(st.binary(max_size=80))
def test_any_bytes_import_or_are_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "x.json"
        source.write_bytes(content)
        with pytest.raises(InputError):
            import_trace(source, Path(folder) / "out.jsonl", Options(limits=Limits()))
