"""`edge-agentic`: how fast does this device advance a coding agent, with a model that still calls tools correctly?"""

from typing import NoReturn

from bfcl_gate.cli.shell import new_command, run_app
from edge_agentic.cli import data, models, report, traces
from edge_agentic.cli.doctor import doctor
from edge_agentic.cli.export_mlperf import export_mlperf
from edge_agentic.cli.run import run
from edge_agentic.cli.serve import serve_scripted

app = new_command(
    "Replay recorded coding-agent trajectories on a gated local model and report latency and throughput.",
    "edge-agentic",
)
app.command()(run)
app.add_typer(traces.app, name="traces")
app.add_typer(models.app, name="models")
app.add_typer(data.app, name="data")
app.command("report")(report.report)
app.command("compare")(report.compare)
app.command("export-mlperf")(export_mlperf)
app.command("doctor")(doctor)
app.command("serve-scripted")(serve_scripted)


def main() -> NoReturn:
    """Run the command and leave with its exit code."""
    run_app(app)
