"""What is sent, and that it is sent once."""

import json
from collections.abc import Callable

import pytest

from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.endpoint_engine import EndpointEngine
from bfcl_gate.model.endpoint_engine.body import limits_of, request_body
from bfcl_gate.model.endpoint_engine.pace import Pace
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.scripted_server import Received, ScriptedServer

Serve = Callable[..., ScriptedServer]
Ask = Callable[..., EndpointEngine]

TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object", "properties": {}}}}
GATE = ChatRequest(messages=({"role": "user", "content": "Zähle"},), tools=(TOOL,), tool_choice="auto")
TURN = ChatRequest(messages=({"role": "user", "content": "hi"},), tools=(TOOL,), session="django__django-1")


def test_the_body_is_the_reference_s_with_its_keys_in_its_order() -> None:
    assert request_body(GATE, "m", 42, {}).decode() == (
        '{"model":"m","messages":[{"role":"user","content":"Zähle"}],"temperature":0.0,'
        '"max_completion_tokens":1024,"stream":true,"seed":42,"tools":['
        '{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{}}}}],'
        '"tool_choice":"auto"}'
    )


def test_a_turn_has_no_tool_choice_and_a_request_without_tools_neither() -> None:
    assert "tool_choice" not in json.loads(request_body(TURN, "m", 42, {}))
    bare = ChatRequest(messages=(), tool_choice="auto", max_tokens=8)
    assert json.loads(request_body(bare, "m", 7, {})) == {
        "model": "m",
        "messages": [],
        "temperature": 0.0,
        "max_completion_tokens": 8,
        "stream": True,
        "seed": 7,
    }


def test_half_a_surrogate_pair_is_sent_as_an_escape() -> None:
    odd = ChatRequest(messages=({"role": "user", "content": "\ud800 é"},))
    assert json.loads(request_body(odd, "m", 42, {}))["messages"][0]["content"] == "\ud800 é"


def test_limits_grow_with_prompt_and_answer_unless_the_user_sets_one() -> None:
    limits = limits_of(b"x" * 90_000, 1_000, None)
    assert (limits.first_s, limits.stall_s, limits.total_s) == (60.0 + 3_000.0, 300.0, 3_060.0 + 2_000.0)
    assert limits_of(b"x" * 90_000, 1_000, 10.0) == limits_of(b"", 1, 10.0)
    assert limits_of(b"", 1, 10.0).total_s == 10.0


def test_limits_follow_the_slowest_prefill_rate_that_was_measured() -> None:
    assert limits_of(b"x" * 90_000, 1_000, None, 800.0).first_s == 60.0 + 300.0
    assert limits_of(b"x" * 90_000, 1_000, None, 8.0).first_s == 60.0 + 30_000.0
    assert limits_of(b"x" * 90_000, 1_000, 10.0, 8.0).first_s == 10.0


def test_no_limit_is_longer_than_a_socket_can_wait() -> None:
    assert limits_of(b"x" * 60_000, 4_000_000, None).total_s == 1_000_000.0
    assert limits_of(b"x" * 60_000, 1, None, 1e-6).first_s == 1_000_000.0


def answered(tokens: int | None, first_s: float | None, error: str | None = None) -> TimedResponse:
    first = None if first_s is None else round(first_s * 1e9)
    return TimedResponse(
        text="",
        finish_reason="stop",
        error=error,
        evaluated_tokens=tokens,
        submitted_ns=0,
        first_token_ns=first,
        completed_ns=1,
    )


def test_the_pace_of_a_server_is_its_slowest_and_shared_by_the_requests_at_once() -> None:
    pace = Pace()
    assert pace.prefill_tokens_per_s(1) is None
    for response in (
        answered(63, 9.0),
        answered(None, 9.0),
        answered(100, None),
        answered(100, 9.0, "reset: x"),
    ):
        pace.note(response)
    assert pace.prefill_tokens_per_s(1) is None
    pace.note(answered(1_000, 2.0))
    pace.note(answered(1_000, 1.0))
    assert (pace.prefill_tokens_per_s(1), pace.prefill_tokens_per_s(4)) == (500.0, 125.0)


