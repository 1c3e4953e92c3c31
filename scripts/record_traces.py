#!/usr/bin/env python3
"""Record the bundled traces: play the sessions of scripts/sessions with their tools executed for real.

A session is a folder with `session.py` (system prompt, tools, task and the script of the assistant's turns,
which goes on in `steps_2_….py`, `steps_3_….py`) and `workspace/` (the code it works on). Outputs and exit codes
are what came back. A session counts only if its check passes at the end and failed before it. Run again,
everything but delays and printed numbers is the same; where a file is replaced, what else differs is named.

The delay of a turn is the processor time of its calls: what they would have taken on an idle machine, however
busy this one was. A command that sleeps takes longer than that.

    python scripts/record_traces.py smoke|edge-coding [--output FILE.jsonl] [--only SESSION…]
"""

import argparse
import hashlib
import json
import re
import resource
import runpy
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from agent_tools import Workspace, call_tool

SCRIPTS = Path(__file__).resolve().parent
SESSIONS = SCRIPTS / "sessions"
TRACES = SCRIPTS.parent / "traces"
# JSON allows these within a line, yet some readers end a line there.
LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A trace file: what it is and its sessions, in the order of the file."""

    description: str
    sessions: tuple[str, ...]


# A run over the first N turns should see different agents and kinds of work early, hence the mixed order.
SUITES = {
    "smoke": Suite(
        description="Three short coding sessions: failing tests, a command-line bug, a log analysis.",
        sessions=("checkout-log", "ledger-december", "wordfreq-unicode"),
    ),
    "edge-coding": Suite(
        description="Long coding sessions of many kinds, with one to seven tools.",
        sessions=(
            "stock-cli",
            "billing-money",
            "csvstat-c",
            "incident-logs",
            "subtitle-encoding",
            "calc-parser",
            "backup-sh",
            "meter-csv",
            "settings-migrate",
            "flaky-queue",
            "device-docs",
            "route-perf",
            "shift-calendar",
            "cache-threads",
            "depgraph-cycles",
            "numerics-accuracy",
        ),
    ),
}


def main() -> None:
    arguments = _arguments()
    suite = SUITES[arguments.suite]
    output = arguments.output or TRACES / f"{arguments.suite}.jsonl"
    before = _recorded(output)
    recorded = dict(before) if arguments.only else {}
    for name in arguments.only or suite.sessions:
        recorded[name] = record(SESSIONS / name)
        print(f"{name}: {_compared(before.get(name, []), recorded[name])}", flush=True)
    rows = [
        _metadata(arguments.suite, suite.description),
        *(row for name in suite.sessions for row in recorded.get(name, ())),
    ]
    text = "".join(json.dumps(row, ensure_ascii=False).translate(LINE_ENDS) + "\n" for row in rows)
    _refuse_traces_of_this_machine(text)
    output.write_text(text, "utf-8")
    sums = "".join(f"{_sha256(path)}  {path.name}\n" for path in sorted(output.parent.glob("*.jsonl")))
    (output.parent / "SHA256SUMS").write_text(sums, "ascii")
    print(f"{output}: {len(rows) - 1} rows")


def _recorded(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each session a trace file holds."""
    recorded: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text("utf-8").splitlines()[1:] if path.exists() else ():
        row = json.loads(line)
        recorded.setdefault(row["conversation_id"], []).append(row)
    return recorded


