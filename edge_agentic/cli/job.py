"""From options, traces and model to one job."""

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bfcl_gate.cli.engine import LOCAL_ONLY, describe_model
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.cli.server import at_concurrency, look_at_server, prompt_tokens
from bfcl_gate.errors import InputError
from bfcl_gate.gate import gate_request
from bfcl_gate.identity import digest, require_same
from bfcl_gate.lines import LineOptions, resolve_line
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.endpoint_engine import EndpointSettings, public_name
from bfcl_gate.model.engine import Engine, EngineInfo, EngineSettings
from bfcl_gate.model.findings import Finding
from bfcl_gate.ruleset import Ruleset
from bfcl_gate.run_folder import MANIFEST, require_usable
from bfcl_gate.samples import gate_samples
from edge_agentic.benchmark import Job
from edge_agentic.cli.profile import RunOptions, require_workload
from edge_agentic.prior_gate import accept_gate
from edge_agentic.replay import ReplayOptions, requests_of, select_turns, widest_turns
from edge_agentic.report.stored import read_manifest
from edge_agentic.report.sweep import SWEEP
from edge_agentic.trace import Trace, Trajectory, bundled_traces, find_trace, read_trace

BUNDLED = "bundled"


def read_traces(names: Sequence[str]) -> tuple[Trace, ...]:
    """Read every trace named. Raises InputError for one that does not validate and for an id in two files."""
    wanted = [found for name in names for found in (bundled_traces() if name == BUNDLED else (name,))]
    traces = tuple(read_trace(find_trace(name)) for name in wanted)
    seen: dict[str, Path] = {}
    for trace in traces:
        for trajectory in trace.trajectories:
            if trajectory.id in seen:
                raise InputError(
                    f"{trace.path}:{trajectory.line}: conversation_id {trajectory.id} is in {seen[trajectory.id]} as "
                    "well; expected every conversation once in a run. Leave one of the files out, or rename one."
                )
            seen[trajectory.id] = trace.path
    return traces


def build_job(
    options: RunOptions,
    engine: EngineOptions,
    ruleset: Ruleset,
    traces: Sequence[Trace],
    settings: EngineSettings | EndpointSettings,
) -> Job:
    """Return the job that the options describe.

    Raises InputError for a workload the profile does not allow and for lines that make no sense.
    """
    trace = _describe_traces(traces)
    require_workload(ruleset, trace["sha256"], settings.model_sha256)
    policy = replace(
        ruleset.gate,
        calls=options.calls or ruleset.gate.calls,
        max_tokens=engine.max_tokens,
        concurrency=options.concurrency,
        parallel=options.parallel,
        share_prefix=options.share_prefix,
    )
    replay = ReplayOptions(
        decode=options.decode or (ruleset.decode if engine.endpoint is None else "natural"),
        tool_delay=options.tool_delay,
        reasoning=options.reasoning,
        max_tokens=engine.max_tokens,
        calls=policy.calls,
    )
    selected = select_turns(_trajectories(traces), replay, options.limit)
    if not selected:
        raise InputError(
            f"{', '.join(t.path.name for t in traces)}: no turn has a recorded answer, so there is nothing to decode "
            "in forced mode. Use --decode natural."
        )
    samples = gate_samples(policy.sample, tools=policy.tool_schemas)
    return Job(
        ruleset=ruleset,
        replay=replay,
        policy=policy,
        line=resolve_line(line_options(options), [s.id for s in samples], policy, settings.model_sha256),
        selected=selected,
        samples=samples,
        model=describe_model(engine, settings),
        model_path=settings.model_path,
        trace=trace,
        options=_as_given(options, engine),
        concurrency=options.concurrency,
        reduced=options.limit is not None or policy.sample != "mlperf",
    )


def line_options(options: RunOptions) -> LineOptions:
    """Return the options that say which line the gate must reach."""
    return LineOptions(
        baseline=options.baseline,
        reference=options.reference,
        min_overall=options.min_overall,
        min_normalized=options.min_normalized,
    )


def with_gate_result(job: Job, options: RunOptions, info: EngineInfo) -> Job:
    """Return the job with the gate of --gate-result in place of asking again. Raises InputError if it does not fit."""
    if options.gate_result is None:
        return job
    ids = [sample.id for sample in job.samples]
    sha256 = job.model.get("sha256")
    gate = accept_gate(options.gate_result, info, job.policy, ids, line_options(options), sha256)
    return replace(job, prior_gate=gate)


