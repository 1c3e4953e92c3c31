"""A replay and a gate at a server: the reference's requests, and nothing finished is lost."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bfcl_gate.errors import EngineError
from bfcl_gate.gate import ask
from bfcl_gate.model.endpoint_engine import EndpointEngine, EndpointSettings, address_of
from bfcl_gate.model.scripted_server import Received, Said, ScriptedServer
from bfcl_gate.ruleset import MLPERF_V6_1
from bfcl_gate.samples import gate_samples
from edge_agentic import load_trajectories
from edge_agentic.cli.serve import recorded_answers, script_of
from edge_agentic.journal import TurnJournal
from edge_agentic.replay import ReplayOptions, plan_replay, replay, select_turns
from edge_agentic.report.stored import read_turns
from edge_agentic.trace import find_trace

NATURAL = ReplayOptions(decode="natural")
Open = Callable[..., tuple[ScriptedServer, EndpointEngine]]
REFERENCE_FIELDS = {
    "model": "scripted",
    "temperature": 0.0,
    "max_completion_tokens": 1024,
    "stream": True,
    "seed": 42,
}


@pytest.fixture
def endpoint() -> Iterator[Open]:
    """Start a server with these options and an engine at it; `script` is a text or a script."""
    with ExitStack() as opened:

        def start(script: Any = "ok", **options: Any) -> tuple[ScriptedServer, EndpointEngine]:
            says = script if callable(script) else lambda body: Said(text=script)
            server = opened.enter_context(ScriptedServer(says, **options))
            address = address_of(server.url, None)
            engine = EndpointEngine(EndpointSettings(address=address, model="scripted", as_reference=True))
            opened.callback(engine.close)
            return server, engine

        yield start


def fingerprint(body: Mapping[str, Any]) -> str:
    parts = [body["messages"], body.get("tools"), body.get("tool_choice")]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Fingerprints:
    """Keeps of every request its fingerprint, its session and the rest of its body."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str | None]] = []
        self.rests: list[dict[str, Any]] = []

    def __call__(self, received: Received) -> None:
        self.rows.append((fingerprint(received.body), received.headers.get("x-session-id")))
        own = ("messages", "tools", "tool_choice")
        rest = {key: value for key, value in received.body.items() if key not in own}
        if rest not in self.rests:
            self.rests.append(rest)


def events_of(engine: EndpointEngine, path: Path) -> Iterator[Any]:
    selected = select_turns(load_trajectories(path), NATURAL)
    return replay(engine, plan_replay(engine, selected, NATURAL), NATURAL)


def test_the_1007_requests_of_a_replay_are_the_reference_s_in_its_order(endpoint: Open, shared: Path) -> None:
    trace = shared / "data/agentic_coding_2.5h.jsonl"
    listed = json.loads((shared / "data/mlperf_request_fingerprints.json").read_text("utf-8"))["replay"]
    received = Fingerprints()
    _, engine = endpoint(note=received)
    results = [event.result for event in events_of(engine, trace)]
    assert [result.error for result in results] == [None] * 1007
    assert received.rows == [(row["sha256"], row["conversation_id"]) for row in listed]
    assert received.rests == [REFERENCE_FIELDS]


def test_the_995_requests_of_a_gate_are_the_reference_s_in_its_order(
    endpoint: Open, shared: Path, bfcl: Path
) -> None:
    listed = json.loads((shared / "data/mlperf_request_fingerprints.json").read_text("utf-8"))["gate"]
    received = Fingerprints()
    _, engine = endpoint(note=received)
    answers = list(ask(engine, gate_samples(), MLPERF_V6_1.gate))
    assert [answer.error for answer in answers] == [None] * 995
    assert received.rows == [(row["sha256"], None) for row in listed]
    assert received.rests == [REFERENCE_FIELDS]


def test_a_server_that_says_what_was_recorded_agrees_with_it(endpoint: Open) -> None:
    path = find_trace("smoke")
    _, engine = endpoint(script_of(recorded_answers(["smoke"])))
    results = [event.result for event in events_of(engine, path)]
    scored = [result.agreement for result in results if result.agreement is not None]
    assert set(scored) == {1.0}
    assert {result.native for result in results if result.tool_calls} == {True}
    assert all(result.input_tokens == result.reused_tokens + result.evaluated_tokens for result in results)
    assert all(result.first_call_ns >= result.first_piece_ns for result in results if result.tool_calls)


@pytest.mark.parametrize(("calls", "found"), [("lenient", 1), ("native", 0)])
def test_a_call_in_the_text_counts_leniently_only(endpoint: Open, calls: str, found: int) -> None:
    fenced = '```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```'
    _, engine = endpoint(fenced)
    options = ReplayOptions(decode="natural", calls=calls)
    selected = select_turns(load_trajectories(find_trace("smoke")), options, limit=1)
    (event,) = replay(engine, plan_replay(engine, selected, options), options)
    assert event.result is not None
    assert len(event.result.tool_calls or ()) == found
    assert event.result.native is not True


def finished(path: Path) -> Sequence[tuple[str, int, str | None]]:
    return [(turn.trajectory_id, turn.turn, turn.error) for turn in read_turns(path).turns]


def test_every_turn_before_and_after_a_failed_one_is_in_the_journal(endpoint: Open, tmp_path: Path) -> None:
    _, engine = endpoint(fault=lambda received: "resets" if received.number == 2 else None)
    with TurnJournal(tmp_path / "turns.jsonl", {"config_id": "c"}) as journal:
        for event in events_of(engine, find_trace("smoke")):
            journal.keep(event)
    rows = finished(tmp_path / "turns.jsonl")
    assert len(rows) == 26
    assert [error for *_, error in rows[:3]] == [
        None,
        None,
        "connection_reset: the server broke the connection",
    ]
    with TurnJournal(tmp_path / "turns.jsonl", {"config_id": "c"}) as journal:
        assert journal.failed == {rows[0][0]}
    dropped = [row for row in rows if row[2] is not None]
    assert {trajectory for trajectory, *_ in dropped} == {rows[0][0]}
    assert all(error == "not issued: an earlier turn of this trajectory failed" for *_, error in dropped[1:])


def test_a_server_that_is_gone_ends_the_replay_and_what_was_finished_stays(
    endpoint: Open, tmp_path: Path
) -> None:
    path = tmp_path / "turns.jsonl"
    with TurnJournal(path, {"config_id": "c"}) as journal:
        with ScriptedServer(lambda body: Said(text="ok")) as server:
            engine = EndpointEngine(EndpointSettings(address=address_of(server.url, None), model="scripted"))
            events = events_of(engine, find_trace("smoke"))
            for event in (next(events), next(events)):
                journal.keep(event)
        with pytest.raises(EngineError, match="cannot be reached"):
            next(events)
        engine.close()
    assert [error for *_, error in finished(path)] == [None, None]
