"""`edge-agentic data`: the data sets that are fetched, not shipped."""

from typing import Annotated

import typer

from bfcl_gate.cli.shell import new_app, safe_text
from bfcl_gate.errors import InputError

app = new_app("Data sets that are fetched from their publishers and verified, not shipped.")


@app.callback()
def _group() -> None:
    """Keep `pull` a sub-command although it is the only one."""


@app.command("pull")
def pull_data(
    name: Annotated[str, typer.Argument(metavar="[bfcl|mlperf-trace]", help="What to fetch.")] = "bfcl",
) -> None:
    """Download a data set, verify it by its SHA-256 and print where it lies."""
    from bfcl_gate.cli.progress import transfer
    from bfcl_gate.download import fetch_bfcl, fetch_mlperf_trace

    sets = {"bfcl": fetch_bfcl, "mlperf-trace": fetch_mlperf_trace}
    if name not in sets:
        raise InputError(f"{name}: no data set of that name; known names are {', '.join(sets)}.")
    path = sets[name](transfer)
    print(safe_text(str(path)))
