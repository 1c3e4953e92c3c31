"""The gate asks: every sample in order, from an empty cache, each answer marked and kept as it comes."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bfcl_gate.answers import Answer, Reply, mark_answer
from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.identity import digest, engine_id, gate_fields, require_same
from bfcl_gate.journal import Journal, read_journal
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import Engine, EngineInfo, TimedResponse
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.samples import Sample


def gate_request(sample: Sample, policy: GatePolicy) -> ChatRequest:
    """Return the request that puts one sample to an engine."""
    return ChatRequest(
        messages=tuple(sample.messages),
        tools=tuple(sample.tools),
        max_tokens=policy.max_tokens,
        tool_choice="auto",
    )


def ask(engine: Engine, samples: Iterable[Sample], policy: GatePolicy) -> Iterator[Answer]:
    """Ask each sample in order and yield its marked answer.

    A failed request is an answer (wrong on every subset). Raises EngineError when the engine is gone:
    at once for a local one, at an endpoint when two requests in a row could not be made.
    """
    info = engine.info()
    unsure: Answer | None = None
    for sample in samples:
        try:
            reply = _reply(engine, sample, policy, info)
        except EngineError as error:
            if unsure is not None or info.kind != "endpoint":
                raise
            unsure = mark_answer(sample, Reply(text=None, error=str(error)), policy)
            continue
        if unsure is not None:
            yield unsure
            unsure = None
        yield mark_answer(sample, reply, policy)
    if unsure is not None:
        yield unsure


def ask_and_keep(
    engine: Engine, samples: Sequence[Sample], policy: GatePolicy, path: Path
) -> Iterator[Answer]:
    """Yield the answers that the journal at `path` holds, then ask the rest, each on disk before the next.

    Raises InputError where the journal is of another gate_id, naming the fields that differ.
    """
    header = gate_header(engine.info(), policy, samples)
    kept = kept_answers(path, header) if path.exists() else None
    with Journal(path) as journal:
        if kept is None:
            journal.append(header)
        done = {answer.id: answer for answer in kept or ()}
        yield from done.values()
        for answer in ask(engine, [sample for sample in samples if sample.id not in done], policy):
            journal.append(answer.to_row())
            yield answer


def gate_header(info: EngineInfo, policy: GatePolicy, samples: Iterable[Sample]) -> dict[str, Any]:
    """Return the first row of gate.jsonl: gate_id, the fields it hashes, and how to read the answers."""
    fields = gate_fields(engine_id(info), policy, (sample.id for sample in samples))
    return {
        "_type": "header",
        "gate_id": digest(fields),
        **fields,
        "engine": dict(info.identity),
        "syntax": info.syntax,
        "prefix": info.prefix,
    }


def kept_answers(path: Path, header: dict[str, Any]) -> tuple[Answer, ...] | None:
    """Return the answers of an earlier run of the same gate; None where not even the header was written."""
    rows = list(read_journal(path))
    if not rows:
        return None
    if rows[0].get("_type") != "header":
        raise InputError(f"{path}:1: expected the header of a gate journal; choose another --output.")
    stored = dict(rows[0])
    if stored.pop("gate_id", None) != header["gate_id"]:
        require_same(str(path), stored, {key: value for key, value in header.items() if key != "gate_id"})
    return answers_of(path, rows[1:])


def answers_of(path: Path, rows: Iterable[dict[str, Any]]) -> tuple[Answer, ...]:
    """Build the answers of journal rows, passing over records that are none.

    Raises InputError for a row without a needed field.
    """
    try:
        return tuple(Answer.from_row(row) for row in rows if "_type" not in row)
    except KeyError as error:
        raise InputError(
            f"{path}: a row has no field {error}; expected the rows that bfcl-gate writes."
        ) from error


def _reply(engine: Engine, sample: Sample, policy: GatePolicy, info: EngineInfo) -> Reply:
    engine.forget()
    response = engine.generate(gate_request(sample, policy))
    return Reply(
        text=response.text,
        message=_stated_message(response, info),
        finish_reason=response.finish_reason,
        error=response.error,
        input_tokens=response.input_tokens,
        output_tokens=response.output_tokens,
        latency_ns=response.completed_ns - response.submitted_ns,
        syntax=info.syntax,
        prefix=info.prefix,
    )


def _stated_message(response: TimedResponse, info: EngineInfo) -> dict[str, Any] | None:
    """Return what a server said as a message; None where the raw text is all there is (a local engine)."""
    if info.kind != "endpoint":
        return None
    return {
        "role": "assistant",
        "content": response.text,
        "reasoning_content": response.reasoning,
        "tool_calls": None if response.tool_calls is None else [dict(call) for call in response.tool_calls],
    }