def test_headers_are_the_reference_s_and_only_turns_name_their_session(serve: Serve, ask: Ask) -> None:
    received: list[Received] = []
    engine = ask(serve(note=received.append).url)
    for request in (GATE, TURN):
        assert engine.generate(request).error is None
    gate, turn = (request.headers for request in received)
    assert (gate["content-type"], gate["accept"]) == ("application/json", "text/event-stream")
    assert gate["accept-encoding"] == "identity"
    assert "authorization" not in gate
    assert "x-session-id" not in gate
    assert turn["x-session-id"] == "django__django-1"


def test_a_session_that_is_no_header_is_escaped(serve: Serve, ask: Ask) -> None:
    received: list[Received] = []
    engine = ask(serve(note=received.append).url)
    engine.generate(ChatRequest(messages=(), session="é\r\nX-Evil: 1"))
    assert received[0].headers["x-session-id"] == "%C3%A9%0D%0AX-Evil:%201"
    assert "x-evil" not in received[0].headers


def test_the_key_is_sent_and_a_refused_key_is_not_repeated(
    serve: Serve, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVICE_KEY", "sk-good")
    server = serve(api_key="sk-good")
    assert ask(server.url, api_key_env="DEVICE_KEY").generate(GATE).error is None
    monkeypatch.setenv("DEVICE_KEY", "sk-wrong")
    refused = ask(server.url, api_key_env="DEVICE_KEY").generate(GATE)
    assert refused.error is not None
    assert refused.error.startswith("http_401: the server answered 401 Unauthorized (invalid key)")
    assert "sk-wrong" not in refused.error


@pytest.mark.parametrize(("dialect", "connections"), [("openai", 1), ("llama.cpp", 5)])
def test_one_connection_serves_requests_where_the_server_keeps_it(
    dialect: str, connections: int, serve: Serve, ask: Ask
) -> None:
    server = serve(dialect=dialect)
    engine = ask(server.url)
    for _ in range(5):
        assert engine.generate(GATE).error is None
    assert server.connections == connections


def test_after_a_failed_answer_the_next_request_has_a_connection_of_its_own(serve: Serve, ask: Ask) -> None:
    server = serve(dialect="openai", fault=lambda received: "ends-early")
    engine = ask(server.url)
    for made in (1, 2, 3):
        assert (engine.generate(GATE).error or "").startswith("incomplete")
        assert server.connections == made


def test_proxies_of_the_environment_are_not_used(
    serve: Serve, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert ask(serve().url).generate(GATE).error is None


@pytest.mark.parametrize("fault", ["status-503", "status-429", "redirect", "resets", "ends-early"])
def test_nothing_is_asked_twice(serve: Serve, ask: Ask, fault: str) -> None:
    received: list[Received] = []
    engine = ask(serve(note=received.append, fault=lambda _: fault).url)
    assert engine.generate(GATE).error is not None
    assert len(received) == 1


def test_usage_is_asked_for_where_the_server_is_not_llama_cpp_s_and_that_is_on_record(
    serve: Serve, ask: Ask
) -> None:
    received: list[Received] = []
    engine = ask(serve(dialect="openai", note=received.append).url, template_args=(("thinking", False),))
    assert engine.generate(GATE).output_tokens == 6
    assert received[0].body["stream_options"] == {"include_usage": True}
    assert received[0].body["chat_template_kwargs"] == {"thinking": False}
    assert engine.info().identity["request_additions"] == ["chat_template_kwargs", "stream_options"]


def test_as_the_reference_nothing_is_added(serve: Serve, ask: Ask) -> None:
    received: list[Received] = []
    engine = ask(serve(dialect="openai", note=received.append).url, as_reference=True)
    assert engine.generate(GATE).output_tokens is None
    assert set(received[0].body) == {
        "model",
        "messages",
        "temperature",
        "max_completion_tokens",
        "stream",
        "seed",
        "tools",
        "tool_choice",
    }
    assert engine.info().identity["request_additions"] == []


def test_forced_decoding_is_refused_and_nothing_is_planned(serve: Serve, ask: Ask) -> None:
    engine = ask(serve().url)
    assert engine.plan([TURN]) is None
    with pytest.raises(InputError, match="--decode natural"):
        engine.generate(ChatRequest(messages=(), forced=True))


def test_a_closed_engine_answers_no_more(serve: Serve, ask: Ask) -> None:
    engine = ask(serve().url)
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.generate(GATE)
