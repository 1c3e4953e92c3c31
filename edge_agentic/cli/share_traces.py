"""`edge-agentic traces export` and `redact`: trace files that are given to others."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfcl_gate.cli import options as opt
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.cli.progress import transfer
from bfcl_gate.cli.shell import safe_text
from edge_agentic.cli.planner import planner
from edge_agentic.report.words import count

if TYPE_CHECKING:
    from edge_agentic.trace.redact import Redaction

TraceArgument = Annotated[str, typer.Argument(metavar="FILE", help="A trace file, a bundled name or mlperf.")]
OutputOption = Annotated[Path, typer.Option("--output", metavar="FILE", help="The trace file to write.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing output file.")]
LimitOption = Annotated[
    int,
    typer.Option("--max-tokens", metavar="N", min=1, help="Output limit of turns that state none."),
]
AllowOption = Annotated[bool, typer.Option("--allow-secrets", help="Export although keys were found.")]


def export_command(
    trace: TraceArgument,
    output: OutputOption,
    max_tokens: LimitOption = 1024,
    allow_secrets: AllowOption = False,
    force: ForceOption = False,
) -> None:
    """Write a trace in the MLPerf shape, every limit stated; refused while it holds keys."""
    from edge_agentic.trace import find_trace
    from edge_agentic.trace.export import export_trace

    done = export_trace(
        find_trace(trace, transfer), output, max_tokens=max_tokens, allow_secrets=allow_secrets, force=force
    )
    print(safe_text(f"{output}: {count(done.trajectories, 'trajectory')}, {count(done.turns, 'turn')}"))
    if done.renamed:
        print(f"  {count(done.renamed, 'id')} looked like a number and got the prefix id-")
    for kind, rows in done.secrets.items():
        print(f"  holds {kind} in {count(rows, 'row')} (--allow-secrets)")


def redact_command(
    trace: TraceArgument,
    output: OutputOption,
    model: opt.ModelOption = None,
    template_arg: opt.TemplateArgOption = None,
    chat_template: opt.ChatTemplateOption = None,
    force: ForceOption = False,
) -> None:
    """Replace the keys in a trace by other texts of the same length; every other byte stays."""
    from edge_agentic.trace import find_trace
    from edge_agentic.trace.redact import redact_trace

    source = find_trace(trace, transfer)
    redaction = redact_trace(source, output, force=force)
    print(safe_text(f"{output}: {_replaced(redaction)}"))
    if model:
        options = EngineOptions(
            model=model,
            template_args=tuple(template_arg or ()),
            chat_template=chat_template,
        )
        print(f"  {_token_change(source, output, options)}")


def _replaced(redaction: "Redaction") -> str:
    if not redaction.places:
        return "no key was found, the file is the same"
    kinds = ", ".join(f"{kind} ({places})" for kind, places in sorted(redaction.places.items()))
    different = count(len(redaction.stand_ins), "different key")
    return f"{different} replaced in {count(redaction.places.total(), 'place')}: {kinds}"


def _token_change(source: Path, output: Path, options: EngineOptions) -> str:
    from edge_agentic.trace_stats import token_change

    with closing(planner(options)) as engine:
        change = token_change(source, output, engine.plan)
    if not change.trajectories:
        return f"prompt tokens: none changed (counted by {options.model})"
    return (
        f"prompt tokens of {count(change.turns, 'turn')} in {count(change.trajectories, 'changed trajectory')}: "
        f"{change.before:,} before, {change.after:,} after ({change.after - change.before:+,}; one prompt by at most "
        f"{change.largest:,}), counted by {options.model}"
    )
