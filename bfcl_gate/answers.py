"""One answered gate sample: from what came back to both readings of it, both marks and its gate.jsonl row."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.files import fits
from bfcl_gate.marks import Mark, judge
from bfcl_gate.readings import MODES, Reading, Reply, read_answer
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.samples import Sample

REQUEST_FAILED = "gate_error:request_failed"
"""mark_error of a sample whose request brought no complete answer back; it is wrong on every subset."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "id subset": (str,),
    "text message finish_reason error mark_error parse_error": (str, NoneType),
    "case": (str, int, NoneType),
    "native": (bool, NoneType),
    "input_tokens output_tokens latency_ns": (int, NoneType),
    "correct_native correct_lenient correct": (bool,),
    "tool_calls attempts": (list,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row of gate.jsonl. `tool_calls`, `attempts`, `native` and `correct` are those of the judged mode.

    `tool_calls` are {name, arguments} with arguments as JSON text, `attempts` {name, raw_arguments}
    whether they decode or not. `message` is the JSON text of a stated message, None from a local engine.
    """

    id: str
    case: str | int | None
    subset: str
    text: str | None
    message: str | None
    tool_calls: tuple[Mapping[str, str], ...]
    attempts: tuple[Mapping[str, str], ...]
    native: bool | None
    finish_reason: str | None
    error: str | None
    input_tokens: int | None
    output_tokens: int | None
    latency_ns: int | None
    correct_native: bool
    correct_lenient: bool
    correct: bool
    mark_error: str | None
    parse_error: str | None

    def to_row(self) -> dict[str, Any]:
        """Return the journal row: a flat JSON object."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        row["tool_calls"] = [dict(call) for call in self.tool_calls]
        row["attempts"] = [dict(attempt) for attempt in self.attempts]
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Answer":
        """Build an answer from its row; unknown keys are ignored.

        Raises KeyError for a missing field and TypeError for one of another type.
        """
        values = {field.name: row[field.name] for field in fields(cls)}
        for names, types in _TYPES.items():
            for name in names.split():
                if not fits(values[name], types):
                    raise TypeError(f"{name} is {str(values[name])[:40]!r}")
        values["tool_calls"] = tuple(row["tool_calls"])
        values["attempts"] = tuple(row["attempts"])
        return cls(**values)


def marks_of(answers: Iterable[Answer], mode: str) -> list[tuple[str, bool]]:
    """Return (sample id, right) of each answer as read in one mode."""
    return [(a.id, a.correct_native if mode == "native" else a.correct_lenient) for a in answers]


def reply_of(answer: Answer, *, syntax: str, prefix: str) -> Reply:
    """Return what had come back for a stored answer, to read and judge it again."""
    return Reply(
        text=answer.text,
        message=None if answer.message is None else _stated(answer.message),
        finish_reason=answer.finish_reason,
        error=answer.error,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        latency_ns=answer.latency_ns,
        syntax=syntax,
        prefix=prefix,
    )


def _stated(text: str) -> Mapping[str, Any]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise InputError("field 'message' is not the JSON text of an object; expected an assistant message.")
    return message


def mark_answer(sample: Sample, reply: Reply, policy: GatePolicy, case: str | int | None = None) -> Answer:
    """Read a reply natively and leniently, judge both under the policy's rules, and return the row."""
    readings = {mode: read_answer(sample, reply, mode) for mode in MODES}
    marks = _marks(sample, reply, readings, policy)
    judged = readings[policy.calls]
    return Answer(
        id=sample.id,
        case=case,
        subset=sample.subset,
        text=reply.text,
        message=None if reply.message is None else json.dumps(reply.message),
        tool_calls=judged.calls,
        attempts=judged.attempts,
        native=judged.native,
        finish_reason=reply.finish_reason,
        error=reply.error,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        latency_ns=reply.latency_ns,
        correct_native=marks["native"].correct,
        correct_lenient=marks["lenient"].correct,
        correct=marks[policy.calls].correct,
        mark_error=marks[policy.calls].error,
        parse_error=judged.error,
    )


def _marks(
    sample: Sample, reply: Reply, readings: Mapping[str, Reading], policy: GatePolicy
) -> dict[str, Mark]:
    """Return the mark of each reading; what says the same is judged once."""
    if reply.error is not None:
        return dict.fromkeys(readings, Mark(correct=False, error=REQUEST_FAILED))
    marks: dict[str, Mark] = {}
    for mode, reading in readings.items():
        same = next((other for other in marks if readings[other].message == reading.message), None)
        marks[mode] = marks[same] if same else judge(sample.id, reading.message, rules=policy.rules)
    return marks
