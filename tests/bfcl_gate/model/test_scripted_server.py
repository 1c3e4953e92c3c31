"""The scripted server for clients other than ours: those that ask for no stream, and those that only look."""

import httpx2
import pytest

from bfcl_gate.model.scripted_server import Said, ScriptedServer

ASK = {"model": "m", "messages": [{"role": "user", "content": "list"}]}
SAID = Said(reasoning="hm so", text="let me see", calls=(("bash", '{"command": "ls"}'), ("bash", "{}")))


def test_a_request_without_a_stream_is_answered_in_one_document() -> None:
    with ScriptedServer(lambda body: SAID) as server:
        answer = httpx2.post(f"{server.url}/v1/chat/completions", json=ASK).json()
    calls = [
        {
            "index": n,
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": "bash", "arguments": arguments},
        }
        for n, (_, arguments) in enumerate(SAID.calls)
    ]
    assert answer["object"] == "chat.completion"
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "let me see",
                "reasoning_content": "hm so",
                "tool_calls": calls,
            },
            "finish_reason": "tool_calls",
        }
    ]
    assert answer["usage"]["completion_tokens"] == 8  # five words, two calls, the end


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_a_document_is_cut_at_the_limit_of_the_request(limit: str) -> None:
    with ScriptedServer(lambda body: Said(text="one two three")) as server:
        answer = httpx2.post(f"{server.url}/v1/chat/completions", json={**ASK, limit: 2}).json()
    (choice,) = answer["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("one two", "length")
    assert answer["usage"]["completion_tokens"] == 2


def test_head_tells_the_size_of_what_get_would_send() -> None:
    with ScriptedServer(lambda body: SAID) as server:
        told = httpx2.get(f"{server.url}/v1/models")
        head = httpx2.head(f"{server.url}/v1/models")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(told.content))
