"""From stored answers to the official evaluator's result files."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bfcl_gate.bfcl_results import result_row, write_results
from bfcl_gate.errors import InputError
from bfcl_gate.readings import read_answer
from bfcl_gate.responses import Response, Responses, sample_in
from bfcl_gate.ruleset import GatePolicy

MODEL_NAME = "gpt-4o-2024-11-20-FC"
"""A function-calling model of the evaluator's registry whose names have "_" for ".", as tools are sent here."""


def export_responses(
    responses: Responses, policy: GatePolicy, folder: Path, model_name: str = MODEL_NAME
) -> tuple[Path, ...]:
    """Write stored answers, read as `policy.calls` says, where bfcl-eval looks for results; return the files.

    Raises InputError for an unknown id, one answered twice, or a model name that cannot be used.
    """
    twice = [name for name, count in Counter(row.id for row in responses.rows).items() if count > 1]
    if twice:
        raise InputError(
            f"{twice[0]!r} is answered more than once; expected one answer to an id, since the official "
            "evaluator counts one. Export a set without repeated ids."
        )
    return write_results(folder, model_name, [_row(row, policy) for row in responses.rows])


def _row(row: Response, policy: GatePolicy) -> dict[str, Any]:
    message: Mapping[str, Any] = {}
    if row.reply.error is None:
        message = read_answer(sample_in(row, policy), row.reply, policy.calls).message
    latency_ns = row.reply.latency_ns
    return result_row(
        row.id,
        message,
        row.reply.error,
        input_token_count=row.reply.input_tokens,
        output_token_count=row.reply.output_tokens,
        latency=None if latency_ns is None else latency_ns / 1e9,
        reasoning_content=message.get("reasoning_content"),
    )
