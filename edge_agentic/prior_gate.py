"""An earlier gate standing in for asking again: only of the very same engine, asked and judged the same way."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.gate_file import StoredGate, load_gate
from bfcl_gate.identity import differing, engine_id, samples_id
from bfcl_gate.lines import LineOptions
from bfcl_gate.model.engine import EngineInfo
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.verdict import judge_answers
from bfcl_gate.words import count


def accept_gate(
    folder: Path,
    info: EngineInfo,
    policy: GatePolicy,
    ids: Sequence[str],
    lines: LineOptions,
    model_sha256: str | None,
) -> dict[str, Any]:
    """Return the gate object of the run in `folder`, judged by this run's line from its stored marks.

    A partial gate is a failed one. Raises InputError where it was made by another engine, under other
    rules, tool schemas or calls, or lacks one of the `ids` this run would ask.
    """
    stored = load_gate(folder)
    header = _same(folder, stored, info, policy)
    answered = [answer.id for answer in stored.answers]
    complete = samples_id(answered) == header["samples_sha256"]
    missing = [sample_id for sample_id in ids if sample_id not in set(answered)]
    if complete and missing:
        raise InputError(
            f"--gate-result {folder}: holds no answer to {len(missing)} of {count(len(ids), 'sample')} this profile "
            f"asks (the first is {missing[0]}). Make the gate with --sample {policy.sample} or mlperf, or leave "
            "the option out."
        )
    asked = replace(policy, sample=header["sample"] if header["sample"] != "file" else policy.sample)
    gate = judge_answers(stored.answers, asked, lines, model_sha256)
    if complete:
        return gate
    told = count(len(answered), "answer")
    detail = f"the accepted gate was not finished: {told}; finish it with bfcl-gate run --resume"
    failed = {"name": "complete", "passed": False, "detail": detail}
    return {**gate, "passed": False, "partial": True, "checks": [*gate["checks"], failed]}


def _same(folder: Path, stored: StoredGate, info: EngineInfo, policy: GatePolicy) -> dict[str, Any]:
    """Return the stored header. Raises InputError naming what differs from this run."""
    header = dict(stored.header or {})
    if not {"engine", "engine_id", "samples_sha256", "sample"} <= header.keys():
        raise InputError(
            f"--gate-result {folder}: {stored.path.name} has no complete header; expected the --output of bfcl-gate "
            "run or edge-agentic run."
        )
    wanted = {
        "rules": policy.rules,
        "tool_schemas": policy.tool_schemas,
        "calls": policy.calls,
        "parallel": policy.parallel,
        "share_prefix": policy.share_prefix,
    }
    alone = {"parallel": 1, "share_prefix": False}  # which a header does not say
    found = differing({key: header.get(key, alone.get(key)) for key in wanted}, wanted)
    if header["engine_id"] != engine_id(info):
        found += differing(header["engine"], info.identity) or ["engine_id"]
    if found:
        raise InputError(
            f"--gate-result {folder}: that gate was not made by this engine under this profile's rules. Different: "
            f"{'; '.join(found)}. Repeat its options, or leave --gate-result out."
        )
    return header
