"""Which characters of an answer are framing, arguments and free text, in one syntax and another."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.model.llama_engine.token_parts import count_parts, parts_of_tokens
from bfcl_gate.model.toolcalls import ARGUMENT, FRAMING, FREE_TEXT, parts_of

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {"name": "bash", "parameters": {"properties": {"command": {"type": "string"}}}},
    },
    {
        "type": "function",
        "function": {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}},
    },
)


def shown(text: str, **options: Any) -> str:
    """The answer with "." for framing, "a" for arguments and "f" for free text."""
    return "".join(".af"[part] for part in parts_of(text, TOOLS, **options))


def framed(text: str, *arguments: str, free: tuple[str, ...] = ()) -> str:
    """What `shown` is to be: each argument and each piece of free text marked where it stands, in order."""
    marks = ["."] * len(text)
    for letter, pieces in (("a", arguments), ("f", free)):
        place = 0
        for piece in pieces:
            place = text.index(piece, place)
            marks[place : place + len(piece)] = letter * len(piece)
            place += len(piece)
    return "".join(marks)


HERMES = 'I look.\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls -la"}}\n</tool_call><|im_end|>'
XML = "<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>"
PYTHONIC = '[bash(command="ls -la"), add(a=12)]'
FENCED = '```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```'
ESCAPED = '<tool_call>\n{"name": "bash", "arguments": {"command": "echo \\"x\\"\\nls"}}\n</tool_call>'
KEY_IN_VALUE = '<tool_call>\n{"name": "bash", "arguments": {"command": "command"}}\n</tool_call>'
BROKEN = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls'
THINKING = "<think>\nThe files.\n</think>\n\nHere they are."


@pytest.mark.parametrize(
    ("text", "syntax", "expected"),
    [
        (HERMES, "hermes", framed(HERMES, "ls -la", free=("I look.",))),
        (XML, "qwen-xml", framed(XML, "ls -la")),
        (PYTHONIC, "pythonic", framed(PYTHONIC, "ls -la", "12")),
        (FENCED, "hermes", framed(FENCED, "ls")),
        (ESCAPED, "hermes", framed(ESCAPED, 'echo \\"x\\"\\nls')),
        (THINKING, "hermes", framed(THINKING, free=("The files.", "Here they are."))),
        ("Only text.", "hermes", "f" * 10),
        ("<|im_end|>", "hermes", "." * 10),
        ("", "hermes", ""),
    ],
)
def test_parts_of_an_answer(text: str, syntax: str, expected: str) -> None:
    assert shown(text, syntax=syntax) == expected


def test_a_value_that_reads_like_its_key_is_the_argument() -> None:
    value = KEY_IN_VALUE.rindex("command")
    found = shown(KEY_IN_VALUE, syntax="hermes")
    assert found == "." * value + "a" * 7 + "." * (len(KEY_IN_VALUE) - value - 7)


def test_an_attempt_that_cannot_be_read_is_an_argument_as_a_whole() -> None:
    found = shown(BROKEN, syntax="hermes", finish="length")
    assert found[: BROKEN.index("{")] == "." * BROKEN.index("{")
    assert "a" in found
    assert "f" not in found


@given(st.text(alphabet='<tol_cal>/{}[]":,\\ \nnamergus01é😀', max_size=80))
def test_every_character_of_any_text_has_a_part(text: str) -> None:
    assert len(parts_of(text, TOOLS, syntax="hermes")) == len(text)


def test_a_token_belongs_to_the_argument_it_reaches_into() -> None:
    text = 'x {"é😀"}'
    parts = [FREE_TEXT, *[FRAMING] * 3, ARGUMENT, ARGUMENT, FRAMING, FRAMING]
    smile = "😀".encode()
    pieces = [b"x", b' {"', "é".encode(), smile[:2], smile[2:], b'"}']
    found = parts_of_tokens(pieces, parts)
    assert found == [FREE_TEXT, FRAMING, ARGUMENT, ARGUMENT, ARGUMENT, FRAMING]
    assert b"".join(pieces).decode() == text
    assert parts_of_tokens([b'x {"', 'é"'.encode()], [*parts[:5], FRAMING]) == [FREE_TEXT, ARGUMENT]


def test_tokens_and_accepted_ones_are_counted_by_part() -> None:
    counts = count_parts([FRAMING, ARGUMENT, ARGUMENT, FREE_TEXT, FRAMING], [1, 0, 1, 0, 1])
    assert counts == {
        "framing_tokens": 2,
        "framing_accepted": 2,
        "argument_tokens": 2,
        "argument_accepted": 1,
        "free_text_tokens": 1,
        "free_text_accepted": 0,
    }
