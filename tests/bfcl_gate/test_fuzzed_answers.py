"""Answers of every kind of nonsense are judged and read without an exception; a failure names the seed.

`BFCL_GATE_FUZZ=1000000 pytest -s tests/bfcl_gate/test_fuzzed_answers.py` reads a million.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mutations import TEXTS, VALUES, mutated

from bfcl_gate.dataset import CATEGORIES, Entry, entries
from bfcl_gate.marks import judge
from bfcl_gate.model import ParsedAnswer, parse_tool_calls
from bfcl_gate.model.toolcalls.parse import SYNTAXES
from bfcl_gate.tools import mlperf_tools

SEED = int(os.environ.get("BFCL_GATE_SEED", random.SystemRandom().randrange(2**32)))
ANSWERS = int(os.environ.get("BFCL_GATE_FUZZ", "1500"))
LONGEST = 600

MARKS = (
    *(
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        "<function=",
        "</function>",
        "<parameter=",
        "</parameter>",
    ),
    *(
        "[TOOL_CALLS]",
        "[ARGS]",
        "<|python_tag|>",
        "<|eom_id|>",
        "<|tool_call|>",
        "<|call|>",
        "<|channel|>",
        "<|message|>",
    ),
    *(
        "<start_function_call>",
        "<end_function_call>",
        "call:",
        "<escape>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
    ),
    *(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "functions.",
        ":0",
    ),
    *(
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|START_ACTION|>",
    ),
    *(
        "<|tool_call_start|>",
        "<|tool_call_end|>",
        "<TOOLCALL>",
        "<minimax:tool_call>",
        "<invoke name=",
        "```",
        "```json\n",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        '"',
        "'",
        "\\",
        ":",
        ",",
        "=",
        " ",
        "\n",
        "\t",
        "\0",
        "\x1b[2J",
        "\ud800",
        "é",
        "😀",
    ),
    *(
        "null",
        "true",
        "NaN",
        "1e999",
        "9" * 400,
        "-",
        "0x1",
        "1_000",
        "print(",
        "lambda:",
        "f(",
        "f(x=1)",
        "<|",
        "|>",
    ),
)


def answer(chance: random.Random, found: Entry) -> tuple[dict[str, Any], str]:
    """Return a message, and the text a local model might have written for it."""
    message = mutated(chance, found)
    text = spoken(chance, message)
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 8))):
        text = damaged(chance, text)
    if chance.random() < 0.2:
        message["content"] = text
    if chance.random() < 0.2:
        message["reasoning_content"] = damaged(chance, text)
    if chance.random() < 0.3:
        broken(chance, message)
    return message, text


FORMS: tuple[Callable[[str, str], str], ...] = (
    lambda name, arguments: f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>',
    lambda name, arguments: f'```json\n{{"name": "{name}", "arguments": {arguments}}}\n```',
    lambda name, arguments: f'{{"name": "{name}", "parameters": {arguments}}}',
    lambda name, arguments: f'[TOOL_CALLS][{{"name": "{name}", "arguments": {arguments}}}]',
    lambda name, arguments: f"[TOOL_CALLS]{name}[ARGS]{arguments}",
    lambda name, arguments: (
        f"<tool_call>\n<function={name}>\n<parameter=x>\n{arguments}\n</parameter>\n</function>\n</tool_call>"
    ),
    lambda name, arguments: f"[{name}(x={arguments})]",
    lambda name, arguments: f"<|channel|>commentary to=functions.{name}<|message|>{arguments}<|call|>",
)


def spoken(chance: random.Random, message: dict[str, Any]) -> str:
    """Return the calls in the form of some model family, or a soup of the marks that all forms are made of."""
    if chance.random() < 0.1:
        return "".join(chance.choice(MARKS) for _ in range(chance.randrange(30)))
    form = chance.choice(FORMS)
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    said = [form(call["name"], call["arguments"]) for call in calls]
    return chance.choice(("", "\n", " ")).join([str(message.get("content") or ""), *said])


def damaged(chance: random.Random, text: str) -> str:
    """Cut, repeat, insert or swap a piece somewhere."""
    at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    middle = chance.choice(
        ("", text[at:end] * 2, chance.choice(MARKS), text[at:end][::-1], chance.choice(TEXTS))
    )
    return (text[:at] + middle + text[end if chance.random() < 0.5 else at :])[:LONGEST]


def broken(chance: random.Random, message: dict[str, Any]) -> None:
    """Put a value where the format does not expect it."""
    calls = message.get("tool_calls")
    places: list[tuple[Any, Any]] = [(message, key) for key in ("content", "tool_calls", "reasoning_content")]
    if isinstance(calls, list) and calls:
        call = chance.choice(calls)
        places += [
            (calls, 0),
            (call, "function"),
            (call["function"], "name"),
            (call["function"], "arguments"),
        ]
    holder, key = chance.choice(places)
    holder[key] = chance.choice(VALUES)


def test_no_answer_raises_and_every_one_gets_a_mark(bfcl: Path) -> None:
    chance = random.Random(SEED)
    print(f"BFCL_GATE_SEED={SEED}")  # noqa: T201 - shown with a failure
    pools = [entries(subset) for subset in CATEGORIES]
    told = Counter[str]()
    for number in range(ANSWERS):
        found = chance.choice(pools[number % len(pools)])
        message, text = answer(chance, found)
        try:
            told.update(judged(found, message))
            told.update(read(chance, found, text))
        except Exception as error:
            raise AssertionError((SEED, number, found.id, message, text)) from error
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(told.items()))
    print(f"{ANSWERS:,} answers, 0 exceptions ({kinds})")  # noqa: T201


def judged(found: Entry, message: dict[str, Any]) -> list[str]:
    marks = {rules: judge(found.id, message, rules=rules) for rules in ("mlperf", "official")}
    assert all(mark.correct == (mark.error is None) for mark in marks.values())
    return [f"{rules} {'right' if mark.correct else 'wrong'}" for rules, mark in marks.items()]


def read(chance: random.Random, found: Entry, text: str) -> list[str]:
    mode = chance.choice(("native", "lenient"))
    parsed: ParsedAnswer = parse_tool_calls(
        text,
        mlperf_tools(found.functions) if chance.random() < 0.9 else [],
        syntax="auto" if chance.random() < 0.5 else chance.choice(("fenced-json", *SYNTAXES)),
        mode=mode,
        prefix=chance.choice(("", "", "<think>\n", "<tool_call>")),
        finish=chance.choice(("stop", "length")),
    )
    assert len(parsed.calls) <= len(parsed.attempts)
    for call in parsed.calls:
        assert isinstance(json.dumps(call.arguments), str)
    return [f"{mode} {'with' if parsed.calls else 'without'} calls"]
