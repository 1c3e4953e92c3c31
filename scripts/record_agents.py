#!/usr/bin/env python3
"""Record real agents with `edge-agentic traces record`, and check the traces against what the server was asked.

Each agent is installed by hand (`pip install mini-swe-agent`, `npm install @qwen-code/qwen-code`) and named by its
command. It works in an empty folder with a home folder of its own, in front of a scripted server that lets it call its
own tools, or with --upstream of a real one. What it runs there, it runs for real: a model that is not scripted needs a
machine that may be lost.

    python scripts/record_agents.py --mini PATH/TO/mini --qwen PATH/TO/qwen [--upstream URL --model NAME] [--keep DIR]
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfcl_gate.model.scripted_server import Received, Said, ScriptedServer
from edge_agentic.trace import load_trajectories

TASK = "Write hello.txt with one line of text, and show what it holds."
KEY = "sk-" + "not4disk" * 6
STEPS = (
    "echo 'hällo wörld' > hello.txt",
    "cat hello.txt; printf '\\033[31mred\\033[0m\\n'; exit 3",
    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
)
MINI = (
    "-y",
    "--exit-immediately",
    "-m",
    "openai/MODEL",
    "-t",
    TASK,
    "-o",
    "own.traj.json",
    "-c",
    "mini.yaml",
)
MINI += ("-c", "agent.step_limit=6", "-c", "model.cost_tracking=ignore_errors")
MINI += ("-c", "model.model_kwargs.max_tokens=200")
AGENT_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A command with its arguments and environment; MODEL and URL in them stand for the served model and address."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]


def agents(mini: str | None, qwen: str | None) -> Iterator[Agent]:
    """Yield what was named."""
    if mini:
        yield Agent(
            name="mini-swe-agent",
            command=(mini, *MINI),
            environment={"OPENAI_API_BASE": "URL", "MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1"},
        )
    if qwen:
        yield Agent(
            name="qwen-code",
            command=(qwen, "--yolo", "--auth-type", "openai", "-m", "MODEL", TASK),
            environment={"OPENAI_BASE_URL": "URL"},
        )


def script(body: Mapping[str, Any]) -> Said:
    """Call the agent's own shell tool for each step, then say that all is done."""
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
    shell = next((name for name in ("bash", "run_shell_command") if name in tools), None)
    # Not the replies: some agents begin with one that no model gave.
    done = sum(message["role"] == "tool" for message in body["messages"])
    if shell is None or done >= len(STEPS):
        return Said(text="All is done.")
    arguments = {"command": STEPS[done]}
    if "is_background" in json.dumps(tools[shell]):
        arguments |= {"is_background": False}
    return Said(text=f"Step {done + 1}.", calls=((shell, json.dumps(arguments, ensure_ascii=False)),))


@contextmanager
def recorder(upstream: str, output: Path) -> Iterator[str]:
    """Record until the block ends and print the report; gives the base URL for the agent."""
    line = [sys.executable, "-m", "edge_agentic", "traces", "record", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*line, "--upstream", upstream, "--output", str(output)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"Make (\S+) the base URL", said)
        try:
            assert found, said + process.stderr.read()
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
            print(out, err, sep="")
            assert process.returncode == 0, process.returncode
            assert KEY not in out + err


def run(agent: Agent, url: str, model: str, folder: Path) -> None:
    """Run an agent to its end in a folder of its own."""
    told = {"MODEL": model, "URL": url}
    command = [told.get(part, part).replace("MODEL", model) for part in agent.command]
    environment = {name: told.get(value, value) for name, value in agent.environment.items()}
    home = folder / "home"
    home.mkdir()
    workspace = folder / "workspace"
    workspace.mkdir()
    done = subprocess.run(
        command,
        cwd=workspace,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TERM": "dumb",
            "OPENAI_API_KEY": KEY,
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=AGENT_S,
        check=False,
    )
    print(f"{agent.name}: exit code {done.returncode}; {sorted(p.name for p in workspace.iterdir())}")
    (folder / "agent.log").write_text(done.stdout + done.stderr, encoding="utf-8")


def compare(trace: Path, asked: Sequence[Received]) -> str:
    """Check that the trace holds each prompt that the server was asked; say how many."""
    held = [
        _texts(turn.messages)
        for trajectory in load_trajectories(trace)
        for turn in trajectory.turns
        if turn.recorded is not None
    ]
    sent = [_texts(each.body["messages"]) for each in asked]
    missing = [each for each in sent if each not in held]
    assert not missing, missing
    return f"{len(sent)} prompts as the server was asked, {sum(map(len, sent))} messages"


def _texts(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return roles, texts and calls; texts in parts are joined as an import joins them."""
    return [
        (
            message["role"],
            _text(message.get("content")),
            json.dumps([_call(c) for c in message.get("tool_calls") or ()]),
        )
        for message in messages
    ]


def _text(content: Any) -> str:
    return "\n".join(part["text"] for part in content) if isinstance(content, list) else content or ""


def _call(call: Mapping[str, Any]) -> tuple[str, str]:
    return call["function"]["name"], call["function"]["arguments"]


def record(agent: Agent, upstream: str | None, model: str, folder: Path) -> None:
    """Record one agent and check what was made of it."""
    folder.mkdir(parents=True)
    trace = folder / "recorded.jsonl"
    asked: list[Received] = []
    with (
        ScriptedServer(script, note=asked.append, model=model, ctx=10**6) as server,
        recorder(upstream or f"{server.url}/v1", trace) as url,
    ):
        run(agent, url, model, folder)
    for name in ("validate", "stats"):
        subprocess.run([sys.executable, "-m", "edge_agentic", "traces", name, str(trace)], check=True)
    assert KEY not in trace.read_text(encoding="utf-8")
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["agent.log", "recorded.jsonl"]
    if upstream is None:
        print(f"{agent.name}: {compare(trace, asked)}")


def main() -> None:
    """Record each agent that was named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mini", help="the command `mini` of mini-swe-agent")
    parser.add_argument("--qwen", help="the command `qwen` of Qwen Code")
    parser.add_argument("--upstream", help="a real server in place of the scripted one")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--keep", type=Path, help="where traces and logs are left")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    for agent in agents(options.mini, options.qwen):
        record(agent, options.upstream, options.model, folder / agent.name)
    if options.keep is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
