"""One gate to run: prepared before anything is loaded, asked, judged, kept in its folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfcl_gate.cli.engine import describe_model
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.cli.progress import shown
from bfcl_gate.errors import InputError

if TYPE_CHECKING:
    from bfcl_gate.answers import Answer
    from bfcl_gate.lines import Line, LineOptions
    from bfcl_gate.model.endpoint_engine import EndpointSettings
    from bfcl_gate.model.engine import Engine, EngineSettings
    from bfcl_gate.model.findings import Finding
    from bfcl_gate.ruleset import GatePolicy
    from bfcl_gate.samples import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class GateJob:
    """One gate to run. `model` goes into the files as it is."""

    samples: "tuple[Sample, ...]"
    policy: "GatePolicy"
    line: "Line"
    model: Mapping[str, Any]
    output: Path | None
    until_decided: bool
    server: "tuple[Finding, ...]" = ()

    @property
    def ids(self) -> list[str]:
        return [sample.id for sample in self.samples]


def prepare_job(
    options: EngineOptions,
    policy: "GatePolicy",
    lines: "LineOptions",
    output: Path | None,
    until_decided: bool,
    settings: "EngineSettings | EndpointSettings",
) -> GateJob:
    """Resolve samples and line before anything is loaded, so that a wrong option costs seconds."""
    from bfcl_gate.lines import resolve_line
    from bfcl_gate.samples import gate_samples

    samples = gate_samples(policy.sample, tools=policy.tool_schemas)
    line = resolve_line(lines, [sample.id for sample in samples], policy, settings.model_sha256)
    return GateJob(
        samples=samples,
        policy=policy,
        line=line,
        model=describe_model(options, settings),
        output=output,
        until_decided=until_decided,
    )


def finished_gate(job: GateJob, resume: bool) -> dict[str, Any] | None:
    """Return the gate object of a run that is already finished in the output folder.

    Raises InputError for a folder that cannot be used and for a run that cannot be continued.
    """
    from bfcl_gate.identity import policy_fields, require_same
    from bfcl_gate.run_folder import JOURNAL, MANIFEST, RESULT, read_json, require_usable
    from bfcl_gate.verdict import line_object

    if job.output is None:
        return None
    require_usable(job.output, resume=resume)
    if not (job.output / RESULT).exists():
        return None
    manifest = read_json(job.output / MANIFEST)
    present = {"policy": policy_fields(job.policy, job.ids), "model": dict(job.model)}
    require_same(str(job.output), {key: manifest.get(key) for key in present}, present)
    found: dict[str, Any] = read_json(job.output / RESULT)["gate"]
    if found["partial"] and found["samples"] and not job.until_decided:
        return None
    if found["samples"] and not (job.output / JOURNAL).exists():
        raise InputError(
            f"{job.output / JOURNAL}: is missing, so nothing proves the {RESULT} beside it. Restore it, or start a "
            "new run in another folder."
        )
    if found["line"] is not None and found["line"] != line_object(job.line):
        raise InputError(
            f"{job.output}: was judged by another line ({found['reference']}). To judge its answers by this one, "
            f"use bfcl-gate score {job.output} with the line options."
        )
    return found


def with_server(engine: "Engine", job: GateJob) -> GateJob:
    """Return the job with what the preflight finds out about an endpoint's server; a run goes on without."""
    from bfcl_gate.cli.server import look_at_server
    from bfcl_gate.gate import gate_request
    from bfcl_gate.run_folder import MANIFEST

    if job.output is not None and (job.output / MANIFEST).exists():
        return job
    largest = max(job.samples, key=lambda sample: len(repr(sample.messages)) + len(repr(sample.tools)))
    return replace(
        job, server=look_at_server(engine, gate_request(largest, job.policy), job.policy.concurrency)
    )


def run_gate(engine: "Engine", job: GateJob) -> "tuple[tuple[Answer, ...], dict[str, Any]]":
    from bfcl_gate.preflight import preflight
    from bfcl_gate.run_folder import JOURNAL, RESULT, write_json
    from bfcl_gate.verdict import gate_object, judge_preflight

    facts = _keep_manifest(engine, job)
    answers: tuple[Answer, ...] = ()
    begun = job.output is not None and (job.output / JOURNAL).exists()
    report = None if begun else preflight(engine, job.policy, shown)
    if report is not None and not report.passed:
        verdict = judge_preflight(report, job.policy, len(job.samples))
    else:
        answers = _ask(engine, job)
        verdict = gate_object(answers, job.ids, job.policy, job.line)
    if job.output is not None:
        write_json(job.output / RESULT, {**facts, "gate": verdict})
    return answers, verdict


def _ask(engine: "Engine", job: GateJob) -> "tuple[Answer, ...]":
    """Ask until done; what was answered is on disk where the run has a folder, however it ends."""
    from bfcl_gate.decision import is_screening, until_decided
    from bfcl_gate.gate import ask_all, ask_and_keep
    from bfcl_gate.run_folder import JOURNAL

    if job.output is None:
        asked = ask_all(engine, job.samples, job.policy)
    else:
        asked = ask_and_keep(engine, job.samples, job.policy, job.output / JOURNAL)
    if job.until_decided:
        screening = is_screening(job.policy.sample, job.line)
        asked = until_decided(asked, job.ids, job.line, screening=screening)
    return tuple(shown(asked, "gate", len(job.samples)))


def _keep_manifest(engine: "Engine", job: GateJob) -> dict[str, Any]:
    """Return what identifies the run for result.json; write run.json unless answers are there to continue."""
    from bfcl_gate.gate_file import gate_header
    from bfcl_gate.identity import policy_fields
    from bfcl_gate.run_folder import JOURNAL, begin, new_manifest

    info = engine.info()
    facts = new_manifest(
        gate_header(info, job.policy, job.samples),
        policy=policy_fields(job.policy, job.ids),
        model=dict(job.model),
        engine={"kind": info.kind, "ctx": info.ctx, **info.identity, **info.details},
        **({"preflight": [finding.to_dict() for finding in job.server]} if job.server else {}),
    )
    if job.output is not None and not (job.output / JOURNAL).exists():
        begin(job.output, facts)
    return facts
