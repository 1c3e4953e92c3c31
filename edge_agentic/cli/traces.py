"""`edge-agentic traces`: list, check, measure, import, record and share trace files."""

from bfcl_gate.cli.shell import new_app, safe_text
from edge_agentic.cli.import_trace import import_command
from edge_agentic.cli.record import record_command
from edge_agentic.cli.share_traces import export_command, redact_command
from edge_agentic.cli.stats_traces import stats_command
from edge_agentic.cli.validate_traces import validate_command
from edge_agentic.report.words import count

_MLPERF = "20 trajectories, 1,007 turns. The official trace of MLPerf Inference v6.1, fetched on first use."

app = new_app("List, check, measure, import, record and share trace files.")
app.command("validate")(validate_command)
app.command("stats")(stats_command)
app.command("import")(import_command)
app.command("record")(record_command)
app.command("redact")(redact_command)
app.command("export")(export_command)


@app.command("list")
def list_traces() -> None:
    """List the traces that can be named."""
    from edge_agentic.trace import bundled_traces, read_trace

    for name, path in bundled_traces().items():
        trace = read_trace(path)
        turns = sum(len(trajectory.turns) for trajectory in trace.trajectories)
        content = f"{count(len(trace.trajectories), 'trajectory')}, {count(turns, 'turn')}"
        print(safe_text(f"{name:<10} {content}. {trace.metadata.get('description') or ''}"))
    print(f"{'mlperf':<10} {_MLPERF}")
