"""`edge-agentic report` and `compare`: what stored runs say, without a model."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError

FORMATS = ("text", "json", "html", "csv")

RunArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.", show_default=False)]
DirA = Annotated[Path, typer.Argument(metavar="DIR_A", help="The run to compare with.", show_default=False)]
DirB = Annotated[Path, typer.Argument(metavar="DIR_B", help="The run that is judged.", show_default=False)]
FormatOption = Annotated[str, typer.Option("--format", help="text, json, html or csv.")]
UngatedOption = Annotated[
    bool,
    typer.Option("--show-ungated", help="Show speed without a passed gate, every line marked (text, html)."),
]
SlowerOption = Annotated[
    str | None, typer.Option("--fail-if-slower", metavar="P%", help="Exit 1 when B is more than P % slower.")
]


def report(
    folder: RunArgument, format_name: FormatOption = "text", show_ungated: UngatedOption = False
) -> None:
    """Show a run again from what it stored; html is also kept as report.html in the run directory."""
    if format_name not in FORMATS:
        raise InputError(f"--format {format_name!r} is unknown; expected one of {', '.join(FORMATS)}.")
    if show_ungated and format_name not in ("text", "html"):
        raise InputError(
            f"--show-ungated marks every line, which {format_name} cannot; use --format text or html."
        )
    text = _rendered(folder, format_name, show_ungated)
    if format_name == "html":
        _keep(folder / "report.html", text)
    sys.stdout.write(text)


def _rendered(folder: Path, format_name: str, show_ungated: bool) -> str:
    import json

    from edge_agentic.report.sweep import SWEEP

    if (folder / SWEEP).is_file():
        return _rendered_sweep(folder, format_name, show_ungated)
    from edge_agentic.report.console import render_text
    from edge_agentic.report.csv import render_csv
    from edge_agentic.report.engine_compare import comparison_sections
    from edge_agentic.report.html import render_html
    from edge_agentic.report.stored import load_run, result_of, ungated_of

    run = load_run(folder)
    result = result_of(run)
    ungated = ungated_of(run) if show_ungated and result["performance"] is None else None
    if format_name == "json":
        return json.dumps(result, indent=2) + "\n"
    if format_name == "csv":
        return render_csv(run.replay.turns, gated=result["performance"] is not None, seams=run.replay.seams)
    more = comparison_sections(folder) if result["performance"] is not None else ()
    if format_name == "html":
        return render_html(result, run.replay.turns, seams=run.replay.seams, show_ungated=ungated, more=more)
    return safe_text(render_text(result, show_ungated=ungated, more=more))


def _rendered_sweep(folder: Path, format_name: str, show_ungated: bool) -> str:
    import json

    from edge_agentic.report.console import render_sweep
    from edge_agentic.report.sweep import load_sweep, sweep_csv, sweep_document
    from edge_agentic.report.sweep_html import render_sweep_html

    points = load_sweep(folder, show_ungated=show_ungated)
    if format_name == "json":
        return json.dumps(sweep_document(points), indent=2) + "\n"
    if format_name == "csv":
        return sweep_csv(points)
    return render_sweep_html(points) if format_name == "html" else safe_text(render_sweep(points))


def compare(folder_a: DirA, folder_b: DirB, fail_if_slower: SlowerOption = None) -> NoReturn:
    """Compare the speed of two runs of the same work: other device, other engine, other settings."""
    from edge_agentic.report.comparison import compare as compare_runs
    from edge_agentic.report.comparison import slower_than
    from edge_agentic.report.comparison_text import render_comparison
    from edge_agentic.report.stored import load_run

    limit = None if fail_if_slower is None else _percent(fail_if_slower)
    comparison = compare_runs(load_run(folder_a), load_run(folder_b))
    sys.stdout.write(safe_text(render_comparison(comparison)))
    if limit is None:
        raise SystemExit(0)
    if comparison.invalid:
        sys.stderr.write("--fail-if-slower: an invalid run proves nothing, so this fails.\n")
    raise SystemExit(1 if comparison.invalid or slower_than(comparison, limit) else 0)


def _percent(text: str) -> float:
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InputError(f"--fail-if-slower {text!r}: expected a percentage from 0 up, for example 5 or 5%.")
    return value


def _keep(path: Path, text: str) -> None:
    """Put the page in its place; a link that stands there is replaced, not followed: a run may come from anywhere."""
    from bfcl_gate.run_folder import write_text

    write_text(path, text)
    sys.stderr.write(safe_text(f"Wrote {path}\n"))
