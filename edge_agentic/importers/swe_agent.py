"""SWE-agent trajectories (`.traj`). Source: https://swe-agent.com/latest/usage/trajectories/.

`history` is the whole chat, `trajectory` has one entry for each step with the time its command ran. Tool
schemas are not stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_agentic.importers.chat_messages import read_messages
from edge_agentic.importers.content import flatten
from edge_agentic.importers.normal import Item, Notes, Reply, Session, ToolResult
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import arr, name, number, obj, objects, text


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read one session from each file, one more for each further agent in it."""
    return [session for source in sources for session in _sessions(source, notes)]


def _sessions(source: Source, notes: Notes) -> list[Session]:
    found = []
    for record in source.records:
        document = obj(record.value)
        history = objects(document.get("history"))
        agents = list(dict.fromkeys(text(message.get("agent")) for message in history)) or [""]
        for position, agent in enumerate(agents):
            own = [message for message in history if text(message.get("agent")) == agent]
            id_ = source.stem if position == 0 else f"{source.stem}.agent-{agent}"
            steps = objects(document.get("trajectory")) if len(agents) == 1 else []
            found.append(_session(id_, own, steps, notes))
    return found


def _session(
    id_: str, history: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]], notes: Notes
) -> Session:
    messages = [{**message, "tool_call_id": _call_id(message)} for message in history]
    system, items = read_messages(messages, notes)
    if not any(isinstance(item, Reply) and item.calls for item in items):
        notes.repair("R6", max(0, sum(isinstance(item, Reply) for item in items) - 1))
    _compare_prompts(history, steps, notes)
    asked = [
        message for message in history if message.get("role") == "assistant" and not message.get("is_demo")
    ]
    if len(asked) == len(steps):
        items = _timed(items, steps)
    return Session(id=id_, items=tuple(items), system=system)


def _call_id(message: Mapping[str, Any]) -> str | None:
    """A tool message names its calls in a list."""
    return next((name(each) for each in arr(message.get("tool_call_ids"))), name(message.get("tool_call_id")))


def _timed(items: Sequence[Item], steps: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Give each result the time that its step's command ran."""
    timed: list[Item] = []
    ahead = sum(isinstance(item, Reply) for item in items) - len(steps)
    step = -1 - ahead
    for item in items:
        step += isinstance(item, Reply)
        if isinstance(item, ToolResult) and step >= 0:
            item = replace(item, wait_s=number(steps[step].get("execution_time")))
        timed.append(item)
    return timed


def _compare_prompts(
    history: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]], notes: Notes
) -> None:
    """Say where the prompts that were sent are shorter than the history: a history processor cut them."""
    known = {flatten(message.get("content"), Notes()) for message in history}
    changed = sum(
        any(flatten(message.get("content"), Notes()) not in known for message in objects(step.get("query")))
        for step in steps
    )
    if changed:
        notes.remark(
            f"The prompts of {changed} of {len(steps)} steps were shortened by a history processor; the whole "
            "history is imported, which is longer and reuses more."
        )
