"""Answers near the right ones: calls made from BFCL's possible answers, changed at random in every way a model may."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from bfcl_gate.dataset import Entry

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
