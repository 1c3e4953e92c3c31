"""The gate asks: every sample in order, from an empty cache, each answer marked and kept as it comes.

At an endpoint several may be under way at once (`policy.concurrency`); answers are still marked, kept and yielded in
the order of the samples, so a verdict, a journal and what `--until-decided` stops at are those of one at a time. A
local engine decodes several together on request (`policy.parallel`, `policy.share_prefix`): their answers are kept when
they are finished, and yielded in the order of the samples all the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast

from bfcl_gate.answers import Answer, mark_answer
from bfcl_gate.at_once import in_order
from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.gate_file import gate_header, load_gate
from bfcl_gate.identity import require_same
from bfcl_gate.journal import Journal
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import BatchEngine, Engine, EngineInfo, TimedResponse
from bfcl_gate.readings import Reply
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
    for sample, reply in _replies(engine, samples, policy, info):
        if isinstance(reply, EngineError):
            if unsure is not None or info.kind != "endpoint":
                raise reply
            unsure = mark_answer(sample, Reply(text=None, error=str(reply)), policy)
            continue
        if unsure is not None:
            yield unsure
            unsure = None
        yield mark_answer(sample, reply, policy)
    if unsure is not None:
        yield unsure


def _replies(
    engine: Engine, samples: Iterable[Sample], policy: GatePolicy, info: EngineInfo
) -> Iterator[tuple[Sample, Reply | EngineError]]:
    """Yield each sample with what came back, or why it could not be asked, in order."""

    def reply(sample: Sample) -> Reply | EngineError:
        try:
            return _reply(engine, sample, policy, info)
        except EngineError as error:
            return error

    if policy.concurrency == 1:
        yield from ((sample, reply(sample)) for sample in samples)
        return
    for sample, asked in in_order(reply, samples, policy.concurrency, engine.cancel):
        yield sample, asked.result()


def ask_all(engine: Engine, samples: Sequence[Sample], policy: GatePolicy) -> Iterator[Answer]:
    """Ask the samples as the policy says, alone or together, and yield their marked answers in order."""
    return _in_order(samples, _as_finished(engine, samples, policy))


def _as_finished(engine: Engine, samples: Sequence[Sample], policy: GatePolicy) -> Iterator[Answer]:
    """Ask the samples and yield each marked answer when it is there."""
    if not policy.batched:
        yield from ask(engine, samples, policy)
        return
    # The command line refuses such a policy at an endpoint, and every other engine is one of these.
    batch, info = cast(BatchEngine, engine), engine.info()
    requests = [gate_request(sample, policy) for sample in samples]
    for place, response in batch.generate_many(requests, policy.parallel, policy.share_prefix):
        yield mark_answer(samples[place], reply_in(response, info), policy)


def _in_order(samples: Sequence[Sample], answers: Iterable[Answer]) -> Iterator[Answer]:
    """Yield the answers in the order of the samples, each as soon as those before it are there."""
    waiting: dict[str, Answer] = {}
    left = iter(samples)
    following = next(left, None)
    for answer in answers:
        waiting[answer.id] = answer
        while following is not None and following.id in waiting:
            yield waiting.pop(following.id)
            following = next(left, None)


def ask_and_keep(
    engine: Engine, samples: Sequence[Sample], policy: GatePolicy, path: Path
) -> Iterator[Answer]:
    """Yield the answers in the order of the samples: those that the journal at `path` holds, and the rest, asked.

    Each is on disk as soon as it is finished. Raises InputError where the journal is of another gate_id, naming the
    fields that differ.
    """
    header = gate_header(engine.info(), policy, samples)
    kept = _kept(path, header) if path.exists() else None
    with Journal(path) as journal:
        if kept is None:
            journal.append(header)
        done = {answer.id: answer for answer in kept or ()}
        left = [sample for sample in samples if sample.id not in done]
        asked = _kept_at_once(journal, samples, _as_finished(engine, left, policy), policy)
        yield from _in_order(samples, chain(done.values(), asked))


def _kept_at_once(
    journal: Journal, samples: Sequence[Sample], answers: Iterable[Answer], policy: GatePolicy
) -> Iterator[Answer]:
    """Write each answer to the journal and yield it; where they come out of order, with its place among the samples."""
    places = {sample.id: place for place, sample in enumerate(samples)}
    for answer in answers:
        place = {"position": places[answer.id]} if policy.parallel > 1 else {}
        journal.append({**answer.to_row(), **place})
        yield answer


def _kept(path: Path, header: Mapping[str, Any]) -> tuple[Answer, ...] | None:
    """Return the answers of an earlier run of the same gate; None where not even the header was written."""
    stored = load_gate(path)
    if stored.header is None and not stored.answers:
        return None
    if stored.header is None:
        raise InputError(f"{path}:1: expected the header of a gate journal; choose another --output.")
    if stored.header.get("gate_id") != header["gate_id"]:
        require_same(str(path), _without_hashes(stored.header), _without_hashes(header))
        raise InputError(
            f"{path}:1: field gate_id is not that of the header's other fields, so the file was altered. Restore it, "
            "or choose another --output."
        )
    return stored.answers


def _without_hashes(header: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the hashes whose ingredients the header holds too, so that a message names causes."""
    return {key: value for key, value in header.items() if key not in ("gate_id", "engine_id")}


def _reply(engine: Engine, sample: Sample, policy: GatePolicy, info: EngineInfo) -> Reply:
    engine.forget()
    return reply_in(engine.generate(gate_request(sample, policy)), info)


def reply_in(response: TimedResponse, info: EngineInfo) -> Reply:
    """Return what came back in a response, to be read in the syntax of the engine's template."""
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
