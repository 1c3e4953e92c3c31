"""Bodies as what they add to earlier ones: every text comes back, and damage is noticed, not guessed over."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from edge_agentic.importers.deltas import Deltas

TEXTS = st.lists(st.text(st.sampled_from("ab\U0001f600"), max_size=40), max_size=60)
ANYTHING = (
    st.none() | st.integers() | st.text(max_size=3) | st.booleans() | st.lists(st.integers(), max_size=1)
)


@given(TEXTS)
def test_what_is_shortened_is_restored(texts: list[str]) -> None:
    writing, reading = Deltas(), Deltas()
    rows = [writing.shorten(number, text) for number, text in enumerate(texts)]
    assert [reading.restore(number, row) for number, row in enumerate(rows)] == texts


@given(TEXTS, st.sampled_from(["base", "head", "tail", "middle"]), ANYTHING, st.integers(0, 59))
@example(["aaaa", "aaab"], "base", [0], 1)
def test_damage_is_none_or_a_text_and_nothing_else_breaks(
    texts: list[str], key: str, value: Any, where: int
) -> None:
    writing, reading = Deltas(), Deltas()
    rows = [writing.shorten(number, text) for number, text in enumerate(texts)]
    if where < len(rows):
        rows[where][key] = value
    assert all(isinstance(reading.restore(n, row), str | None) for n, row in enumerate(rows))


def test_a_conversation_grows_by_what_is_new_also_beside_others() -> None:
    """The messages stand between the model's name and the tools, which every body repeats."""
    deltas, size = Deltas(), 0
    chats: list[list[str]] = [[f"task {n} " + "x" * 5_000] for n in range(8)]
    for turn in range(20):
        for number, chat in enumerate(chats):
            chat.append(f"turn {turn} of {number} " + "y" * 1_000)
            body = json.dumps({"model": "m", "messages": chat, "tools": ["z" * 10_000]})
            size += len(json.dumps(deltas.shorten(turn * len(chats) + number, body)))
    new = sum(len(text) for chat in chats for text in chat) + 10_000
    assert size < 1.2 * new
