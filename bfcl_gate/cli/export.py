"""`bfcl-gate export`: stored answers as result files of the official evaluator."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from bfcl_gate.cli import gate_options as gate
from bfcl_gate.cli.score import stored_policy
from bfcl_gate.cli.shell import safe_text

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN_DIR", help="Folder of a run, a gate.jsonl, or stored messages.")
]
FolderArgument = Annotated[Path, typer.Argument(metavar="OUT_DIR", help="The evaluator's result folder.")]
ModelNameOption = Annotated[
    str | None,
    typer.Option(
        "--model-name",
        metavar="NAME",
        help="A function-calling model the evaluator knows, under whose name it scores.",
        show_default="gpt-4o-2024-11-20-FC",
    ),
]


def export(
    stored: RunArgument,
    folder: FolderArgument,
    *,
    model_name: ModelNameOption = None,
    calls: gate.StoredCallsOption = None,
) -> None:
    """Write stored answers in bfcl-eval's own layout, so that the official evaluator can score them."""
    from bfcl_gate.bfcl_export import MODEL_NAME, export_responses
    from bfcl_gate.responses import load_responses
    from bfcl_gate.words import count

    responses = load_responses(stored)
    policy = stored_policy(responses, {} if calls is None else {"calls": calls})
    name = model_name or MODEL_NAME
    files = export_responses(responses, policy, folder, name)
    sys.stdout.write(
        safe_text(
            f"Wrote {count(len(responses.rows), 'answer')}, read as {policy.calls} calls, to "
            f"{count(len(files), 'file')} in {folder}.\n"
            f"Score them with: bfcl evaluate --model {name} --test-category single_turn --partial-eval "
            f"--result-dir {shlex.quote(str(folder.resolve()))}\n"
        )
    )
