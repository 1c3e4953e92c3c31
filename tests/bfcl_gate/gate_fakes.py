"""Builders for gate tests: right and wrong answers as text, answers with given marks, engines that fail."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from bfcl_gate.answers import Answer
from bfcl_gate.dataset import entry
from bfcl_gate.errors import EngineError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineInfo, TimedResponse
from bfcl_gate.model.scripted_engine import ScriptedEngine
from bfcl_gate.samples import Sample, gate_samples

PROSE = "I would rather talk about it."


@cache
def _by_id() -> dict[str, Sample]:
    return {sample.id: sample for sample in gate_samples("mlperf")}


def samples_of(ids: Iterable[str]) -> tuple[Sample, ...]:
    """Some of the 995 samples, in the order of `ids`."""
    return tuple(_by_id()[sample_id] for sample_id in ids)


def right_call(sample_id: str) -> str:
    """The expected call of an entry that expects one, as JSON."""
    (expected,) = entry(sample_id).answers
    ((name, parameters),) = expected.items()
    arguments = {key: given[0] for key, given in parameters.items() if given[0] != ""}
    return json.dumps({"name": name.replace(".", "_"), "arguments": arguments})


def native_call(sample_id: str) -> str:
    return f"<tool_call> {right_call(sample_id)} </tool_call>"


def fenced_call(sample_id: str) -> str:
    return f"```json\n{right_call(sample_id)}\n```"


def scripted(ids: Sequence[str], says: Callable[[str], object], **options: object) -> ScriptedEngine:
    """An engine that answers the samples of `ids` by `says(sample id)` and prose to anything else."""
    known = {sample.messages[-1]["content"]: sample.id for sample in samples_of(ids)}

    def script(request: ChatRequest) -> object:
        sample_id = known.get(request.messages[-1]["content"])
        return PROSE if sample_id is None else says(sample_id)

    return ScriptedEngine(script, **options)  # type: ignore[arg-type]


class Endpoint:
    """A server that says messages, one for each request in order; an exception is raised instead."""

    def __init__(self, *said: TimedResponse | EngineError) -> None:
        self._said = list(said)

    def info(self) -> EngineInfo:
        return EngineInfo(kind="endpoint", identity={"served": "fake"})

    def plan(self, requests: Sequence[ChatRequest]) -> None:
        return None

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        said = self._said.pop(0)
        if isinstance(said, EngineError):
            raise said
        return said

    def forget(self) -> None: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


def said(content: str | None = None, calls: Sequence[tuple[str, str]] = (), **rest: object) -> TimedResponse:
    """What a server answered: content and (name, arguments text) of each call."""
    tool_calls = tuple({"type": "function", "function": {"name": n, "arguments": a}} for n, a in calls)
    return TimedResponse(
        text=content,
        tool_calls=tool_calls or None,
        finish_reason="stop",
        submitted_ns=1_000,
        completed_ns=3_000,
        **rest,  # type: ignore[arg-type]
    )


def answer(sample_id: str, native: bool, lenient: bool | None = None, **changes: object) -> Answer:
    """An answer with given marks; the lenient reading is judged."""
    judged = native if lenient is None else lenient
    values: dict[str, object] = {
        "id": sample_id,
        "case": None,
        "subset": sample_id.rpartition("_")[0],
        "text": "said",
        "message": None,
        "tool_calls": (),
        "attempts": (),
        "native": None,
        "finish_reason": "stop",
        "error": None,
        "input_tokens": 5,
        "output_tokens": 2,
        "latency_ns": 1_000,
        "correct_native": native,
        "correct_lenient": judged,
        "correct": judged,
        "mark_error": None if judged else "wrong",
        "parse_error": None,
    }
    return Answer(**{**values, **changes})  # type: ignore[arg-type]
