"""Trajectories at once: the same turns, each trajectory in order, kept before the next is asked."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bfcl_gate.errors import EngineError
from bfcl_gate.model.endpoint_engine import EndpointEngine, EndpointSettings, address_of
from bfcl_gate.model.scripted_engine import ScriptedEngine
from bfcl_gate.model.scripted_server import Received, ScriptedServer
from edge_agentic import load_trajectories
from edge_agentic.cli.serve import recorded_answers, script_of
from edge_agentic.concurrent_replay import replay_at_once
from edge_agentic.replay import Event, ReplayOptions, TurnPlan, plan_replay, select_turns
from edge_agentic.trace import find_trace

NATURAL = ReplayOptions(decode="natural")
Planned = tuple[tuple[TurnPlan, ...], ...]


@contextmanager
def smoke(**options: object) -> Iterator[tuple[EndpointEngine, Planned]]:
    """An engine at a server that says what was recorded, and the 26 planned turns of the smoke trace."""
    script = script_of(recorded_answers(["smoke"]))
    with ScriptedServer(script, **options) as server:  # type: ignore[arg-type]
        engine = EndpointEngine(EndpointSettings(address=address_of(server.url, None), model="scripted"))
        selected = select_turns(load_trajectories(find_trace("smoke")), NATURAL)
        yield engine, plan_replay(engine, selected, NATURAL)
        engine.close()


def keys(events: list[Event]) -> list[tuple[str, int]]:
    return [event.plan.key for event in events]


def test_every_turn_is_asked_once_and_each_trajectory_in_order() -> None:
    with smoke(pause_s=0.001) as (engine, planned):
        events = list(replay_at_once(engine, planned, NATURAL, (), 3))
    assert sorted(keys(events)) == sorted(plan.key for plans in planned for plan in plans)
    for plans in planned:
        own = [key for key in keys(events) if key[0] == plans[0].key[0]]
        assert own == [plan.key for plan in plans]
    assert {event.result.agreement for event in events if event.result} <= {1.0, None}


def test_all_trajectories_are_under_way_at_once() -> None:
    sessions: set[str] = set()
    all_three = threading.Event()

    def note(received: Received) -> None:
        sessions.add(received.headers["x-session-id"])
        if len(sessions) == 3:
            all_three.set()

    with smoke(note=note) as (engine, planned):
        events = replay_at_once(engine, planned, NATURAL, (), 3)
        next(events)
        assert all_three.wait(30)
        events.close()


def test_a_turn_is_asked_only_when_the_one_before_was_taken() -> None:
    asked: list[str] = []
    with smoke(note=lambda received: asked.append(received.headers["x-session-id"])) as (engine, planned):
        events = replay_at_once(engine, planned[:1], NATURAL, (), 2)
        next(events)
        assert len(asked) == 1
        next(events)
        assert len(asked) == 2
        events.close()
    assert len(asked) == 2


def test_finished_turns_are_not_asked_again() -> None:
    with smoke() as (engine, planned):
        done = {plan.key for plans in planned[1:] for plan in plans}
        events = list(replay_at_once(engine, planned, NATURAL, done, 4))
    assert keys(events) == [plan.key for plan in planned[0]]


def test_a_lost_server_ends_all_and_leaves_no_thread() -> None:
    with smoke(pause_s=0.001) as (engine, planned):
        events = replay_at_once(engine, planned, NATURAL, (), 3)
        next(events)
        engine.close()
        with pytest.raises(EngineError, match=r"closed|cancelled"):
            list(events)
    assert not [thread for thread in threading.enumerate() if "trajectory" in thread.name]


def test_leaving_early_cancels_what_is_under_way() -> None:
    with smoke(fault=lambda received: "stalls" if received.number else None) as (engine, planned):
        events = replay_at_once(engine, planned, NATURAL, (), 3)
        next(events)
        events.close()
    assert not [thread for thread in threading.enumerate() if "trajectory" in thread.name]


def test_one_at_a_time_is_the_plain_replay_of_any_engine() -> None:
    engine = ScriptedEngine(lambda request: "ok", ctx=100_000)
    selected = select_turns(load_trajectories(find_trace("smoke")), NATURAL, limit=2)
    events = list(replay_at_once(engine, plan_replay(engine, selected, NATURAL), NATURAL, (), 1))
    assert len(events) == 2
