"""A live agent in front of the recorder and a scripted server behind it, for the tests beside this file."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2

from bfcl_gate.http.upstream import parse_upstream
from bfcl_gate.model.scripted_server import Said
from edge_agentic.importers.rows import Limits
from edge_agentic.importers.trajectories import Options
from edge_agentic.recorder import Recorded, Settings, record
from edge_agentic.trace import read_trace

Message = dict[str, Any]

SYSTEM = {"role": "system", "content": "You fix code."}
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
KEY = "sk-" + "k3y" * 20


def script(body: Mapping[str, Any]) -> Said:
    """Call bash twice with what was done so far, then say that all is done."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    if done < 2:
        return Said(text=f"step {done} ", calls=(("bash", json.dumps({"command": f"make step{done}"})),))
    return Said(text="All is done.")


_clients: list[httpx2.Client] = []
"""Agents keep their connections open until the recording has ended."""


class Agent:
    """A minimal agent: it asks, runs what it is told, and asks again with everything so far."""

    def __init__(self, base_url: str, task: str, *, stream: bool = True) -> None:
        self.messages: list[Message] = [SYSTEM, {"role": "user", "content": task}]
        self._stream = stream
        self._url = f"{base_url}/chat/completions"
        self._client = httpx2.Client(timeout=120, trust_env=False, headers={"Authorization": f"Bearer {KEY}"})
        _clients.append(self._client)

    def turn(self, **fields: Any) -> Message:
        """Ask once and take the answer into the history. Raises httpx2.HTTPError where there is none."""
        body = {"model": "m", "messages": self.messages, "tools": TOOLS, "stream": self._stream, **fields}
        with self._client.stream("POST", self._url, json=body) as response:
            response.raise_for_status()
            whole = response.read()
        message = _streamed(whole) if self._stream else json.loads(whole)["choices"][0]["message"]
        self.messages.append(message)
        return message

    def run(self) -> None:
        """Turn after turn until no tool is called."""
        while calls := self.turn().get("tool_calls"):
            self.messages += [
                {
                    "role": "tool",
                    "tool_call_id": call["id"],
                    "content": f"did {call['function']['arguments']}\n",
                }
                for call in calls
            ]


def _streamed(whole: bytes) -> Message:
    message: Message = {"role": "assistant", "content": ""}
    calls: dict[int, Message] = {}
    for line in whole.decode().splitlines():
        if not line.startswith("data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            message["content"] += choice["delta"].get("content") or ""
            for part in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(part["index"], {**part, "function": {"name": "", "arguments": ""}})
                for key, value in part["function"].items():
                    call["function"][key] += value
    return {**message, "tool_calls": list(calls.values())} if calls else message


def recorded(
    folder: Path,
    upstream: str,
    *agents: Callable[[str], None],
    options: Options | None = None,
    **settings: Any,
) -> Recorded:
    """Record while the agents, which are given the base URL, run side by side; then end it as Ctrl-C would."""
    failures: list[BaseException] = []

    def play(agent: Callable[[str], None], url: str) -> None:
        try:
            agent(url)
        except BaseException as error:  # noqa: BLE001 - it belongs to the test's own thread
            failures.append(error)

    def begun(url: str) -> None:
        threads = [Thread(target=play, args=(agent, url)) for agent in agents]
        for thread in threads:
            thread.start()

        def wait() -> None:
            for thread in threads:
                thread.join()
            os.kill(os.getpid(), signal.SIGINT)

        Thread(target=wait).start()

    where = {"output": folder / "live.jsonl", "host": "127.0.0.1", "port": 0, **settings}
    try:
        done = record(
            Settings(upstream=parse_upstream(upstream), **where),
            options or Options(limits=Limits()),
            begun=begun,
            watch=lambda tally: None,
        )
    finally:
        while _clients:
            _clients.pop().close()
    assert failures == []
    assert not read_trace(Path(done.report.output)).problems
    return done


def rows_of(done: Recorded) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the written trace by trajectory."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in Path(done.report.output).read_text(encoding="utf-8").splitlines()[1:]:
        row = json.loads(line)
        found.setdefault(row["conversation_id"], []).append(row)
    return found


def said(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the text of each row: of the user, the model or the tools."""
    for row in rows:
        yield row.get("content") or "".join(each["content"] for each in row.get("tool_results", ()))
