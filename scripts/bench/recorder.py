#!/usr/bin/env python3
"""What `edge-agentic traces record` adds to an answer: the same requests direct and through it, turn about.

The server is `edge-agentic serve-scripted` with the bundled trace, so prompts have a real agent's size; it sends a
token each --pause seconds. Server, recorder and this client are processes of their own. Goals: at most
2 ms more to the first token and 0.2 ms more to each later one, at the median.

    python scripts/bench/recorder.py [--rounds N] [--turns N] [--tokens N] [--pause S]
"""

import argparse
import json
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from time import perf_counter_ns
from typing import Any

from edge_agentic.trace import find_trace, load_trajectories

TRACE = "edge-coding"
FIRST_GOAL_MS, LATER_GOAL_MS = 2.0, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One streamed answer: when each token came, in ns after the request was sent."""

    arrivals_ns: tuple[int, ...]

    @property
    def first_ms(self) -> float:
        """Time to the first token."""
        return self.arrivals_ns[0] / 1e6


class Client:
    """One connection that is kept open; `fresh` makes one for each request."""

    def __init__(self, url: str, *, fresh: bool) -> None:
        host, port = url.removeprefix("http://").partition("/")[0].split(":")
        self._address = (host, int(port))
        self._fresh = fresh
        self._socket: socket.socket | None = None

    def ask(self, body: bytes) -> Reading:
        """Put one request and note the arrival of each event that holds a token."""
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self._address[0]}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        began_ns = perf_counter_ns()
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=60)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(head.encode() + body)
        arrivals: list[int] = []
        told, tail = 0, b""
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            piece = self._socket.recv(65_536)
            now_ns = perf_counter_ns() - began_ns
            assert piece, "the answer broke off"
            seen = tail[-20:] + piece
            told = seen.count(b"data: {") - tail[-20:].count(b"data: {")
            arrivals += [now_ns] * told
            tail = seen
        if self._fresh:
            self.close()
        # The role comes before the first token, the end of generation last.
        return Reading(arrivals_ns=tuple(arrivals[1:-1]))

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


@contextmanager
def command(*arguments: object) -> Iterator[str]:
    """Run `edge-agentic` until the block ends; gives the first address it names of its own."""
    line = [sys.executable, "-m", "edge_agentic", *map(str, arguments)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"(?:Make|at) (http://127\.0\.0\.1:\d+)", said)
        try:
            assert found, said + process.stderr.read()
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)


@contextmanager
def both(pause_s: float) -> Iterator[tuple[str, str]]:
    """Run server and recorder; gives their addresses."""
    # This dialect keeps its connections; llama.cpp's server closes each after a stream.
    serve = ("serve-scripted", "--port", 0, "--traces", TRACE, "--pause", pause_s, "--dialect", "openai")
    with tempfile.TemporaryDirectory() as folder, command(*serve) as server:
        output = Path(folder) / "recorded.jsonl"
        record = ("traces", "record", "--upstream", server, "--listen", "127.0.0.1:0", "--output", output)
        with command(*record) as recorder:
            yield server, recorder


def bodies(turns: int, tokens: int) -> list[bytes]:
    """Return the requests of turns spread over the trace whose answers are long enough."""
    found: list[dict[str, Any]] = []
    for trajectory in load_trajectories(find_trace(TRACE)):
        for turn in trajectory.turns:
            if turn.recorded is not None and len(json.dumps(turn.recorded)) > 8 * tokens:
                messages, tools = list(turn.messages), list(turn.tools)
                found.append({"model": "m", "messages": messages, "tools": tools, "stream": True})
    chosen = found[:: max(1, len(found) // turns)][:turns]
    return [json.dumps({**body, "max_completion_tokens": tokens}).encode() for body in chosen]


def measure(ways: dict[str, Client], asked: Sequence[bytes], rounds: int) -> dict[str, list[list[Reading]]]:
    """Return the readings of each way by round; which way goes first alternates."""
    readings: dict[str, list[list[Reading]]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        order = list(ways) if number % 2 else list(reversed(ways))
        found: dict[str, list[Reading]] = {name: [] for name in ways}
        for body in asked:
            for name in order:
                found[name].append(ways[name].ask(body))
        if number:  # the first round warms up
            for name in ways:
                readings[name].append(found[name])
    return readings


def report(title: str, readings: dict[str, list[list[Reading]]]) -> tuple[float, float]:
    """Print medians with the range of the rounds' medians; return what is added to first and later tokens in ms."""
    firsts = {
        way: [median(reading.first_ms for reading in each) for each in rounds]
        for way, rounds in readings.items()
    }
    gaps = {way: [median(_gaps_ms(each)) for each in rounds] for way, rounds in readings.items()}
    means = {way: [fmean(_gaps_ms(each)) for each in rounds] for way, rounds in readings.items()}
    added = [one - other for one, other in zip(firsts["recorded"], firsts["direct"], strict=True)]
    steps = [one - other for one, other in zip(gaps["recorded"], gaps["direct"], strict=True)]
    whole = [one - other for one, other in zip(means["recorded"], means["direct"], strict=True)]
    print(f"{title}: ms, median (range of {len(added)} rounds)")
    for name, values in (
        ("first token, direct", firsts["direct"]),
        ("first token, recorded", firsts["recorded"]),
        ("added to the first token", added),
        ("between tokens, direct", gaps["direct"]),
        ("between tokens, recorded", gaps["recorded"]),
        ("added to each later token", steps),
        ("the same from the mean of a round", whole),
    ):
        print(f"  {name:<34}{median(values):>9.3f}  ({min(values):.3f} to {max(values):.3f})")
    return median(added), max(median(steps), median(whole))


def _gaps_ms(readings: Sequence[Reading]) -> list[float]:
    return [(after - before) / 1e6 for reading in readings for before, after in pairwise(reading.arrivals_ns)]


def main() -> None:
    """Run the comparison; exit code 1 where a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.02)
    options = parser.parse_args()
    asked = bodies(options.turns, options.tokens)
    sizes = [len(body) for body in asked]
    print(
        f"{platform.platform()}, Python {platform.python_version()}; {len(asked)} requests of {min(sizes):,} to "
        f"{max(sizes):,} bytes, a token each {options.pause * 1e3:g} ms"
    )
    missed = False
    for title, pause, fresh in (
        ("Connection kept", options.pause, False),
        ("New connection for each request", options.pause, True),
        ("Tokens as fast as the server sends them", 0.0, False),
    ):
        with both(pause) as (server, recorder):
            ways = {"direct": Client(server, fresh=fresh), "recorded": Client(recorder, fresh=fresh)}
            first, later = report(title, measure(ways, asked, options.rounds))
            missed |= first > FIRST_GOAL_MS or later > LATER_GOAL_MS
            for client in ways.values():
                client.close()
    print(f"Goals of {FIRST_GOAL_MS} ms and {LATER_GOAL_MS} ms: {'missed' if missed else 'met'}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
