"""Fresh mutations, judged here and by the official code itself; a failure names the seed to repeat it with."""

import copy
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from bfcl_upstream import Upstream

from bfcl_gate.checker import java, javascript
from bfcl_gate.checker.unscorable import UnscorableError
from bfcl_gate.dataset import CATEGORIES, WITHOUT_ANSWERS, Entry, entries
from bfcl_gate.marks import judge

SEED = int(os.environ.get("BFCL_GATE_SEED", random.SystemRandom().randrange(2**32)))
CASES = 4_000

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 5, -1, 1.0, 2.5, float("nan"), 10**400, 10**30),
    *("", " ", "-", "a", "New York", "true", "5", "5L", "1.5", "null", "'a'", '"a"', "[]", "{}", "[1, 2]"),
    *("new int[]{1, 2}", 'new ArrayList<>(Arrays.asList("a"))', "new HashMap<>()", '{"a": 1}', "items"),
    *([], [1], ["a"], [1.0, 2], [[1]], [{}], [{"a": 1}], [None], {}, {"a": 1}, {"a": [1]}, {"": None}),
)
TEXTS = (
    "",
    "{",
    "null",
    "[]",
    "[1]",
    "5",
    '"{}"',
    '"x"',
    "{}",
    '{"x": 1}',
    "{'x': 1}",
    '{"x": NaN}',
    "\ufeff{}",
)


@pytest.fixture
def chance() -> random.Random:
    print(f"BFCL_GATE_SEED={SEED}")  # noqa: T201 - shown with a failure
    return random.Random(SEED)


def gold(found: Entry) -> list[dict[str, Any]]:
    """Return calls near the right ones, to start mutations from."""
    calls = []
    for answer in found.answers or ({found.functions[0]["name"]: {}} if found.functions else {"f": {}},):
        name, alternatives = next(iter(answer.items()))
        arguments = {key: resolved(allowed) for key, allowed in alternatives.items()}
        calls.append({"name": name.replace(".", "_"), "arguments": arguments})
    return calls


def resolved(allowed: Any) -> Any:
    """Return the first real alternative, and of each member of an object too."""
    value = next((value for value in allowed if value != ""), "")
    if isinstance(value, dict):
        return {key: next(iter(choices), "") for key, choices in value.items() if isinstance(choices, list)}
    if isinstance(value, list):
        return [resolved([item]) if isinstance(item, dict) else item for item in value]
    return value


def mutated(chance: random.Random, found: Entry) -> dict[str, Any]:
    calls = gold(found)
    for _ in range(chance.randrange(4)):
        chance.choice(MUTATIONS)(chance, found, calls)
    if chance.random() < 0.05:
        return {"content": chance.choice([None, "", "no", "f(x=1)", '[{"name": "f"}]'])}
    tool_calls = [
        {"function": {"name": call["name"], "arguments": as_text(call["arguments"])}} for call in calls
    ]
    return {"content": chance.choice([None, "", "Sure."]), "tool_calls": tool_calls}


def as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def change_value(chance: random.Random, _found: Entry, calls: list[dict[str, Any]]) -> None:
    arguments = chance.choice(calls)["arguments"] if calls else {}
    if isinstance(arguments, dict) and arguments:
        name = chance.choice(list(arguments))
        arguments[name] = chance.choice([*VALUES, str(arguments[name]).upper(), json.dumps(arguments[name])])


def choose_alternative(chance: random.Random, found: Entry, calls: list[dict[str, Any]]) -> None:
    for call, answer in zip(calls, found.answers, strict=False):
        for name, allowed in next(iter(answer.values())).items():
            if allowed and isinstance(call["arguments"], dict):
                call["arguments"][name] = chance.choice(allowed)


def change_inside(chance: random.Random, _found: Entry, calls: list[dict[str, Any]]) -> None:
    """Change one place of a list or object, of a copy: alternatives are shared with the data."""
    for call in calls:
        arguments = call["arguments"] if isinstance(call["arguments"], dict) else {}
        for name, value in arguments.items():
            if isinstance(value, (dict, list)) and value:
                arguments[name] = value = copy.deepcopy(value)
                place = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
                del value[place]
                if isinstance(value, dict):
                    value[chance.choice([place, "new"])] = chance.choice(VALUES)
                elif chance.random() < 0.5:
                    value.insert(place, chance.choice(VALUES))


def drop_argument(chance: random.Random, _found: Entry, calls: list[dict[str, Any]]) -> None:
    arguments = chance.choice(calls)["arguments"] if calls else {}
    if isinstance(arguments, dict) and arguments:
        del arguments[chance.choice(list(arguments))]


def add_argument(chance: random.Random, found: Entry, calls: list[dict[str, Any]]) -> None:
    names = ["unheard_of", *(name for f in found.functions for name in f["parameters"]["properties"])]
    if calls and isinstance(calls[0]["arguments"], dict):
        calls[0]["arguments"][chance.choice(names)] = chance.choice(VALUES)


def replace_arguments(chance: random.Random, _found: Entry, calls: list[dict[str, Any]]) -> None:
    if calls:
        chance.choice(calls)["arguments"] = chance.choice(
            [*TEXTS, json.dumps(as_text(calls[0]["arguments"]))]
        )


def rename(chance: random.Random, found: Entry, calls: list[dict[str, Any]]) -> None:
    if calls:
        names = [function["name"] for function in found.functions]
        chance.choice(calls)["name"] = chance.choice(["", "f", *names, calls[0]["name"].upper()])


