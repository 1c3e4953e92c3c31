"""Traces of kv-cache-tester (Weka; InferenceX has the same shape): Claude Code sessions as lengths and blocks.

Source: callanjfox/kv-cache-tester, traces/. A file is a session: requests with input and output tokens,
ids of full blocks, the time since the reply before (`think_time`, whole seconds), sub-agents nested in it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from edge_agentic.importers.normal import Notes
from edge_agentic.importers.shape_rounds import Round, block_runs
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import arr, count, name, number, obj, objects, text

_BLOCK = 64


def read_rounds(source: Source, notes: Notes) -> Iterator[Round]:
    """Read the rounds of each session; those of a sub-agent are a group of their own."""
    for record in source.records:
        session = obj(record.value)
        id_ = name(session.get("id")) or source.stem
        block = count(session.get("block_size")) or _BLOCK
        # Ids of scope "local" say nothing about other files.
        scope = f"{id_} " if text(session.get("hash_id_scope")) == "local" else ""
        yield from _rounds(session, id_, None, block, scope, notes)


def _rounds(
    session: Mapping[str, Any], group: str, parent: str | None, block: int, scope: str, notes: Notes
) -> Iterator[Round]:
    agents: list[Mapping[str, Any]] = []
    for position, request in enumerate(objects(session.get("requests"))):
        if isinstance(request.get("requests"), list):
            agents.append(request)
            continue
        tokens, output = count(request.get("in")), count(request.get("out"))
        if not tokens or output is None:
            notes.skip("request without lengths")
            continue
        ids = [f"{scope}{each}" for each in arr(request.get("hash_ids")) if isinstance(each, int | str)]
        runs, solid = block_runs(ids, block, tokens, f"rest {group} {position}")
        yield Round(
            runs=runs,
            solid=solid,
            output_tokens=max(1, output),
            group=group,
            agent_of=parent,
            wait=_wait(request),
            model=text(request.get("model")) or None,
        )
    for number_, agent in enumerate(agents, start=1):
        own = f"{group}.agent-{name(agent.get('agent_id')) or number_}"
        # A sub-agent's own sub-agents would be nested once more; a depth no trace has is not followed.
        if parent is None:
            yield from _rounds(agent, own, group, block, scope, notes)


def _wait(request: Mapping[str, Any]) -> tuple[float, str] | None:
    """Return the wait before a request that brings results of tools; it holds approvals."""
    seconds = number(request.get("think_time"))
    if seconds is None or "tool_result" not in arr(request.get("input_types")):
        return None
    return seconds, "timestamps"
