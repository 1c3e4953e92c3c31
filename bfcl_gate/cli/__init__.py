"""`bfcl-gate`: the accuracy gate alone."""

from typing import NoReturn

from bfcl_gate.cli.run import run
from bfcl_gate.cli.shell import new_app, run_app

app = new_app("Check that a local model still calls functions correctly (BFCL v4).")
app.command()(run)


@app.callback()
def _commands() -> None:
    """Check that a local model still calls functions correctly (BFCL v4)."""


def main() -> NoReturn:
    """Run the command and leave with its exit code."""
    run_app(app)
