"""`edge-agentic export-mlperf`: a finished run as the tree that MLCommons' v6.1 submission checker reads."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfcl_gate.cli.shell import safe_text

if TYPE_CHECKING:
    from edge_agentic.mlperf_export.tree import Exported

RunArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A finished run.", show_default=False)]
OutArgument = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="The folder of the tree; empty or not there.", show_default=False),
]
SubmitterOption = Annotated[
    str,
    typer.Option("--submitter", metavar="NAME", help="Who submits; becomes a folder.", show_default=False),
]
SystemOption = Annotated[
    str, typer.Option("--system", metavar="NAME", help="The system; becomes a folder.", show_default=False)
]
DivisionOption = Annotated[
    str | None,
    typer.Option(
        "--division",
        metavar="[closed|open]",
        help="open: another model or settings on the same workload.",
        show_default="closed",
    ),
]
AnyRunOption = Annotated[
    bool,
    typer.Option(
        "--any-run", help="Make an example of any gated run; its README says that it is no submission."
    ),
]
SeedsOption = Annotated[
    str,
    typer.Option(
        "--seeds", metavar="[checker|compliance]", help="Whose seeds config.yaml states; they disagree."
    ),
]
StatusOption = Annotated[
    str,
    typer.Option("--status", metavar="[available|preview|rdi]", help="The availability of the system."),
]


def export_mlperf(
    run: RunArgument,
    folder: OutArgument,
    *,
    submitter: SubmitterOption,
    system: SystemOption,
    division: DivisionOption = None,
    any_run: AnyRunOption = False,
    seeds: SeedsOption = "checker",
    status: StatusOption = "rdi",
) -> None:
    """Write a finished run as the submission tree of MLPerf Inference v6.1, Edge-Agentic."""
    from edge_agentic.mlperf_export.tree import ExportOptions, export_run

    options = ExportOptions(
        submitter=submitter, system=system, division=division, any_run=any_run, seeds=seeds, status=status
    )
    exported = export_run(run, folder, options)
    sys.stdout.write(safe_text("".join(f"{path}\n" for path in exported.files)))
    sys.stderr.write(safe_text(_notes(exported)))


def _notes(exported: "Exported") -> str:
    account = exported.account
    standing = {
        "closed": "A submission of the closed division, once the following is filled in.",
        "open": "A submission of the open division, once the following is filled in.",
        "example": "An example of the layout, no submission; the README says what the run lacks.",
    }
    lines = [standing[account.kind], "Left to you:", *(f"  {item}" for item in account.to_fill)]
    return "\n".join(lines) + "\n"
