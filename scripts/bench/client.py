#!/usr/bin/env python3
"""What the HTTP client costs: measured TTFT and TPOT against the instants at which a server really sent its tokens.

    scripts/bench/client.py                       concurrency 1 and 32, then 1,000 trajectories at once

The scripted server runs in a process of its own and sends a token every 2 ms; on Linux both processes read the same
clock, so the truth is what its own readings give. The peer is the least a client can do, a bare socket that is read and
time-stamped; both take turns, medians and ranges are over the rounds. Nothing leaves this machine.
"""

import argparse
import json
import multiprocessing
import os
import socket
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from bfcl_gate.model.endpoint_engine import EndpointEngine, EndpointSettings, address_of
from bfcl_gate.model.scripted_server import Received, Said, ScriptedServer
from edge_agentic.concurrent_replay import replay_at_once
from edge_agentic.replay import ReplayOptions, TurnPlan, requests_of
from edge_agentic.trace import Turn

NATURAL = ReplayOptions(decode="natural")
Timed = tuple[int, int, int, int]
"""Submission, first and last arrival in ns, and the number of tokens of one answer."""


def serve(pipe: Pipe, tokens: int, step_s: float) -> None:
    """Server process: send the address, serve until told to stop, then send every instant by session."""
    sent: dict[str, list[int]] = defaultdict(list)
    received: dict[str, int] = {}

    def note(request: Received) -> None:
        if (session := request.headers.get("x-session-id")) is not None:
            received[session] = time.perf_counter_ns()

    def stamp(request: Received, now_ns: int) -> None:
        sent[request.headers.get("x-session-id", "")].append(now_ns)

    answer = Said(text="word " * (tokens - 1))
    with ScriptedServer(
        lambda body: answer, pause_s=step_s, note=note, sent=stamp, dialect="openai"
    ) as server:
        pipe.send(server.url)
        pipe.recv()
    pipe.send((dict(sent), received))


class Served:
    """A running server process; `instants` ends it and returns (sent instants, instant of receipt) by session."""

    def __init__(self, tokens: int, step_s: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, tokens, step_s), daemon=True)
        self._process.start()
        self.url: str = self._pipe.recv()

    def instants(self) -> tuple[Mapping[str, Sequence[int]], Mapping[str, int]]:
        self._pipe.send("stop")
        found = self._pipe.recv()
        self._process.join()
        return found


def trajectories(count: int, turns: int, label: str) -> tuple[tuple[TurnPlan, ...], ...]:
    """Plan trajectories of short turns; every turn has a session of its own, so that its instants can be told apart."""
    planned = []
    for number in range(count):
        messages = tuple({"role": "user", "content": f"turn {turn} " * 40} for turn in range(turns))
        made = tuple(
            Turn(
                trajectory_id=f"{label}-{number}-{turn}",
                number=turn,
                line=1,
                conversation=messages,
                prompt_end=turn + 1,
                tools=(),
                recorded=None,
                recorded_row=None,
                delay_s=None,
                max_tokens=None,
            )
            for turn in range(turns)
        )
        planned.append(made)
    return tuple(
        tuple(
            TurnPlan(turn=turn, position=0, request=request, tokens=None)
            for turn, request in zip(made, requests_of(made, NATURAL), strict=True)
        )
        for made in planned
    )


def by_client(url: str, planned: Sequence[Sequence[TurnPlan]], at_once: int) -> dict[str, Timed]:
    engine = EndpointEngine(EndpointSettings(address=address_of(url, None), model="scripted"))
    results = [event.result for event in replay_at_once(engine, planned, NATURAL, (), at_once)]
    engine.close()
    failed = [result.error for result in results if result is not None and result.error is not None]
    if failed:
        raise SystemExit(f"{len(failed)} turns failed, the first with: {failed[0]}")
    return {
        r.trajectory_id: (r.submitted_ns, r.token_ns[0], r.token_ns[-1], r.output_tokens or 0)
        for r in results
        if r is not None
    }


def by_socket(url: str, planned: Sequence[Sequence[TurnPlan]], at_once: int) -> dict[str, Timed]:
    """The peer: a thread a connection that reads and looks at the clock, and nothing else."""

    def ask(plans: Sequence[TurnPlan]) -> list[tuple[str, Timed]]:
        return [(plan.turn.trajectory_id, bare(url, plan)) for plan in plans]

    with ThreadPoolExecutor(at_once) as pool:
        return dict(pair for pairs in pool.map(ask, planned) for pair in pairs)


