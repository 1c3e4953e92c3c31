"""`edge-agentic run --sweep 1,2,4,8`: the same replay at several concurrencies, one gate, one report."""

import re
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bfcl_gate.cli.options import MOST_AT_ONCE, EngineOptions
from bfcl_gate.errors import InputError
from edge_agentic.cli.profile import RunOptions, apply_profile, finished_result, require_stated

if TYPE_CHECKING:
    from bfcl_gate.model.engine import Engine
    from bfcl_gate.model.findings import Finding
    from edge_agentic.benchmark import Job

_NUMBER = re.compile("[0-9]{1,4}")


def concurrencies_of(text: str) -> tuple[int, ...]:
    """Read `1,2,4,8`. Raises InputError for anything but different whole numbers from 1 up."""
    parts = [part.strip() for part in text.split(",")]
    if not all(_NUMBER.fullmatch(part) and 0 < int(part) <= MOST_AT_ONCE for part in parts):
        raise InputError(
            f"--sweep {text[:80]!r}: expected concurrencies from 1 to {MOST_AT_ONCE}, for example 1,2,4,8."
        )
    if len(set(map(int, parts))) < len(parts):
        raise InputError(f"--sweep {text!r}: a concurrency is given twice.")
    return tuple(map(int, parts))


def run_sweep(options: RunOptions, engine_options: EngineOptions) -> NoReturn:
    """Make every run of the sweep that is not finished, print the report and leave: 0 when all are sound, else 1.

    The first run asks the gate, the others accept its result. A gate that does not pass ends the sweep.
    """
    from bfcl_gate.cli.engine import engine_settings, open_engine
    from bfcl_gate.cli.progress import transfer
    from bfcl_gate.cli.shell import continuable
    from edge_agentic.cli.job import build_job, read_traces, run_folder, widest_requests

    concurrencies = concurrencies_of(options.sweep or "")
    if engine_options.endpoint is None:
        raise InputError(
            "--sweep: the local engine replays one trajectory at a time; a sweep needs --endpoint."
        )
    if options.concurrency != 1:
        raise InputError(
            "--sweep and --concurrency: give the concurrencies to --sweep and leave the other out."
        )
    ruleset, engine_options = apply_profile(options, engine_options)
    traces = read_traces(options.traces or ruleset.traces)
    settings = engine_settings(engine_options, transfer, as_reference=ruleset.strict)

    def job_at(concurrency: int, gate_result: Path | None) -> "Job":
        own = replace(options, concurrency=concurrency, gate_result=gate_result)
        return build_job(own, engine_options, ruleset, traces, settings)

    first = job_at(concurrencies[0], options.gate_result)
    folder = _begun(run_folder(options, first), concurrencies, options.resume)
    how = f"What was finished is in {folder}; repeat the command with --output {folder} and --resume."
    with (
        continuable(lambda: how),
        closing(open_engine(settings, widest_requests(traces, first))) as engine,
    ):
        require_stated(ruleset, engine.info())
        _make(concurrencies, job_at, engine, folder, options)
    _report(folder, options.show_ungated)


def _begun(folder: Path, concurrencies: tuple[int, ...], resume: bool) -> Path:
    """Make the folder of a sweep and write sweep.json. Raises InputError for one that holds something else."""
    from bfcl_gate.run_folder import begin_as, write_json
    from edge_agentic.report.sweep import SCHEMA_VERSION, SWEEP

    if (folder / SWEEP).exists() and not resume:
        raise InputError(
            f"--output {folder}: already holds a sweep. Add --resume to continue it, or choose another folder."
        )
    document = {"schema_version": SCHEMA_VERSION, "concurrencies": list(concurrencies)}
    if (folder / SWEEP).exists():
        write_json(folder / SWEEP, document)
    else:
        begin_as(folder, SWEEP, document)
    return folder


def _make(
    concurrencies: tuple[int, ...],
    job_at: "Callable[[int, Path | None], Job]",
    engine: "Engine",
    folder: Path,
    options: RunOptions,
) -> None:
    from bfcl_gate.run_folder import JOURNAL
    from edge_agentic.benchmark import run_benchmark
    from edge_agentic.cli.job import with_gate_result, with_server
    from edge_agentic.cli.progress import say, watch
    from edge_agentic.report.sweep import run_of

    known: tuple[Finding, ...] = ()
    gate = options.gate_result
    for concurrency in concurrencies:
        own = run_of(folder, concurrency)
        result: Mapping[str, Any] | None = finished_result(replace(options, output=own, resume=True))
        if result is None:
            say(f"concurrency {concurrency}")
            job = with_server(job_at(concurrency, gate), engine, own, known)
            job = with_gate_result(job, replace(options, gate_result=gate), engine.info())
            known = job.findings or known
            result = run_benchmark(job, engine, own, watch(options.show_ungated))
        # A run that took another one's gate has none to lend.
        gate = gate or (own if (own / JOURNAL).exists() else None)
        if not result["gate"]["passed"]:
            say("The gate did not pass, so no further run of this sweep is made.")
            return


def _report(folder: Path, show_ungated: bool) -> NoReturn:
    from bfcl_gate.cli.shell import safe_text
    from edge_agentic.report.console import render_sweep
    from edge_agentic.report.sweep import load_sweep, sound

    points = load_sweep(folder, show_ungated=show_ungated)
    sys.stderr.write(f"The sweep is kept in {folder}; its plot: edge-agentic report {folder} --format html\n")
    sys.stdout.write(safe_text(render_sweep(points)))
    raise SystemExit(0 if sound(points) else 1)
