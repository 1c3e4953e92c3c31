"""`bfcl-gate run`: ask every sample of a model and judge the answers."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bfcl_gate.cli import gate_options as gate
from bfcl_gate.cli.engine import (
    check_gate_speed,
    engine_settings,
    open_engine,
    require_one_at_a_time,
    require_room_for_gate,
)
from bfcl_gate.cli.gate_job import finished_gate, prepare_job, run_gate, with_server
from bfcl_gate.cli.options import EngineOptions, with_engine_options
from bfcl_gate.cli.outcome import ReportOptions, leave_with
from bfcl_gate.cli.progress import transfer
from bfcl_gate.cli.shell import continuable
from bfcl_gate.errors import InputError

if TYPE_CHECKING:
    from bfcl_gate.lines import LineOptions
    from bfcl_gate.ruleset import GatePolicy


@with_engine_options()
def run(
    *,
    engine: EngineOptions,
    sample: gate.SampleOption = "mlperf",
    rules: gate.RulesOption = "mlperf",
    tool_schemas: gate.ToolSchemasOption = "mlperf",
    calls: gate.CallsOption = "lenient",
    baseline: gate.BaselineOption = None,
    reference: gate.ReferenceOption = None,
    min_overall: gate.MinOverallOption = None,
    min_normalized: gate.MinNormalizedOption = None,
    until_decided: gate.UntilDecidedOption = False,
    output: gate.OutputOption = None,
    resume: gate.ResumeOption = False,
    misses: gate.MissesOption = False,
    summary: gate.SummaryOption = False,
    junit: gate.JunitOption = None,
    concurrency: gate.ConcurrencyOption = 1,
    parallel: gate.ParallelOption = 1,
    share_prefix: gate.SharePrefixOption = False,
) -> None:
    """Ask a model the samples of BFCL v4 and judge whether it calls functions accurately enough."""
    from bfcl_gate.lines import LineOptions
    from bfcl_gate.ruleset import GatePolicy

    policy = GatePolicy(
        sample=sample,
        rules=rules,
        tool_schemas=tool_schemas,
        calls=calls,
        max_tokens=engine.max_tokens,
        concurrency=concurrency,
        parallel=parallel,
        share_prefix=share_prefix,
    )
    lines = LineOptions(
        baseline=baseline, reference=reference, min_overall=min_overall, min_normalized=min_normalized
    )
    report = ReportOptions(misses=misses, summary=summary, junit=junit)
    _run(engine, policy, lines, output, resume, until_decided, report)


def _run(
    options: EngineOptions,
    policy: "GatePolicy",
    lines: "LineOptions",
    output: Path | None,
    resume: bool,
    until_decided: bool,
    report: ReportOptions,
) -> NoReturn:
    from bfcl_gate.gate import gate_request
    from bfcl_gate.preflight import preflight_samples
    from bfcl_gate.run_folder import how_to_continue

    if resume and output is None:
        raise InputError("--resume needs --output DIR, the folder of the run to continue.")
    require_one_at_a_time(policy.concurrency, options)
    check_gate_speed(policy.parallel, policy.share_prefix, options)
    settings = engine_settings(options, transfer)
    job = prepare_job(options, policy, lines, output, until_decided, settings)
    if (finished := finished_gate(job, resume)) is not None:
        leave_with(finished[1], finished[0], report)
    asked = (*job.samples, *preflight_samples(policy))
    with (
        continuable(lambda: how_to_continue(output)),
        closing(open_engine(settings, [[gate_request(sample, policy)] for sample in asked])) as engine,
    ):
        require_room_for_gate(options, engine, asked, policy)
        job = with_server(engine, job)
        answers, verdict = run_gate(engine, job)
    leave_with(verdict, answers, report)
