"""`bfcl-gate`: the accuracy gate alone."""

from typing import NoReturn

from bfcl_gate.cli.compare import compare
from bfcl_gate.cli.export import export
from bfcl_gate.cli.multi_turn import multi_turn
from bfcl_gate.cli.run import run
from bfcl_gate.cli.score import score
from bfcl_gate.cli.shell import new_command, run_app

app = new_command("Check that a local model still calls functions correctly (BFCL v4).", "bfcl-gate")
for command in (run, score, compare, export, multi_turn):
    app.command()(command)


def main() -> NoReturn:
    """Run the command and leave with its exit code."""
    run_app(app)
