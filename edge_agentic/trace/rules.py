"""Rules about the rows of a trajectory together, as the MLPerf loader enforces them.

Source: `agentic_inference_dataset.py` of mlcommons/endpoints, the validations at its construction.
"""

from collections.abc import Iterable, Iterator, Sequence

from edge_agentic.trace.problems import Problem
from edge_agentic.trace.rows import Row

_FOLLOWS = {
    "start": ("user",),
    "user": ("assistant",),
    "assistant": ("tool", "user"),
    "tool": ("assistant", "user"),
}


def conversation_id(row: Row) -> str:
    """Return the row's trajectory as text (the MLPerf loader reads a number as its digits)."""
    return str(row.value["conversation_id"])


def in_turn_order(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of one trajectory as the MLPerf loader sorts them."""
    return sorted(rows, key=lambda row: int(row.value["turn"]))


def check_rows(members: Sequence[Row]) -> Iterator[Problem]:
    """Yield the errors of a trajectory whose rows, in turn order, each satisfy the schema."""
    numbering = list(_check_numbering(members))
    yield from numbering or _check_order(members)


def _check_numbering(members: Sequence[Row]) -> Iterator[Problem]:
    for expected, row in enumerate(members, start=1):
        if row.value["turn"] != expected:
            yield Problem(
                line=row.line,
                field="turn",
                text=f"is {row.value['turn']} in {conversation_id(row)!r}; expected {expected}, because the "
                "rows of a trajectory are numbered 1, 2, 3 … without gaps or repeats. Renumber them.",
            )
            return


def _check_order(members: Sequence[Row]) -> Iterator[Problem]:
    previous: Row | None = None
    for row in members:
        text = _order_fault(previous, row)
        if text:
            yield Problem(line=row.line, field="role", text=text)
        previous = row


def _order_fault(previous: Row | None, row: Row) -> str | None:
    state = "start" if previous is None else previous.value["role"]
    role = row.value["role"]
    if role not in _FOLLOWS[state]:
        before = "first" if previous is None else f"after {state}"
        return (
            f"is {role} {before}; expected {' or '.join(_FOLLOWS[state])}. Join neighbouring rows of one "
            "role (parallel tool results belong in one row), or add the missing row."
        )
    called = previous is not None and bool(previous.value.get("tool_calls"))
    if state == "assistant" and role == "tool" and not called:
        return (
            "is tool after an assistant row without tool_calls; add the calls, or make the text a user row."
        )
    if state == "assistant" and role == "user" and called:
        return (
            "is user after an assistant row with tool_calls; a tool row with their results must come first."
        )
    return None
