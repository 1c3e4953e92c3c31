"""Which requests are recorded, and what an answer is in each protocol and coding."""

import gzip
import json
import zlib
from typing import Any

import pytest

from bfcl_gate.http.passed import Body, Ended, Passed
from edge_agentic.recorder.answers import answer_of, is_conversation, text_of

CHAT = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
RESPONSE = {"id": "r1", "output": [{"type": "message", "role": "assistant", "content": []}], "error": None}
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}]}


def events(*documents: Any) -> bytes:
    return b"".join(f"event: x\ndata: {json.dumps(each)}\n\n".encode() for each in documents)


def delta(text: str, finish: str | None = None) -> Any:
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}


def passed(data: bytes, *, coding: str = "", status: int = 200, ended: Ended = "whole") -> Passed:
    return Passed(
        method="POST",
        path="/v1/chat/completions",
        status=status,
        request=None,
        response=Body(data=data, coding=coding),
        started_ns=0,
        ended_ns=1,
        ended=ended,
    )


ANTHROPIC = (
    {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
)
ENDED = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
CREATED = {"type": "response.created", "response": {"id": "r1", "output": []}}
COMPLETED = {"type": "response.completed", "response": RESPONSE}
COMPLETED_EMPTY = {"type": "response.completed", "response": {**RESPONSE, "output": []}}
ITEM_DONE = {"type": "response.output_item.done", "output_index": 0, "item": RESPONSE["output"][0]}


@pytest.mark.parametrize(
    ("data", "key", "complete"),
    [
        (json.dumps(CHAT).encode(), "choices", True),
        (json.dumps(RESPONSE).encode(), "output", True),
        (json.dumps(MESSAGE).encode(), "content", True),
        (events(delta("h"), delta("i", "stop")), "choices", True),
        (events(delta("h"), delta("i")) + b"data: [DONE]\n\n", "choices", True),
        (events(delta("h"), delta("i")), "choices", False),
        (b": waiting\n\n" + events(delta("hi", "stop")), "choices", True),
        (events(*ANTHROPIC, ENDED), "content", True),
        (events(*ANTHROPIC), "content", False),
        (events(CREATED, COMPLETED), "output", True),
        (events(CREATED, ITEM_DONE, COMPLETED_EMPTY), "output", True),
        (events(CREATED, COMPLETED_EMPTY), "output", False),
    ],
)
@pytest.mark.parametrize("ended", ["whole", "client left"])
def test_a_stream_says_itself_that_it_is_whole(data: bytes, key: str, complete: bool, ended: Ended) -> None:
    answer = answer_of(passed(data, ended=ended))
    assert answer.reply is not None
    assert key in answer.reply
    assert answer.complete == (complete if data[:1] != b"{" else ended == "whole")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (json.dumps({"error": {"message": "no"}}).encode(), 200),
        (json.dumps(CHAT).encode(), 500),
        (events(delta("h"), {"error": {"message": "out of memory"}}) + b"data: [DONE]\n\n", 200),
        (events(CREATED), 200),
        (b"<html>log in</html>", 200),
        (b"[1, 2]", 200),
        (b"", 200),
        (b"\xff\xfe", 200),
    ],
)
def test_what_is_no_reply_is_none(data: bytes, status: int) -> None:
    answer = answer_of(passed(data, status=status))
    assert (answer.reply, answer.complete) == (None, False)


def raw_deflate(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(data) + packing.flush()


@pytest.mark.parametrize(
    ("coding", "packed"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate)]
)
def test_packed_answers_are_read_as_far_as_they_came(coding: str, packed: Any) -> None:
    data = packed(events(delta("h"), delta("i", "stop")))
    assert answer_of(passed(data, coding=coding)).complete
    assert "data:" in (text_of(Body(data=data[:-6], coding=coding)) or "")


@pytest.mark.parametrize(("coding", "data"), [("br", b"x"), ("gzip", b"no gzip"), ("", b"\xff")])
def test_what_cannot_be_read_is_none(coding: str, data: bytes) -> None:
    assert text_of(Body(data=data, coding=coding)) is None


@pytest.mark.parametrize(
    ("method", "path", "recorded"),
    [
        ("POST", "/v1/chat/completions", True),
        ("POST", "/api/v1/chat/completions/", True),
        ("POST", "/chat/completions", True),
        ("POST", "/v1/messages", True),
        ("POST", "/v1/responses", True),
        ("GET", "/v1/chat/completions", False),
        ("POST", "/v1/messages/count_tokens", False),
        ("POST", "/v1/completions", False),
        ("POST", "/v1/embeddings", False),
    ],
)
def test_what_is_recorded(method: str, path: str, recorded: bool) -> None:
    assert is_conversation(method, path) == recorded