def with_server(job: Job, engine: Engine, folder: Path, known: tuple[Finding, ...] = ()) -> Job:
    """Return the job with what the preflight finds out about an endpoint's server; a resumed run keeps what it has.

    `known` is what was found for a run of another concurrency just before.

    Raises InputError where the largest prompt does not fit the server's context.
    """
    if engine.info().kind != "endpoint":
        return job
    asked = [request for turns in job.selected for request in requests_of(widest_turns(turns), job.replay)]
    largest = max(asked, key=lambda request: len(repr(request.messages)) + len(repr(request.tools)))
    if (folder / MANIFEST).exists():
        found: tuple[Finding, ...] = ()
    else:
        found = at_concurrency(known, engine, job.concurrency) or look_at_server(
            engine, largest, job.concurrency
        )
    tokens = prompt_tokens(engine, largest)
    return replace(job, findings=found, largest_prompt_tokens=None if tokens is None else len(tokens))


def _trajectories(traces: Sequence[Trace]) -> tuple[Trajectory, ...]:
    return tuple(trajectory for trace in traces for trajectory in trace.trajectories)


def widest_requests(traces: Sequence[Trace], job: Job) -> list[tuple[ChatRequest, ...]]:
    """Return the requests among which the largest is: of the whole traces, so that --limit changes no context."""
    whole = select_turns(_trajectories(traces), job.replay)
    replayed = [requests_of([turn], job.replay) for turns in whole for turn in widest_turns(turns)]
    return [*replayed, *((gate_request(sample, job.policy),) for sample in job.samples)]


def _describe_traces(traces: Sequence[Trace]) -> dict[str, Any]:
    files = [
        {
            "name": trace.path.name,
            "sha256": trace.sha256,
            "trajectories": len(trace.trajectories),
            "turns": sum(len(t.turns) for t in trace.trajectories),
        }
        for trace in traces
    ]
    hashes = [trace.sha256 for trace in traces]
    return {
        "name": ", ".join(trace.path.stem for trace in traces),
        "sha256": hashes[0] if len(hashes) == 1 else digest(hashes),
        "trajectories": sum(file["trajectories"] for file in files),
        "turns": sum(file["turns"] for file in files),
        "files": files,
    }


def _as_given(options: RunOptions, engine: EngineOptions) -> dict[str, Any]:
    """Return the options for the manifest: JSON values, files by name only.

    Of an endpoint and of a server to compare with only that it is one, and nothing that it decides itself.
    """
    given: dict[str, Any] = {**asdict(options), **asdict(engine)}
    given["traces"] = [Path(name).name for name in options.traces]
    given["engine_compare"] = options.engine_compare is not None
    if engine.endpoint is not None:
        known = {"endpoint": True, "api_key_env": engine.api_key_env is not None}
        given.update(dict.fromkeys(LOCAL_ONLY), **known)
    if engine.model is not None:
        given["model"] = public_name(engine.model) if engine.endpoint else Path(engine.model).name
    return {key: value.name if isinstance(value, Path) else value for key, value in given.items()}


def require_same_work(folder: Path, job: Job) -> None:
    """Raise InputError where the finished run in `folder` is not what this job would do, as far as files can tell."""
    stored = read_manifest(folder / MANIFEST)
    present = {"trace_sha256": job.trace.get("sha256"), **asdict(job.replay)}
    kept = {name: stored["identity"].get(name) for name in present}
    engine = {name: job.options.get(name) for name in LOCAL_ONLY}
    require_same(
        str(folder),
        {
            **kept,
            **{name: stored["options"].get(name) for name in engine},
            "model": stored["model"].get("sha256"),
        },
        {**present, **engine, "model": job.model.get("sha256")},
    )


def run_folder(options: RunOptions, job: Job) -> Path:
    """Return the run's folder: --output, or runs/<utc>-<id> where the id tells jobs apart.

    Raises InputError for one that cannot be used.
    """
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    folder = options.output or Path("runs") / f"{stamp}-{digest([dict(job.options), os.getpid()])[:8]}"
    require_usable(folder, resume=options.resume, kind="config_id")
    if options.sweep is None and (folder / SWEEP).exists():
        raise InputError(
            f"--output {folder}: holds a sweep; its report would hide this run. Choose another folder, or continue it "
            "with --sweep and --resume."
        )
    return folder
