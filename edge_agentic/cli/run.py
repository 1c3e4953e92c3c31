"""`edge-agentic run`: options in, one job done, one report out."""

import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from bfcl_gate.cli import gate_options as gate
from bfcl_gate.cli.options import MOST, MOST_AT_ONCE, EngineOptions, with_engine_options
from bfcl_gate.cli.shell import continuable, safe_text
from edge_agentic.cli.profile import RunOptions, apply_profile, finished_result, require_stated
from edge_agentic.cli.sweep import run_sweep

if TYPE_CHECKING:
    from edge_agentic.benchmark import Job

ProfileOption = Annotated[str, typer.Option("--profile", help="quick, standard or mlperf-v6.1.")]
TracesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--traces", metavar="NAME|PATH", help="Trace to replay; repeatable.", show_default="the profile's"
    ),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, max=MOST, help="At most N turns, in trace order.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", metavar="DIR", help="Keep the run here.", show_default="runs/<utc>-<id>"),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue the run in --output.")]
DecodeOption = Annotated[
    str | None, typer.Option("--decode", help="forced or natural.", show_default="the profile's")
]
ToolDelayOption = Annotated[
    str, typer.Option("--tool-delay", help="none or recorded: wait before a turn as recorded.")
]
ReasoningOption = Annotated[
    str, typer.Option("--reasoning", help="keep or strip recorded reasoning in the history.")
]
ConcurrencyOption = Annotated[
    int, typer.Option("--concurrency", min=1, max=MOST_AT_ONCE, help="Trajectories at once; endpoints only.")
]
CallsOption = Annotated[
    str | None,
    typer.Option("--calls", help="Which reading is judged: native or lenient.", show_default="the profile's"),
]
GateResultOption = Annotated[
    Path | None,
    typer.Option("--gate-result", metavar="DIR", help="Accept this earlier gate instead of asking again."),
]
SweepOption = Annotated[
    str | None,
    typer.Option("--sweep", metavar="N,N,…", help="One run for each of these concurrencies; endpoints only."),
]
SloOption = Annotated[
    str | None,
    typer.Option("--slo", metavar="ttft=2s,tpot=50ms", help="Count the turns that meet this as goodput."),
]
EngineCompareOption = Annotated[
    str | None,
    typer.Option(
        "--engine-compare", metavar="URL", help="Ask a server the same turns and show both side by side."
    ),
]
ShowUngatedOption = Annotated[
    bool, typer.Option("--show-ungated", help="Show speed before and without a passed gate.")
]


@with_engine_options()
def run(
    *,
    profile: ProfileOption = "quick",
    traces: TracesOption = None,
    limit: LimitOption = None,
    output: OutputOption = None,
    resume: ResumeOption = False,
    decode: DecodeOption = None,
    tool_delay: ToolDelayOption = "none",
    reasoning: ReasoningOption = "keep",
    concurrency: ConcurrencyOption = 1,
    calls: CallsOption = None,
    parallel: gate.ParallelOption = 1,
    share_prefix: gate.SharePrefixOption = False,
    gate_result: GateResultOption = None,
    baseline: gate.BaselineOption = None,
    reference: gate.ReferenceOption = None,
    min_overall: gate.MinOverallOption = None,
    min_normalized: gate.MinNormalizedOption = None,
    show_ungated: ShowUngatedOption = False,
    sweep: SweepOption = None,
    slo: SloOption = None,
    engine_compare: EngineCompareOption = None,
    engine: EngineOptions,
) -> None:
    """Replay coding-agent trajectories, gate the model's function calling, then report how fast it was."""
    given = locals()  # sixteen options by name, once
    options = RunOptions(**{f.name: given[f.name] for f in fields(RunOptions)})
    options = replace(options, traces=tuple(traces or ()))
    if sweep is not None:
        run_sweep(options, engine)
    if engine_compare is not None:
        _run_compared(options, engine)
    if (result := finished_result(options)) is not None:
        _report(result, options.output, options.show_ungated)
    _, folder, result = _made(options, engine)
    sys.stderr.write(f"The run is kept in {folder}\n")
    _report(result, folder, options.show_ungated)


def _run_compared(options: RunOptions, engine: EngineOptions) -> NoReturn:
    from bfcl_gate.run_folder import how_to_continue
    from edge_agentic.cli import engine_compare as compared

    with closing(compared.open_server(options, engine)) as server:
        options, engine = compared.as_comparable(options, engine, server)
        job, folder, result = _made(options, engine)
        if not result["gate"]["passed"]:
            sys.stderr.write("The gate did not pass, so nothing is compared.\n")
            _report(result, folder, options.show_ungated)
        with continuable(lambda: how_to_continue(folder)):
            document = compared.compare_with(server, job, engine, folder)
    compared.leave_compared(result, folder, document)


def _made(options: RunOptions, engine_options: EngineOptions) -> "tuple[Job, Path, Mapping[str, Any]]":
    """Make a run, or go on with one, and return its job, its folder and its result."""
    from bfcl_gate.cli.engine import engine_settings, open_engine, require_room_for_gate
    from bfcl_gate.cli.progress import transfer
    from bfcl_gate.gate_file import load_gate
    from bfcl_gate.run_folder import how_to_continue
    from edge_agentic.benchmark import run_benchmark
    from edge_agentic.cli.job import (
        build_job,
        read_traces,
        require_same_work,
        run_folder,
        widest_requests,
        with_gate_result,
        with_server,
    )
    from edge_agentic.cli.progress import watch

    ruleset, engine_options = apply_profile(options, engine_options)
    traces = read_traces(options.traces or ruleset.traces)
    settings = engine_settings(engine_options, transfer, as_reference=ruleset.strict)
    job = build_job(options, engine_options, ruleset, traces, settings)
    if options.gate_result is not None:
        load_gate(options.gate_result)  # what cannot be read is said before the model is loaded
    folder = run_folder(options, job)
    if (result := finished_result(options)) is not None:
        require_same_work(folder, job)  # what the server is asked has to be what was asked here
        return job, folder, result
    with (
        continuable(lambda: how_to_continue(folder)),
        closing(open_engine(settings, widest_requests(traces, job))) as engine,
    ):
        require_stated(ruleset, engine.info())
        job = with_server(with_gate_result(job, options, engine.info()), engine, folder)
        if job.prior_gate is None:
            require_room_for_gate(engine_options, engine, job.samples, job.policy)
        return job, folder, run_benchmark(job, engine, folder, watch(options.show_ungated))


def _report(result: Mapping[str, Any], folder: Path | None, show_ungated: bool) -> NoReturn:
    """Print the report and leave: 0 for a valid run whose gate passed, else 1."""
    from edge_agentic.report.console import render_text
    from edge_agentic.report.stored import load_run, ungated_of

    ungated = ungated_of(load_run(folder)) if show_ungated and folder and not result["performance"] else None
    sys.stdout.write(safe_text(render_text(result, show_ungated=ungated)))
    raise SystemExit(0 if result["valid"] and result["gate"]["passed"] else 1)