def bare(url: str, plan: TurnPlan) -> Timed:
    place = urlsplit(url)
    body = json.dumps(
        {"model": "m", "messages": plan.request.messages, "max_completion_tokens": 1024, "stream": True}
    ).encode()
    session = plan.turn.trajectory_id
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Session-ID: {session}\r\nContent-Length: "
    with socket.create_connection((place.hostname, place.port)) as connection:
        submitted, arrivals = time.perf_counter_ns(), []
        connection.sendall(f"{head}{len(body)}\r\n\r\n".encode() + body)
        while True:
            data = connection.recv(65_536)
            now = time.perf_counter_ns()
            if b"data: {" in data and b'"role"' not in data:  # the role comes before any token
                arrivals.append(now)
            if not data or b"[DONE]" in data:
                return submitted, arrivals[0], arrivals[-1], 0


def errors(
    measured: Mapping[str, Timed], sent: Mapping[str, Sequence[int]]
) -> tuple[list[float], list[float]]:
    """Return by how much each TTFT is late, in ms, and each TPOT is off, in percent of the truth."""
    late, off = [], []
    for session, (_, first, last, _) in measured.items():
        true = sent[session]
        late.append((first - true[0]) / 1e6)
        true_span = true[-1] - true[0]
        off.append(100 * abs((last - first) / true_span - 1))
    return late, off


def rounds(at_once: int, turns: int, count: int, tokens: int, step_s: float) -> None:
    ways: dict[str, Callable[..., dict[str, Timed]]] = {"client": by_client, "bare socket": by_socket}
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in ways}
    for number in range(count):
        for name, ask in ways.items():
            served = Served(tokens, step_s)
            planned = trajectories(at_once, turns, f"r{number}")
            cpu = time.process_time()
            measured = ask(served.url, planned, at_once)
            cpu = time.process_time() - cpu
            sent, received = served.instants()
            late, off = errors(measured, sent)
            pace = median((s[-1] - s[0]) / (len(s) - 1) / 1e6 for k, s in sent.items() if k in measured)
            there = median((received[key] - t[0]) / 1e6 for key, t in measured.items())
            us = cpu * 1e6 / (len(measured) * tokens)
            found[name].append((median(late), max(late), median(off), max(off), pace, there, us))
    print(f"\n{at_once} at once, {turns} turns of {tokens} tokens each, {count} rounds: median (range)")
    names = (
        "TTFT late by, ms",
        "  the worst turn",
        "TPOT off by, %",
        "  the worst turn",
        "sent every, ms",
        "request there after, ms",
        "CPU a token, us",
    )
    print(f"  {'':<26}" + "".join(f"{name:>28}" for name in ways))
    for index, name in enumerate(names):
        cells = [spread([row[index] for row in rows]) for rows in found.values()]
        print(f"  {name:<26}" + "".join(f"{cell:>28}" for cell in cells))


def spread(values: Sequence[float]) -> str:
    return f"{median(values):.3f} ({min(values):.3f} .. {max(values):.3f})"


def many(count: int, tokens: int) -> None:
    """Replay two turns of very many trajectories at once."""
    served = Served(tokens, 0.2)
    before, begin = resident(), time.perf_counter()
    most = [0]
    over = threading.Event()
    watcher = threading.Thread(target=watch_memory, args=(most, over))
    watcher.start()
    measured = by_client(served.url, trajectories(count, 2, "many"), count)
    over.set()
    watcher.join()
    seconds = time.perf_counter() - begin
    served.instants()
    print(f"\n{count} trajectories at once, 2 turns each: {len(measured)} answers, no error, {seconds:.1f} s")
    print(
        f"  memory at most {(most[0] - before) / 2**20:.0f} MiB above the start, "
        f"{(most[0] - before) / count / 1024:.0f} KiB a trajectory (its thread and its connection)"
    )


def watch_memory(most: list[int], over: threading.Event) -> None:
    while not over.wait(0.05):
        most[0] = max(most[0], resident())


def idle(count: int) -> None:
    """Measure what an idle connection takes: opened for one request and kept."""
    served = Served(2, 0.0)
    engine = EndpointEngine(EndpointSettings(address=address_of(served.url, None), model="scripted"))
    (plans,) = trajectories(1, 1, "idle")
    engine.generate(plans[0].request)
    before = resident()
    all_here = threading.Barrier(count)

    def ask(number: int) -> None:
        all_here.wait()
        engine.generate(plans[0].request)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(ask, range(count)))
    print(f"\n{count} idle connections: {(resident() - before) / count / 1024:.1f} KiB each")
    engine.close()
    served.instants()


def resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at-once", default="1,32")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--step-ms", type=float, default=2.0)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trajectories", type=int, default=1000)
    options = parser.parse_args()
    print(
        f"Python {sys.version.split()[0]}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}"
    )
    for at_once in map(int, options.at_once.split(",")):
        rounds(at_once, options.turns, options.rounds, options.tokens, options.step_ms / 1e3)
    if options.trajectories:
        idle(200)
        many(options.trajectories, 20)


if __name__ == "__main__":
    main()