def _compared(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """Say which rows differ from those of an earlier recording by more than numbers."""
    pairs = zip(before, after, strict=False)
    changed = [str(new["turn"]) for old, new in pairs if _without_numbers(old) != _without_numbers(new)]
    if len(before) != len(after):
        changed.append(f"{len(before)} rows became {len(after)}")
    return f"{len(after)} rows, changed: {', '.join(changed) or 'none'}"


def _without_numbers(row: dict[str, Any]) -> str:
    return re.sub(r"0x[0-9a-f]+|\d+", "#", json.dumps({**row, "delay_seconds": None}))


def record(folder: Path) -> list[dict[str, Any]]:
    """Play one session and return its trace rows. Exits where the session does not end in success."""
    session = load(folder)
    with tempfile.TemporaryDirectory() as scratch:
        untouched = Workspace.copy_of(folder / "workspace", Path(scratch) / "untouched")
        if untouched.run(session["CHECK"])[1] == 0:
            sys.exit(f"{folder.name}: the check passes before anything was done")
        workspace = Workspace.copy_of(folder / "workspace", Path(scratch) / "played")
        rows = list(_play(session, workspace))
        output, code = workspace.run(session["CHECK"])
        if code != 0:
            sys.exit(f"{folder.name}: the check fails at the end\n{output}")
    return [{"conversation_id": folder.name, "turn": i, **row} for i, row in enumerate(rows, start=1)]


def load(folder: Path) -> dict[str, Any]:
    """Return what a session defines, with all its steps."""
    session = runpy.run_path(str(folder / "session.py"))
    for part in sorted(folder.glob("steps_*.py")):
        session["STEPS"] += runpy.run_path(str(part))["STEPS"]
    return session


def _play(session: dict[str, Any], workspace: Workspace) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": session["TASK"], "system": session["SYSTEM"], "tools": session["TOOLS"]}
    number = 0
    for step in session["STEPS"]:
        if "user" in step:
            yield {"role": "user", "content": step["user"]}
            continue
        calls = [
            {
                "id": f"call_{number + i}",
                "type": "function",
                "function": {"name": n, "arguments": json.dumps(a, ensure_ascii=False)},
            }
            for i, (n, a) in enumerate(step.get("calls", ()))
        ]
        number += len(calls)
        yield {"role": "assistant", **{k: step[k] for k in ("content", "reasoning_content") if k in step}} | (
            {"tool_calls": calls} if calls else {}
        )
        if calls:
            yield _results(step["calls"], calls, workspace)


def _results(
    asked: Sequence[tuple[str, dict[str, Any]]], calls: Sequence[dict[str, Any]], workspace: Workspace
) -> dict[str, Any]:
    """Execute the calls of one answer one after the other; the delay is the processor time that took."""
    before_s = _processor_seconds()
    contents = [call_tool(workspace, name, arguments) for name, arguments in asked]
    delay_s = _processor_seconds() - before_s
    results = [
        {"tool_call_id": call["id"], "content": content}
        for call, content in zip(calls, contents, strict=True)
    ]
    return {
        "role": "tool",
        "tool_results": results,
        "delay_seconds": round(delay_s, 6),
    }


def _processor_seconds() -> float:
    """Return user and system time of this process and of every one it has waited for, and those for theirs."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _metadata(name: str, description: str) -> dict[str, Any]:
    # A bare time would become a date column in the MLPerf loader's data frame, with a not-a-time in every
    # other row that its client cannot encode; so the version stands beside it.
    recorded = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "_type": "dataset_metadata",
        "name": name,
        "description": description,
        "licence": "Apache-2.0",
        "recorder": "scripts/record_traces.py",
        "agent": "assistant turns scripted, tool calls executed for real",
        "recorded_at": f"{recorded} with Python {sys.version_info.major}.{sys.version_info.minor}",
        "delays": "processor time of the tool calls",
        "source": "scripts/sessions",
        "schema_version": 1,
    }


def _refuse_traces_of_this_machine(text: str) -> None:
    places = {str(Path.home()), tempfile.gettempdir(), sys.prefix, sys.base_prefix, socket.gethostname()}
    for word in places - {"/", "/usr"}:
        # A whole name only: a host may be called `vm`.
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text):
            sys.exit(f"the recording holds {word!r}, which belongs to this machine; nothing was written")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record a bundled trace.")
    parser.add_argument("suite", choices=SUITES, help="which trace")
    parser.add_argument("--only", nargs="+", metavar="SESSION", help="record these again, keep the others")
    parser.add_argument("--output", type=Path, help="trace file to write (traces/SUITE.jsonl)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
