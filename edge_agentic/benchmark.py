"""The order of a run: preflight, warm-up, replay, gate, result.

The gate decides before any number is shown; it is asked after the replay, as in the reference, so that its
work does not heat the device that is timed. Every number comes from what was written to the run's folder.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from bfcl_gate.decision import is_screening
from bfcl_gate.errors import InputError
from bfcl_gate.gate import ask_and_keep
from bfcl_gate.identity import digest, engine_id, require_same
from bfcl_gate.journal import Journal, read_journal
from bfcl_gate.lines import Line
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import Engine, EngineInfo
from bfcl_gate.model.findings import Finding
from bfcl_gate.preflight import Followed, preflight
from bfcl_gate.ruleset import GatePolicy, Ruleset
from bfcl_gate.run_folder import JOURNAL, MANIFEST, RESULT, begin
from bfcl_gate.samples import Sample
from bfcl_gate.verdict import gate_object, judge_preflight
from bfcl_gate.words import count
from edge_agentic.concurrent_replay import replay_at_once
from edge_agentic.environment import describe, snapshot
from edge_agentic.journal import TurnJournal
from edge_agentic.local_preflight import local_preflight
from edge_agentic.replay import Event, ReplayOptions, TurnPlan, plan_replay
from edge_agentic.report.document import build_result, write_result
from edge_agentic.report.stored import TURNS, read_manifest, read_turns
from edge_agentic.trace import Turn
from edge_agentic.validity import check_run

TELEMETRY = "telemetry.jsonl"
SCHEMA_VERSION = 1
WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything one run was asked to do. `model`, `trace` and `options` go into the manifest as they are.

    `prior_gate` is the verdict of an earlier gate that stands in for asking again, `concurrency` the number of
    trajectories replayed at once. `findings` are those of an endpoint's preflight, `largest_prompt_tokens` is what its
    server counts in the largest prompt.
    """

    ruleset: Ruleset
    replay: ReplayOptions
    policy: GatePolicy
    line: Line
    selected: tuple[tuple[Turn, ...], ...]
    samples: tuple[Sample, ...]
    model: Mapping[str, Any]
    model_path: Path | None
    trace: Mapping[str, Any]
    options: Mapping[str, Any]
    reduced: bool
    prior_gate: Mapping[str, Any] | None = None
    concurrency: int = 1
    findings: tuple[Finding, ...] = ()
    largest_prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How a person follows a run: each wraps an iterator and passes its items on."""

    turns: Callable[[Iterable[Event], Sequence[TurnPlan]], Iterable[Event]]
    answers: Followed


def run_benchmark(job: Job, engine: Engine, folder: Path, watch: Watch) -> dict[str, Any]:
    """Run a job and return its result document, written to `folder` as well.

    Raises InputError for a prompt that does not fit and for a folder of another run, EngineError when the
    engine is gone; what was finished stays in the folder.
    """
    begin = perf_counter()
    planned = plan_replay(engine, job.selected, job.replay)
    planning_s = perf_counter() - begin
    if not job.findings and not (folder / MANIFEST).exists():
        job = replace(job, findings=local_preflight(engine, planned))
    manifest = _keep_manifest(folder, job, engine.info(), planned, planning_s)
    identity = {"config_id": manifest["config_id"], **manifest["identity"]}
    if job.prior_gate is not None and not job.prior_gate["passed"]:
        return _finish(folder, manifest, job, job.prior_gate)
    with TurnJournal(folder / TURNS, identity) as journal:
        _require_all_planned(journal, planned, folder)
        if job.prior_gate is None and not journal.done:
            report = preflight(engine, job.policy, watch.answers)
            if not report.passed:
                screening = is_screening(job.policy.sample, job.line)
                gate = judge_preflight(report, job.policy, len(job.samples), screening=screening)
                return _finish(folder, manifest, job, gate)
        _replay(job, engine, planned, journal, folder, watch)
    if job.prior_gate is not None:
        return _finish(folder, manifest, job, job.prior_gate)
    asked = ask_and_keep(engine, job.samples, job.policy, folder / JOURNAL)
    answers = tuple(watch.answers(asked, "gate", len(job.samples)))
    gate = gate_object(answers, [sample.id for sample in job.samples], job.policy, job.line)
    return _finish(folder, manifest, job, gate)


def _require_all_planned(journal: TurnJournal, planned: Sequence[Sequence[TurnPlan]], folder: Path) -> None:
    """Raise InputError where an earlier session answered turns that this one would leave out of the run."""
    beyond = journal.done - {plan.key for plans in planned for plan in plans}
    if beyond:
        raise InputError(
            f"{folder / TURNS}: holds {count(len(journal.done), 'answered turn')}, {len(beyond)} of them beyond this "
            "--limit. Give one that covers them, or leave it out."
        )


def _replay(
    job: Job,
    engine: Engine,
    planned: Sequence[Sequence[TurnPlan]],
    journal: TurnJournal,
    folder: Path,
    watch: Watch,
) -> None:
    left = [plan for plans in planned for plan in plans if plan.key not in journal.done]
    if not left:
        return
    engine.forget()
    journal.keep_warm_up(engine.generate(warm_up_request()))
    turns = replay_at_once(engine, planned, job.replay, journal.done, job.concurrency, journal.failed)
    with _watched_machine(folder / TELEMETRY, job.model_path):
        for event in watch.turns(turns, left):
            journal.keep(event)


def warm_up_request() -> ChatRequest:
    """Return a request of some hundred tokens: the first prefill after loading pays for page faults."""
    text = "Count the files of this project and say which of them are tests. " * 16
    return ChatRequest(messages=({"role": "user", "content": text},), max_tokens=WARM_UP_TOKENS)


@contextmanager
def _watched_machine(path: Path, model_path: Path | None) -> Iterator[None]:
    """Write the machine's counters before and after the timed part, also when it is cut short."""
    with Journal(path) as telemetry:
        telemetry.append({"_type": "before", **snapshot(model_path=model_path)})
        try:
            yield
        finally:
            telemetry.append({"_type": "after", **snapshot(model_path=model_path)})