def change_count(chance: random.Random, _found: Entry, calls: list[dict[str, Any]]) -> None:
    if calls and chance.random() < 0.5:
        calls.pop()
    elif calls:
        calls.append(dict(calls[0]))


def shuffle(chance: random.Random, _found: Entry, calls: list[dict[str, Any]]) -> None:
    chance.shuffle(calls)


MUTATIONS: tuple[Callable[[random.Random, Entry, list[dict[str, Any]]], None], ...] = (
    *(change_value, change_value, choose_alternative, change_inside, change_inside, drop_argument),
    *(add_argument, replace_arguments, rename, change_count, shuffle),
)


def cases(chance: random.Random) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every subset is drawn equally often, so the small ones are tried hard."""
    for number in range(CASES):
        found = chance.choice(entries(list(CATEGORIES)[number % len(CATEGORIES)]))
        yield found, mutated(chance, found)


def test_official_rules_equal_the_official_code(upstream: Upstream, chance: random.Random) -> None:
    for found, message in cases(chance):
        valid, error = upstream.verdict(found.subset, found.functions, found.answers, message)
        mark = judge(found.id, message, rules="official")
        if valid is None:
            assert str(mark.error).startswith("gate_error:"), (SEED, found.id, message, error)
        else:
            assert (mark.correct, mark.error) == (valid, error), (SEED, found.id, message)


def test_mlperf_rules_equal_the_official_comparison_of_leniently_decoded_calls(
    upstream: Upstream, chance: random.Random
) -> None:
    for found, message in cases(chance):
        if not message.get("tool_calls") or found.subset in WITHOUT_ANSWERS:
            continue
        decoded = [leniently(call["function"]) for call in message["tool_calls"]]
        mark = judge(found.id, message)
        try:
            expected = upstream.ast_verdict(found.subset, found.functions, found.answers, decoded)
        except (OverflowError, TypeError, AttributeError):
            assert str(mark.error).startswith("gate_error:"), (SEED, found.id, message)
        else:
            assert (mark.correct, mark.error) == expected, (SEED, found.id, message)


def leniently(function: Mapping[str, str]) -> dict[str, Any]:
    """Decode arguments as MLPerf's extractor and then its scorer do."""
    arguments: Any = function["arguments"]
    for _ in range(2):
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                arguments = {}
    return {function["name"]: arguments}


JAVA_TOKENS = (
    *("new ", "new\n", "ArrayList<", "ArrayList<>", "HashMap<", "HashMap<>", "<String, Object>", ">", "()"),
    *("(", ")", "{{", "}}", "{", "}", "Arrays.asList(", "add(", 'put("', 'put("k", ', '",', '"', "'", " "),
    *("\n", ",", "1", "-2", "1L", "1.5f", "2.5", "1e3", "true", "abc", ";", "String[]", "int[]{", "1_0", "١"),
    *("new ArrayList<>() {{", "new ArrayList<>(Arrays.asList(", "new HashMap<>() {{", "new HashMap<>()"),
)
JAVA_KINDS = (
    *(("Array", e) for e in ("String", "integer", "any", "long", "double", "boolean", "char", "float")),
    *(("ArrayList", e) for e in ("String", "integer", "any", "long", "char", "HashMap", "ArrayList")),
    *(
        (kind, None)
        for kind in ("HashMap", "HashMap", "integer", "long", "double", "float", "boolean", "any")
    ),
)
JAVASCRIPT_TOKENS = (
    *("[", "]", "[[", "]]", "{", "}", ":", ",", ", ", "'", '"', "1", "-2", "2.5", "1e3", "true", "abc", " "),
    *(
        "\n",
        "\t",
        "new Array(",
        "new ",
        "Array(",
        ")",
        "(",
        "5n",
        "nan",
        "k: ",
        "'a'",
        '"b"',
        "[1, 2]",
        "{a: 1}",
    ),
)
JAVASCRIPT_KINDS = (
    *(("array", e) for e in ("String", "integer", "float", "any", "dict", "array", "Boolean", "Bigint")),
    *((kind, None) for kind in ("dict", "dict", "dict", "String", "integer", "float", "Bigint", "Boolean")),
)


@pytest.mark.parametrize(
    ("language", "module", "reader", "tokens", "kinds"),
    [
        ("java", java, "java_type_converter", JAVA_TOKENS, JAVA_KINDS),
        ("javascript", javascript, "js_type_converter", JAVASCRIPT_TOKENS, JAVASCRIPT_KINDS),
    ],
)
def test_source_text_is_read_as_the_official_converters_read_it(
    upstream: Upstream,
    chance: random.Random,
    language: str,
    module: Any,
    reader: str,
    tokens: tuple[str, ...],
    kinds: tuple[tuple[str, str | None], ...],
) -> None:
    """Texts are short, because some official patterns take exponential time."""
    official = getattr(upstream.checker, reader)
    for _ in range(20_000):
        text = "".join(chance.choice(tokens) for _ in range(chance.randrange(1, 12)))
        kind, element = chance.choice(kinds)
        assert outcome(module.read, text, kind, element) == outcome(official, text, kind, element), (
            SEED,
            text,
        )


def outcome(read: Callable[..., Any], *arguments: Any) -> str:
    """Values are compared as they are written, so that 1, 1.0 and true differ and nan equals itself."""
    try:
        return repr(read(*arguments))
    except (ValueError, UnscorableError):
        return "raises"


def test_the_official_code_is_that_of_the_pinned_wheel(upstream: Upstream, bfcl: Path) -> None:
    assert str(bfcl) in str(upstream.checker.__file__)
