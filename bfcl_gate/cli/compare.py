"""`bfcl-gate compare`: two stored gates side by side."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bfcl_gate.cli.shell import safe_text

FirstArgument = Annotated[Path, typer.Argument(metavar="DIR_A", help="Folder of the run to compare with.")]
SecondArgument = Annotated[Path, typer.Argument(metavar="DIR_B", help="Folder of the other run.")]


def compare(first: FirstArgument, second: SecondArgument) -> None:
    """Compare two gate runs on the samples both answered: accuracies, flips, McNemar's test."""
    from bfcl_gate.comparison import compare_gates
    from bfcl_gate.gate_file import load_gate
    from bfcl_gate.gate_text import comparison_text

    sys.stdout.write(safe_text(comparison_text(compare_gates(load_gate(first), load_gate(second)))))