def snapshots_of(path: Path) -> list[dict[str, Any]]:
    """Return the {"before", "after"} pairs of a run's sessions; one that crashed has no "after"."""
    pairs: list[dict[str, Any]] = []
    for row in read_journal(path) if path.exists() else ():
        kind = row.pop("_type", None)
        if kind == "before":
            pairs.append({"before": row})
        elif kind == "after" and pairs:
            pairs[-1]["after"] = row
    return pairs


def _keep_manifest(
    folder: Path, job: Job, info: EngineInfo, planned: Sequence[Sequence[TurnPlan]], planning_s: float
) -> dict[str, Any]:
    """Write run.json of a new run; of a resumed one, return what its first session wrote."""
    identity = config_fields(job, info)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": version("edge-agentic"),
        "created_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "profile": job.ruleset.name,
        "ruleset": job.ruleset.name,
        "strict": job.ruleset.strict,
        **_limits(job.ruleset),
        "reduced": job.reduced,
        "engine_id": engine_id(info),
        "config_id": digest(identity),
        "identity": identity,
        "model": dict(job.model),
        "engine": {"kind": info.kind, "ctx": info.ctx, **info.identity, **info.details},
        "trace": dict(job.trace),
        "environment": describe(),
        "options": dict(job.options),
        "planned": {**_totals(planned, job), "planning_s": round(planning_s, 3)},
        **({"preflight": [finding.to_dict() for finding in job.findings]} if job.findings else {}),
    }
    path = folder / MANIFEST
    if not path.exists():
        begin(folder, manifest)
        return manifest
    # The first session's environment stays on record; what was planned may grow with another --limit.
    stored = read_manifest(path)
    require_same(str(path), stored["identity"], identity)
    return {**stored, **{key: manifest[key] for key in ("config_id", "identity", "planned", "reduced")}}


def _limits(ruleset: Ruleset) -> dict[str, Any]:
    limits = {"turn_s": ruleset.turn_timeout_s, "replay_s": ruleset.replay_limit_s}
    return {} if None in limits.values() else {"limits": limits}


def config_fields(job: Job, info: EngineInfo) -> dict[str, Any]:
    """Return what config_id hashes: engine, context, trace, replay options and ruleset."""
    return {
        "engine_id": engine_id(info),
        "ctx": info.ctx,
        "trace_sha256": job.trace.get("sha256"),
        "ruleset": job.ruleset.name,
        **asdict(job.replay),
        **({"concurrency": job.concurrency} if job.concurrency > 1 else {}),
    }


def _totals(planned: Sequence[Sequence[TurnPlan]], job: Job) -> dict[str, Any]:
    tokens = [plan.tokens for plans in planned for plan in plans if plan.tokens is not None]
    totals: dict[str, Any] = {
        "trajectories": len(planned),
        "turns": sum(len(plans) for plans in planned),
        "largest_prompt_tokens": max((t.prompt_tokens for t in tokens), default=job.largest_prompt_tokens),
    }
    if job.replay.forced:
        totals["answers_not_extending"] = sum(t.answer_extends is False for t in tokens)
    return totals


def _finish(folder: Path, manifest: Mapping[str, Any], job: Job, gate: Mapping[str, Any]) -> dict[str, Any]:
    replayed = read_turns(folder / TURNS)
    snapshots = snapshots_of(folder / TELEMETRY)
    checks = check_run(
        manifest, replayed.turns, snapshots=snapshots, strict=job.ruleset.strict, seams=replayed.seams
    )
    result = build_result(
        manifest,
        replayed.turns,
        gate,
        checks,
        seams=replayed.seams,
        starts=replayed.starts,
        snapshots=snapshots,
    )
    write_result(folder / RESULT, result)
    return result
