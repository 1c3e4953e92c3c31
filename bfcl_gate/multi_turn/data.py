"""The multi-turn part of BFCL v4, read as data out of the verified wheel: 200 conversations in four subsets.

Tools are put to the model as the official runner puts them: the function documents of every involved class, with
its sentence on the language except for functions that are held back until a later turn.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bfcl_gate.dataset import data_rows
from bfcl_gate.errors import InputError
from bfcl_gate.model.chat import Message, Tool
from bfcl_gate.tools import mlperf_tools, official_tools

SUBSETS = ("base", "miss_func", "miss_param", "long_context")

NEW_FUNCTIONS = "I have updated some more functions you can choose from. What about now?"
"""What the official runner says as the user when held-back functions appear."""

_DOCUMENTS = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One expected call; every argument is a JSON value."""

    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One entry. `turns` are what the user says, `truth` the calls expected in each turn (none: ask or decline).

    `added` maps a turn to the tools that appear with it. `config` is the initial state of each class.
    """

    id: str
    subset: str
    turns: tuple[tuple[Message, ...], ...]
    tools: tuple[Tool, ...]
    added: Mapping[int, tuple[Tool, ...]]
    truth: tuple[tuple[Call, ...], ...]
    classes: tuple[str, ...]
    config: Mapping[str, Any]

    @property
    def long_context(self) -> bool:
        return self.subset == "long_context"


@cache
def conversations(subset: str) -> tuple[Conversation, ...]:
    """Return the entries of one of `SUBSETS` in file order.

    Raises InputError for an unknown subset, SourceError where the data cannot be had.
    """
    if subset not in SUBSETS:
        raise InputError(f"--subset {subset!r} is unknown; expected one of {', '.join(SUBSETS)}.")
    name = f"BFCL_v4_multi_turn_{subset}.json"
    truth = {row["id"]: row["ground_truth"] for row in data_rows(f"possible_answer/{name}")}
    return tuple(_conversation(subset, row, truth[row["id"]]) for row in data_rows(name))


def _conversation(subset: str, row: Mapping[str, Any], truth: Iterable[Iterable[str]]) -> Conversation:
    documents = {doc["name"]: doc for name in row["involved_classes"] for doc in _documents(name)}
    held = {int(turn): names for turn, names in row.get("missed_function", {}).items()}
    added = {
        turn: [documents.pop(name) for name in names if name in documents] for turn, names in held.items()
    }
    return Conversation(
        id=row["id"],
        subset=subset,
        turns=tuple(
            ({"role": "user", "content": NEW_FUNCTIONS},) if turn in held else tuple(said)
            for turn, said in enumerate(row["question"])
        ),
        tools=tuple(official_tools(subset, tuple(documents.values()))),
        added={turn: tuple(mlperf_tools(docs)) for turn, docs in added.items()},
        truth=tuple(tuple(_call(text) for text in calls) for calls in truth),
        classes=tuple(row["involved_classes"]),
        config=row["initial_config"],
    )


@cache
def _documents(class_name: str) -> tuple[dict[str, Any], ...]:
    return tuple(data_rows(f"multi_turn_func_doc/{_DOCUMENTS[class_name]}.json"))


def _call(text: str) -> Call:
    """Read an expected call; only literals can be arguments, nothing is evaluated."""
    node = ast.parse(text.strip(), mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"expected a call, found {text!r}")
    return Call(
        name=node.func.id,
        positional=tuple(ast.literal_eval(value) for value in node.args),
        named={str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords},
    )
