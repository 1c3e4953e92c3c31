"""Several samples at once: the same answers, order, journal and verdict as one at a time."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from gate_fakes import said, samples_of

from bfcl_gate.answers import Answer
from bfcl_gate.at_once import AHEAD, in_order
from bfcl_gate.decision import until_decided
from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.gate import ask, ask_and_keep
from bfcl_gate.gate_file import load_gate
from bfcl_gate.lines import Line
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineInfo, TimedResponse
from bfcl_gate.ruleset import GatePolicy

pytestmark = pytest.mark.usefixtures("bfcl")

IDS = [f"irrelevance_{number}" for number in range(24)]
ONE = GatePolicy(max_tokens=64)
FOUR = replace(ONE, concurrency=4)
LINE = Line(source="minima", reference="explicit minima", overall=0.5, normalized=None)


class Server:
    """Answers each question by `says`; later ones of every four come back first, as far as they are under way."""

    def __init__(self, says: Callable[[str], TimedResponse | EngineError], at_once: int = 1) -> None:
        self._says = says
        self._ids = {sample.messages[-1]["content"]: sample.id for sample in samples_of(IDS)}
        self._all_here = threading.Barrier(at_once)
        self._lock = threading.Lock()
        self.most_at_once = 0
        self.asked: list[str] = []
        self._now: set[str] = set()

    def info(self) -> EngineInfo:
        return EngineInfo(kind="endpoint", identity={"served": "fake"})

    def plan(self, requests: Sequence[ChatRequest]) -> None:
        return None

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        name = self._ids[request.messages[-1]["content"]]
        with self._lock:
            self.asked.append(name)
            self._now.add(name)
            self.most_at_once = max(self.most_at_once, len(self._now))
        if self._all_here.parties > 1:
            self._all_here.wait(30)
        with self._lock:
            self._now.discard(name)
        answer = self._says(name)
        if isinstance(answer, EngineError):
            raise answer
        return answer

    def forget(self) -> None: ...

    def cancel(self) -> None:
        self._all_here.abort()

    def close(self) -> None: ...


def number_of(sample_id: str) -> int:
    return int(sample_id.rpartition("_")[2])


def third_calls(sample_id: str) -> TimedResponse:
    """Call a tool, wrongly, in every third answer."""
    return said("prose", [("anything", "{}")]) if number_of(sample_id) % 3 == 0 else said("prose")


def told(answers: Sequence[Answer]) -> list[tuple[str, bool]]:
    return [(answer.id, answer.correct) for answer in answers]


def test_as_many_samples_as_asked_for_are_under_way_and_answers_keep_their_order() -> None:
    server = Server(third_calls, at_once=4)
    answers = list(ask(server, samples_of(IDS), FOUR))
    assert server.most_at_once == 4
    assert told(answers) == told(list(ask(Server(third_calls), samples_of(IDS), ONE)))


def test_the_journal_is_that_of_one_at_a_time(tmp_path: Path) -> None:
    list(ask_and_keep(Server(third_calls), samples_of(IDS), ONE, tmp_path / "one.jsonl"))
    list(ask_and_keep(Server(third_calls, 4), samples_of(IDS), FOUR, tmp_path / "four.jsonl"))
    one, four = (load_gate(tmp_path / name) for name in ("one.jsonl", "four.jsonl"))
    assert one.answers == four.answers
    assert one.header is not None
    assert four.header is not None
    assert four.header["concurrency"] == 4
    assert one.header["gate_id"] != four.header["gate_id"]


def test_until_decided_stops_at_the_same_sample_with_the_same_verdict() -> None:
    def decided(policy: GatePolicy) -> list[tuple[str, bool]]:
        asked = ask(Server(third_calls, policy.concurrency), samples_of(IDS), policy)
        return told(list(until_decided(asked, IDS, LINE, screening=False)))

    assert decided(FOUR) == decided(ONE)
    assert 0 < len(decided(ONE)) < len(IDS)


def test_what_was_kept_is_not_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    asked = ask_and_keep(Server(third_calls), samples_of(IDS), FOUR, path)
    first = [next(asked) for _ in range(3)]
    asked.close()  # type: ignore[attr-defined]
    server = Server(third_calls)
    again = list(ask_and_keep(server, samples_of(IDS), FOUR, path))
    assert told(again)[:3] == told(first)
    assert [answer.id for answer in again] == IDS
    assert set(server.asked) == set(IDS[3:])


def test_a_gate_of_another_concurrency_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    list(ask_and_keep(Server(third_calls), samples_of(IDS), FOUR, path))
    with pytest.raises(InputError, match="concurrency: 4 -> null"):
        list(ask_and_keep(Server(third_calls), samples_of(IDS), ONE, path))


def test_one_lost_request_is_wrong_and_two_in_a_row_end_the_gate() -> None:
    def lost(*numbers: int) -> Callable[[str], TimedResponse | EngineError]:
        return lambda name: EngineError("reset") if number_of(name) in numbers else said("prose")

    answers = list(ask(Server(lost(2, 5)), samples_of(IDS), FOUR))
    assert [answer.id for answer in answers if answer.error] == [IDS[2], IDS[5]]
    found: list[Answer] = []
    with pytest.raises(EngineError, match="reset"):
        found.extend(ask(Server(lost(2, 3)), samples_of(IDS), FOUR))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sample")]


def test_leaving_early_cancels_what_is_under_way_and_begins_nothing_more() -> None:
    begun, over = [], threading.Event()

    def work(number: int) -> int:
        begun.append(number)
        if number:
            over.wait(30)
        return number

    results = in_order(work, range(1_000), 2, over.set)
    item, future = next(results)
    assert (item, future.result()) == (0, 0)
    results.close()  # type: ignore[attr-defined]
    assert len(begun) <= 2 * AHEAD
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sample")]


def test_a_long_work_holds_up_its_turn_and_no_more_than_what_may_be_ahead() -> None:
    others = threading.Event()
    done: list[int] = []

    def work(number: int) -> int:
        if number == 0:
            others.wait(30)
        done.append(number)
        if len(done) == 2 * AHEAD - 1:
            others.set()
        return number

    assert [item for item, _ in in_order(work, range(2 * AHEAD), 2, others.set)] == list(range(2 * AHEAD))
    assert done[-1] == 0
