"""The expected calls through the runner are right everywhere, and the official checker agrees on what is not."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bfcl_upstream import Upstream, _functions, _module
from multi_turn_fakes import Turns, every_tool, model, play, truth

from bfcl_gate.dataset import data_rows
from bfcl_gate.multi_turn.data import SUBSETS, Conversation, conversations
from bfcl_gate.multi_turn.entries import played
from bfcl_gate.multi_turn.runner import Policy
from bfcl_gate.multi_turn.simulation import Simulation

pytestmark = pytest.mark.usefixtures("bfcl")


@pytest.mark.parametrize("subset", SUBSETS)
def test_the_expected_calls_are_right_in_every_conversation(simulation: Simulation, subset: str) -> None:
    rows = [play(simulation, found, truth(found)) for found in conversations(subset)]
    assert [row.id for row in rows if not row.correct] == []
    assert len(rows) == 200


@cache
def rows(name: str) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in data_rows(name)}


class Official:
    """The official multi-turn checker on a conversation as its runner would have stored it."""

    def __init__(self, wheel: Path) -> None:
        checker = _module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
        handler = _functions(wheel, "model_handler/utils.py", ("convert_to_function_call",), {"json": json})
        names = {
            "BaseHandler": object,
            "is_empty_execute_response": checker.is_empty_execute_response,
            "multi_turn_checker": checker.multi_turn_checker,
        }
        wanted = ("_evaluate_single_multi_turn_entry",)
        self._evaluate = _functions(wheel, "eval_checker/eval_runner.py", wanted, names)[wanted[0]]
        self._decode = handler["convert_to_function_call"]
        self._runs = 0

    def decode_execute(self, result: Any, has_tool_call_tag: bool) -> Any:
        return self._decode(result)

    def verdict(self, found: Conversation, turns: Turns) -> tuple[bool, str | None]:
        self._runs += 1  # its instances are kept by model name and id
        name = f"BFCL_v4_multi_turn_{found.subset}.json"
        prompt, answer = dict(rows(name)[found.id]), rows(f"possible_answer/{name}")[found.id]
        stored = [[*([{call: given} for call, given in step] for step in turn), "Done."] for turn in turns]
        judged = self._evaluate(
            self,
            found.id,
            stored,
            answer["ground_truth"],
            prompt,
            f"m{self._runs}",
            f"multi_turn_{found.subset}",
        )
        return judged["valid"], None if judged["valid"] else judged["error"]["error_type"]


@pytest.fixture(scope="module")
def official(upstream: Upstream, bfcl: Path) -> Iterator[Official]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield Official(bfcl)
    time.tzset()


def flat(turns: Turns) -> Turns:
    return [[[call] for step in turn for call in step] for turn in turns]


def reversed_steps(turns: Turns) -> Turns:
    return [turn[::-1] for turn in flat(turns)]


def doubled(turns: Turns) -> Turns:
    return [[[call, call] for (call,) in turn] for turn in flat(turns)]


def without_one(turns: Turns, chance: random.Random) -> Turns:
    steps = flat(turns)
    turn = chance.choice([turn for turn in steps if turn])
    turn.pop(chance.randrange(len(turn)))
    return steps


def with_a_changed_argument(turns: Turns, chance: random.Random) -> Turns:
    steps = flat(turns)
    turn = chance.choice([turn for turn in steps if turn])
    place = chance.randrange(len(turn))
    ((name, arguments),) = turn[place]
    turn[place] = [(name, json.dumps({key: changed(value) for key, value in json.loads(arguments).items()}))]
    return steps


def changed(value: object) -> object:
    if isinstance(value, str):
        return value.replace("e", "x")
    return not value if isinstance(value, bool) else [value]


def with_an_unknown_call(turns: Turns) -> Turns:
    return [[[("no_such_function", '{"a": 1}'), *step] for step in turn] for turn in turns]


def with_what_does_not_decode(turns: Turns) -> Turns:
    return [[*turn, [("cd", "{")]] for turn in turns]


def without_the_last_turn(turns: Turns) -> Turns:
    return [*turns[:-1], []]


MUTATIONS: dict[str, Callable[[Turns, random.Random], Turns]] = {
    "truth, a call a step": lambda turns, _: flat(turns),
    "reversed": lambda turns, _: reversed_steps(turns),
    "doubled": lambda turns, _: doubled(turns),
    "one missing": without_one,
    "argument changed": with_a_changed_argument,
    "unknown call": lambda turns, _: with_an_unknown_call(turns),
    "last turn empty": lambda turns, _: without_the_last_turn(turns),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_official_checker_gives_the_same_verdict_and_error_type(
    simulation: Simulation, official: Official, mutation: str
) -> None:
    chance = random.Random(42)
    seen: Counter[str | None] = Counter()
    for found in (found for subset in SUBSETS for found in conversations(subset)[::8]):
        turns = MUTATIONS[mutation](truth(found), chance)
        row = play(simulation, found, turns)
        assert (row.correct, row.error) == official.verdict(found, turns), (mutation, found.id)
        seen[row.error] += 1
    assert seen.total() == 100
    assert (seen[None] == 100) == (mutation in ("truth, a call a step", "unknown call"))


def test_a_step_that_does_not_decode_ends_the_turn_and_counts_as_none(
    simulation: Simulation, official: Official
) -> None:
    found = conversations("base")[0]
    turns = with_what_does_not_decode(truth(found))
    answers = model([turn[:-1] for turn in turns])
    assert played(answers, found, simulation, Policy()).correct
    assert official.verdict(found, turns) == (True, None)


def test_tools_are_those_the_official_handler_sends(upstream: Upstream) -> None:
    for found in (found for subset in SUBSETS for found in conversations(subset)[::40]):
        documents = {doc["name"]: doc for name in found.classes for doc in _documents(name)}
        held = [tool["function"]["name"] for tools in found.added.values() for tool in tools]
        in_use = [doc for name, doc in documents.items() if name not in held]
        assert list(found.tools) == upstream.official_tools(f"multi_turn_{found.subset}", in_use)
        assert every_tool(found)[len(found.tools) :] == upstream.tools([documents[name] for name in held])


def _documents(class_name: str) -> list[dict[str, Any]]:
    config = _module("bfcl_eval.constants.executable_backend_config")
    return data_rows(f"multi_turn_func_doc/{config.MULTI_TURN_FUNC_DOC_FILE_MAPPING[class_name]}")
