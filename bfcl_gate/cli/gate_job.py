"""One gate to run: prepared before anything is loaded, asked, judged, kept in its folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from bfcl_gate.cli.engine import asked_of, describe_model
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.cli.progress import shown
from bfcl_gate.errors import InputError
from bfcl_gate.files import fits

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
    """One gate to run. `model` goes into the files as it is, and `asked`: what options say of the engine."""

    samples: "tuple[Sample, ...]"
    policy: "GatePolicy"
    line: "Line"
    model: Mapping[str, Any]
    asked: Mapping[str, Any]
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
        asked=asked_of(settings),
        output=output,
        until_decided=until_decided,
    )


def finished_gate(job: GateJob, resume: bool) -> "tuple[tuple[Answer, ...], dict[str, Any]] | None":
    """Return the answers and the gate object of a run that is already finished in the output folder.

    The answers prove what the result states. Raises InputError for a folder that cannot be used, for a run that cannot
    be continued, and for files that were altered.
    """
    from bfcl_gate.identity import policy_fields, require_same
    from bfcl_gate.run_folder import MANIFEST, RESULT, read_json, require_usable
    from bfcl_gate.verdict import line_object

    if job.output is None:
        return None
    require_usable(job.output, resume=resume)
    if not (job.output / RESULT).exists():
        return None
    manifest = read_json(job.output / MANIFEST)
    present = {
        "policy": policy_fields(job.policy, job.ids),
        "model": dict(job.model),
        "asked": dict(job.asked),
    }
    require_same(str(job.output), {key: manifest.get(key) for key in present}, present)
    found = _stated_gate(job.output / RESULT)
    if found["partial"] and found["samples"] and not job.until_decided:
        return None
    if found["line"] is not None and found["line"] != line_object(job.line):
        raise InputError(
            f"{job.output}: was judged by another line ({found['reference']}). To judge its answers by this one, "
            f"use bfcl-gate score {job.output} with the line options."
        )
    return _judged_again(job, job.output, found) if found["samples"] else ((), _preflight_again(job, found))


_STATED: Mapping[str, tuple[type, ...]] = {
    "partial": (bool,),
    "samples": (int,),
    "line": (dict, NoneType),
    "reference": (str, NoneType),
    "overall_accuracy": (float, int, NoneType),
}


def _stated_gate(path: Path) -> dict[str, Any]:
    """Return the gate object of a result.json. Raises InputError where it holds none."""
    from bfcl_gate.run_folder import read_json

    gate = read_json(path).get("gate")
    if not isinstance(gate, dict):
        raise InputError(
            f"{path}: field gate is missing or no object; expected the result of a gate. {_RESTORE}"
        )
    for name, types in _STATED.items():
        if not fits(gate.get(name), types):
            raise InputError(f"{path}: field gate.{name} is missing or of another type. {_RESTORE}")
    return gate


_RESTORE = "Restore the file, or start a new run in another folder."


def _judged_again(
    job: GateJob, folder: Path, found: Mapping[str, Any]
) -> "tuple[tuple[Answer, ...], dict[str, Any]]":
    """Return the stored answers and their verdict. Raises InputError where the result states another one."""
    from bfcl_gate.gate_file import load_gate
    from bfcl_gate.run_folder import JOURNAL, RESULT
    from bfcl_gate.verdict import gate_object

    if not (folder / JOURNAL).exists():
        raise InputError(
            f"{folder / JOURNAL}: is missing, so nothing proves the {RESULT} beside it. {_RESTORE}"
        )
    # Of samples asked together, some behind the one that decided the verdict may be answered too.
    answers = load_gate(folder).answers[: found["samples"]]
    stated = (found["samples"], found["overall_accuracy"])
    if [answer.id for answer in answers] != job.ids[: len(answers)]:
        raise InputError(f"{folder / JOURNAL}: does not hold the samples of this gate in order. {_RESTORE}")
    gate = gate_object(answers, job.ids, job.policy, job.line)
    if (gate["samples"], gate["overall_accuracy"]) != stated:
        raise InputError(
            f"{folder / RESULT}: states {stated[0]} answers and an overall accuracy of {stated[1]}, but {JOURNAL} "
            f"gives {gate['samples']} and {gate['overall_accuracy']}; one of the files was altered. {_RESTORE}"
        )
    return answers, gate


def _preflight_again(job: GateJob, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict of a run that its preflight ended; there are no answers that could prove it."""
    from bfcl_gate.preflight import PreflightReport
    from bfcl_gate.verdict import judge_preflight

    stated = found.get("preflight")
    told = stated if isinstance(stated, Mapping) else {}
    cause, raw = (str(told.get(name)) for name in ("cause", "raw"))
    report = PreflightReport(passed=False, answers=(), cause=cause, raw=raw)
    return judge_preflight(report, job.policy, len(job.samples), screening=_is_screening(job))


def _is_screening(job: GateJob) -> bool:
    from bfcl_gate.decision import is_screening

    return is_screening(job.policy.sample, job.line)


def with_server(engine: "Engine", job: GateJob) -> GateJob:
    """Return the job with what the preflight finds out about an endpoint's server; a run goes on without."""
    from bfcl_gate.cli.server import look_at_server
    from bfcl_gate.gate import gate_request
    from bfcl_gate.run_folder import JOURNAL

    if job.output is not None and (job.output / JOURNAL).exists():
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
        verdict = judge_preflight(report, job.policy, len(job.samples), screening=_is_screening(job))
    else:
        answers = _ask(engine, job)
        verdict = gate_object(answers, job.ids, job.policy, job.line)
    if job.output is not None:
        write_json(job.output / RESULT, {**facts, "gate": verdict})
    return answers, verdict


def _ask(engine: "Engine", job: GateJob) -> "tuple[Answer, ...]":
    """Ask until done; what was answered is on disk where the run has a folder, however it ends."""
    from bfcl_gate.decision import until_decided
    from bfcl_gate.gate import ask_all, ask_and_keep
    from bfcl_gate.run_folder import JOURNAL

    if job.output is None:
        asked = ask_all(engine, job.samples, job.policy)
    else:
        asked = ask_and_keep(engine, job.samples, job.policy, job.output / JOURNAL)
    if job.until_decided:
        asked = until_decided(asked, job.ids, job.line, screening=_is_screening(job))
    return tuple(shown(asked, "gate", len(job.samples)))


def _keep_manifest(engine: "Engine", job: GateJob) -> dict[str, Any]:
    """Return what identifies the run for result.json; write run.json unless answers are there to continue."""
    from bfcl_gate.gate_file import gate_header
    from bfcl_gate.identity import policy_fields
    from bfcl_gate.run_folder import JOURNAL, MANIFEST, begin, new_manifest, read_json

    info = engine.info()
    facts = new_manifest(
        gate_header(info, job.policy, job.samples),
        policy=policy_fields(job.policy, job.ids),
        model=dict(job.model),
        asked=dict(job.asked),
        engine={"kind": info.kind, "ctx": info.ctx, **info.identity, **info.details},
        **({"preflight": [finding.to_dict() for finding in job.server]} if job.server else {}),
    )
    if job.output is None:
        return facts
    if not (job.output / JOURNAL).exists():
        begin(job.output, facts)
        return facts
    first = read_json(job.output / MANIFEST)
    return {**facts, **{name: first[name] for name in ("created_at", "preflight") if name in first}}
