"""tau-bench historical trajectories: a list of {task_id, trial, traj} with OpenAI messages.

Tool schemas are not stored. The simulated user ends each dialogue, so the last row is dropped.
"""

from collections.abc import Sequence

from edge_agentic.importers.chat_messages import read_messages
from edge_agentic.importers.normal import Notes, Session
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import arr, name, obj, objects


def read(sources: Sequence[Source], notes: Notes) -> list[Session]:
    """Read each record as one session."""
    sessions = []
    for source in sources:
        values = [record.value for record in source.records]
        for number, record in enumerate(objects(arr(values[0]) or values)):
            system, items = read_messages(record.get("traj"), notes)
            task = name(record.get("task_id")) or str(number)
            id_ = f"{source.stem}.task-{task}.trial-{name(obj(record).get('trial')) or 0}"
            sessions.append(Session(id=id_, items=tuple(items), system=system))
    return sessions
