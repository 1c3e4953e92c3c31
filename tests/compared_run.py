"""A few turns of the smoke trace on a tiny local model, then through a server: for tests of the engine comparison."""

from contextlib import closing
from pathlib import Path
from typing import Any

from bfcl_gate.cli.engine import local_settings, open_engine
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.lines import Line
from bfcl_gate.model.endpoint_engine import EndpointEngine, EndpointSettings, address_of, model_of
from bfcl_gate.ruleset import QUICK
from edge_agentic.benchmark import Job, run_benchmark
from edge_agentic.cli.engine_compare import compare_with
from edge_agentic.cli.progress import watch
from edge_agentic.replay import ReplayOptions, select_turns
from edge_agentic.trace import find_trace, load_trajectories

CTX = 8_192
TURNS = 3


def open_at(url: str) -> EndpointEngine:
    """Open the only model of a server."""
    address = address_of(url, None)
    # However slow the machine is, what is compared is the answer.
    return EndpointEngine(EndpointSettings(address=address, model=model_of(address), timeout_s=3600))


def run_locally(model: Path, folder: Path, decode: str) -> Job:
    """Replay the first turns on a local model into `folder`; a passed gate stands in for asking one."""
    options = ReplayOptions(decode=decode)
    job = Job(
        ruleset=QUICK,
        replay=options,
        policy=QUICK.gate,
        line=Line(source="minima", reference="explicit minima", overall=0.0, normalized=0.0),
        selected=select_turns(load_trajectories(find_trace("smoke")), options, TURNS),
        samples=(),
        model={"name": "tiny"},
        model_path=model,
        trace={"name": "smoke", "sha256": "1" * 64},
        options={},
        reduced=True,
        prior_gate={"passed": True},
    )
    folder.mkdir(exist_ok=True)
    with closing(open_engine(local_settings(_options(model)), [])) as engine:
        run_benchmark(job, engine, folder, watch(False))
    return job


def compare_at(url: str, job: Job, model: Path, folder: Path) -> dict[str, Any]:
    """Ask the server the same turns and return engine_compare.json."""
    with closing(open_at(url)) as server:
        return compare_with(server, job, _options(model), folder)


def _options(model: Path) -> EngineOptions:
    return EngineOptions(model=str(model), ctx=CTX, threads=1)
