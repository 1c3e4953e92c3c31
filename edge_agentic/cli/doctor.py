"""`edge-agentic doctor`: is this machine, or that server, ready for a run?"""

import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfcl_gate.cli.findings_text import findings_lines
from bfcl_gate.cli.options import MOST_AT_ONCE, EngineOptions, with_engine_options
from bfcl_gate.errors import EngineError, InputError

if TYPE_CHECKING:
    from bfcl_gate.model.chat import ChatRequest
    from bfcl_gate.model.child_engine import ChildEngine
    from bfcl_gate.model.findings import Finding
    from edge_agentic.trace import Trace

_LOOK_S = 1.0
"""Load of other programs is looked at for so long."""

TracesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--traces", metavar="NAME|PATH", help="Traces a run will replay; repeatable.", show_default="smoke"
    ),
]
ConcurrencyOption = Annotated[
    int,
    typer.Option("--concurrency", min=1, max=MOST_AT_ONCE, help="Trajectories at once that a run will make."),
]
FormatOption = Annotated[str, typer.Option("--format", help="text or json.")]


@with_engine_options()
def doctor(
    *,
    traces: TracesOption = None,
    concurrency: ConcurrencyOption = 1,
    output: FormatOption = "text",
    engine: EngineOptions,
) -> None:
    """Look at this machine, or with --endpoint at a server, before a run; exit 1 where a run could not be valid."""
    from bfcl_gate.model.findings import broken
    from edge_agentic.cli.job import read_traces

    if output not in ("text", "json"):
        raise InputError(f"--format {output!r} is unknown; expected text or json.")
    requests = _requests(read_traces(traces or ("smoke",)), engine.max_tokens)
    found: list[Finding] = []
    looked = _server(engine, requests, concurrency) if engine.endpoint else _machine(engine, requests)
    title = "Server" if engine.endpoint else "This machine"
    for line in findings_lines(title, _kept(looked, found)):
        if output == "text":
            sys.stdout.write(line)
            sys.stdout.flush()
    if output == "json":
        print(json.dumps([finding.to_dict() for finding in found], indent=2))
    raise SystemExit(1 if broken(found) else 0)


def _kept(findings: "Iterator[Finding]", found: "list[Finding]") -> "Iterator[Finding]":
    for finding in findings:
        found.append(finding)
        yield finding


def _requests(traces: "Sequence[Trace]", max_tokens: int) -> "list[tuple[ChatRequest, ...]]":
    """Return the requests among which the largest of the traces is."""
    from edge_agentic.replay import ReplayOptions, requests_of, widest_turns

    options = ReplayOptions(decode="natural", max_tokens=max_tokens)
    return [
        requests_of(widest_turns(trajectory.turns), options)
        for trace in traces
        for trajectory in trace.trajectories
    ]


def _server(
    engine: EngineOptions, requests: "list[tuple[ChatRequest, ...]]", concurrency: int
) -> "Iterator[Finding]":
    from bfcl_gate.cli.engine import engine_settings
    from bfcl_gate.model.endpoint_engine import EndpointEngine, EndpointSettings
    from bfcl_gate.model.endpoint_engine.server_preflight import server_preflight

    settings = engine_settings(engine)
    assert isinstance(settings, EndpointSettings)
    every = [request for each in requests for request in each]
    largest = max(every, key=lambda request: len(repr(request.messages)) + len(repr(request.tools)))
    with closing(EndpointEngine(settings)) as server:
        yield from server_preflight(server, largest, concurrency)


def _machine(engine: EngineOptions, requests: "list[tuple[ChatRequest, ...]]") -> "Iterator[Finding]":
    from bfcl_gate.cache import cache_dir
    from edge_agentic.doctor import disk_finding, machine_findings, power_finding
    from edge_agentic.environment import describe, snapshot

    environment = describe()
    yield power_finding(environment)
    path = _model_here(engine)
    if isinstance(path, Path):
        yield from _engine(engine, path, requests)
    else:
        yield path
    before = snapshot()
    time.sleep(_LOOK_S)
    yield from machine_findings(before, snapshot(), path.stat().st_size if isinstance(path, Path) else None)
    yield disk_finding({"runs": _free(Path()), "models": _free(cache_dir())})


def _free(folder: Path) -> int:
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(nearest).free


def _model_here(engine: EngineOptions) -> "Path | Finding":
    """Return the model's file; where it would have to be fetched, the finding that says so: a look fetches nothing."""
    from bfcl_gate.cli.progress import transfer
    from bfcl_gate.download import local_model, named
    from bfcl_gate.model import catalog
    from bfcl_gate.model.findings import WARN, Finding

    name = engine.model or catalog.DEFAULT
    meant = named(name)
    if isinstance(meant, Path):
        return meant
    path = local_model(meant, transfer)
    if path is not None:
        return path
    return Finding(
        name="model",
        level=WARN,
        passed=False,
        detail=f"{name} is not on this machine yet",
        meaning=f"a run fetches it first; edge-agentic models pull {name} does so now",
    )


def _engine(
    engine: EngineOptions, path: Path, requests: "list[tuple[ChatRequest, ...]]"
) -> "Iterator[Finding]":
    """Load vocabulary and template of the model, without its weights, and see what a run would need."""
    from bfcl_gate.cli.engine import local_settings, needed_ctx
    from bfcl_gate.cli.progress import transfer
    from bfcl_gate.model.findings import INVALID, Finding
    from bfcl_gate.model.model_file import read_gguf
    from edge_agentic import doctor as looks
    from edge_agentic.cli.planner import planner
    from edge_agentic.environment import describe, snapshot

    model = read_gguf(path)
    local_settings(engine, transfer)  # options that make no sense are bad input, not a finding
    try:
        with closing(planner(engine)) as local:
            info = local.info()
            yield looks.engine_finding(info.details, str(info.identity["build"]))
            yield looks.offload_finding(info.details, engine.gpu_layers)
            yield looks.template_finding(*_with_and_without_a_tool(local))
            needed = needed_ctx(local, requests)
    except (EngineError, InputError) as error:
        yield Finding(
            name="engine",
            level=INVALID,
            passed=False,
            detail=str(error),
            meaning="no run on this machine can begin; see README for how llama.cpp is built",
        )
        return
    need = looks.Need(
        tokens=needed,
        ctx=engine.ctx or needed,
        kv_type=engine.kv_type,
        gpu_layers=engine.gpu_layers,
        threads=engine.threads,
    )
    yield looks.context_finding(model, need)
    yield looks.memory_finding(model, need, snapshot().get("memory_available_bytes"))
    yield looks.threads_finding(describe(), need)


def _with_and_without_a_tool(local: "ChildEngine") -> tuple[int, int]:
    from bfcl_gate.model.chat import ChatRequest

    question = ({"role": "user", "content": "Which files are here?"},)
    tool = {"type": "function", "function": {"name": "ls", "description": "List files.", "parameters": {}}}
    with_tool, without = (
        len(local.prompt_tokens(ChatRequest(messages=question, tools=tools))) for tools in ((tool,), ())
    )
    return with_tool, without
