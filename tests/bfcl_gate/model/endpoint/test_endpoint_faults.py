"""Everything a server does wrong has its class, ends in time, and leaves the engine able to ask again."""

import socket
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from bfcl_gate.errors import EngineError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.endpoint_engine import EndpointEngine
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.scripted_server import FAULTS, Received, ScriptedServer

Serve = Callable[..., ScriptedServer]
Ask = Callable[..., EndpointEngine]

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "endpoints.md"
REQUEST = ChatRequest(messages=({"role": "user", "content": "hi"},), max_tokens=64)
LATE_S = 0.5
LONG_S = 30.0
FAULTY = sorted(name for name, fault in FAULTS.items() if fault.kind is not None)
HARMLESS = sorted(FAULTS.keys() - set(FAULTY))


def second(name: str) -> Callable[[Received], str | None]:
    return lambda received: name if received.number == 1 else None


def taken_s(response: TimedResponse) -> float:
    return (response.completed_ns - response.submitted_ns) / 1e9


def test_there_are_at_least_twenty_faults() -> None:
    assert len(FAULTY) >= 20


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_has_its_class_and_the_next_answer_is_whole(
    serve: Serve, ask: Ask, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module = import_module("bfcl_gate.model.endpoint_engine.events")
    monkeypatch.setattr(module, "MOST_BODY_BYTES", 16 << 20)
    timeout_s = LATE_S if FAULTS[name].kind == "timeout" else LONG_S
    engine = ask(serve(fault=second(name)).url, timeout_s=timeout_s)
    before, failed, after = (engine.generate(REQUEST) for _ in range(3))
    assert failed.error is not None
    assert failed.error.partition(":")[0] == FAULTS[name].kind
    assert "127.0.0.1" not in failed.error
    assert (before.error, after.error) == (None, None)
    assert after.text == before.text == "I look."
    assert taken_s(failed) < LONG_S  # a fault that is played lasts for a minute unless the client gives up


@pytest.mark.parametrize("name", HARMLESS)
def test_what_a_server_may_leave_out_or_add_is_no_fault(serve: Serve, ask: Ask, name: str) -> None:
    engine = ask(serve(fault=second(name)).url)
    before, answered, after = (engine.generate(REQUEST) for _ in range(3))
    assert (before.error, answered.error, after.error) == (None, None, None)
    assert answered.text == "I look."
    counted = None if name in ("no-counts", "wrong-counts") else before.output_tokens
    assert answered.output_tokens == counted


def test_a_failed_answer_keeps_what_had_come_of_it(serve: Serve, ask: Ask) -> None:
    response = ask(serve(fault=lambda _: "stalls").url, timeout_s=LATE_S).generate(REQUEST)
    assert response.text == "I look."
    assert response.finish_reason is None
    assert response.first_token_ns == response.token_ns[0]
    assert response.completed_ns > response.token_ns[-1]


def test_an_overflow_tells_both_sizes_and_an_error_what_the_server_said(serve: Serve, ask: Ask) -> None:
    engine = ask(serve(ctx=10).url)
    response = engine.generate(ChatRequest(messages=({"role": "user", "content": "hi" * 200},)))
    assert (
        response.error == "context_overflow: the prompt of 111 tokens does not fit the server's context of 10"
    )
    broken = ask(serve(fault=lambda _: "error-event").url).generate(REQUEST)
    assert broken.error == "server_error: the server reported: out of memory"


def test_a_server_that_is_gone_ends_the_run_and_its_address_is_not_told(serve: Serve, ask: Ask) -> None:
    with ScriptedServer(lambda body: None) as server:  # type: ignore[arg-type, return-value]
        engine = ask(server.url)
    with pytest.raises(EngineError, match="cannot be reached") as caught:
        engine.generate(REQUEST)
    assert "127.0.0.1" not in str(caught.value)


@pytest.mark.parametrize("name", ["never-answers", "stalls", "only-pings"])
def test_an_answer_can_be_cancelled_from_another_thread(serve: Serve, ask: Ask, name: str) -> None:
    asked = threading.Event()
    engine = ask(serve(fault=lambda _: name, note=lambda _: asked.set()).url, timeout_s=LONG_S)
    canceller = threading.Thread(target=lambda: (asked.wait(LONG_S), engine.cancel()))
    canceller.start()
    with pytest.raises(EngineError, match="cancelled"):
        engine.generate(REQUEST)
    canceller.join()


def test_cancelling_nothing_is_harmless(serve: Serve, ask: Ask) -> None:
    engine = ask(serve().url)
    engine.generate(REQUEST)
    engine.cancel()
    assert engine.generate(REQUEST).error is None


def test_requests_may_run_at_once(serve: Serve, ask: Ask) -> None:
    engine = ask(serve(pause_s=0.01).url)
    answers: list[TimedResponse] = []
    threads = [threading.Thread(target=lambda: answers.append(engine.generate(REQUEST))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.error for answer in answers] == [None] * 4


def test_one_thread_looks_after_all_requests(serve: Serve, ask: Ask) -> None:
    engine = ask(serve(fault=lambda r: "drips" if r.number % 2 else None).url, timeout_s=LATE_S)
    for _ in range(4):
        engine.generate(REQUEST)
    assert len([thread for thread in threading.enumerate() if "watchdog" in thread.name]) == 1


def test_a_peer_that_never_reads_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        from bfcl_gate.http import BrokenError, Connection, Limits

        connection = Connection({})
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        limits = Limits(first_s=LATE_S, stall_s=LATE_S, total_s=LATE_S)
        with (
            pytest.raises(BrokenError) as caught,
            connection.request("POST", url, limits, body=b"x" * 50_000_000, headers={}),
        ):
            pass
        connection.close()
    assert caught.value.kind == "overdue"


def test_every_class_and_every_fault_is_described() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    kinds = {
        fault.kind.partition("_")[0] if fault.kind.startswith("http_") else fault.kind
        for fault in FAULTS.values()
        if fault.kind
    }
    assert [kind for kind in sorted(kinds) if f"`{kind}" not in text] == []
    assert [name for name in FAULTS if f"`{name}`" not in text] == []
