"""Valid trajectories of every shape, for property tests."""

import json
from typing import Any

from hypothesis import strategies as st
from trace_rows import BASH, Rows, call, result

# Everything JSON can say and a model can be sent: control characters and line breaks of all kinds, no halves of pairs.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
spoken = texts.filter(bool)
ids = st.text(st.sampled_from("abcXYZ-_. 019"), min_size=1, max_size=8).filter(lambda name: name != "nan")
extras = st.dictionaries(
    st.sampled_from(["note", "repairs", "recorded_output_tokens"]), texts | st.integers(0, 9)
)


@st.composite
def trajectory_rows(draw: st.DrawFn, name: str) -> Rows:
    """The rows of one trajectory; it may end with a row that nothing answers."""
    rows: Rows = [{"role": "user", "content": draw(spoken), **draw(_heads)}]
    for turn in range(draw(st.integers(1, 4))):
        made = draw(st.integers(0, 2))
        calls = [call(f"c{turn}.{i}", json.dumps({"command": draw(texts)})) for i in range(made)]
        answer: dict[str, Any] = (
            {"role": "assistant", "tool_calls": calls} if calls else {"role": "assistant"}
        )
        if not calls or draw(st.booleans()):
            answer["content"] = draw(spoken)
        if draw(st.booleans()):
            answer["reasoning_content"] = draw(texts)
        rows += [answer, draw(_next([each["id"] for each in calls]))]
    if draw(st.booleans()):
        rows.pop()
    return [
        {"conversation_id": name, "turn": number, **row, **draw(extras)}
        for number, row in enumerate(rows, start=1)
    ]


_heads = st.fixed_dictionaries(
    {},
    optional={
        "system": texts,
        "tools": st.just([BASH]),
        "max_new_tokens": st.integers(1, 4096),
        "stream": st.booleans(),
    },
)


def _next(called: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """The row of a client after an answer that made these calls."""
    limits = st.fixed_dictionaries({}, optional={"max_completion_tokens": st.integers(1, 99)})
    if not called:
        return st.builds(lambda text, more: {"role": "user", "content": text, **more}, spoken, limits)
    return st.builds(
        lambda outputs, delay, more: {
            "role": "tool",
            "tool_results": [result(name, text) for name, text in zip(called, outputs, strict=True)],
            "delay_seconds": delay,
            **more,
        },
        st.lists(texts, min_size=len(called), max_size=len(called)),
        st.floats(0, 5),
        limits,
    )


@st.composite
def traces(draw: st.DrawFn) -> Rows:
    """The rows of a valid file."""
    names = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    return [row for name in names for row in draw(trajectory_rows(name))]
