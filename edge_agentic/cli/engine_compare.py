"""`edge-agentic run --engine-compare URL`: the run on the local engine, then the same turns through a server."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.errors import InputError
from edge_agentic.cli.profile import RunOptions, apply_profile

if TYPE_CHECKING:
    from bfcl_gate.model.chat import ChatRequest
    from bfcl_gate.model.child_engine import ChildEngine
    from bfcl_gate.model.endpoint_engine import EndpointEngine
    from bfcl_gate.model.engine import EngineInfo, PlannedTurn, TimedResponse
    from edge_agentic.benchmark import Job
    from edge_agentic.engine_comparison import PromptPair
    from edge_agentic.replay import ReplayOptions, TurnPlan

_SHOWN_CHARACTERS = 60


class _AsLong:
    """A server whose answers go on until they are as long as asked: `ignore_eos` on every request."""

    def __init__(self, server: "EndpointEngine") -> None:
        self._server = server

    def info(self) -> "EngineInfo":
        return self._server.info()

    def plan(self, requests: "Sequence[ChatRequest]") -> "tuple[PlannedTurn, ...] | None":
        return self._server.plan(requests)

    def generate(self, request: "ChatRequest", keep: int = 0) -> "TimedResponse":
        return self._server.ask(request, {"ignore_eos": True})

    def forget(self) -> None:
        self._server.forget()

    def cancel(self) -> None:
        self._server.cancel()

    def close(self) -> None:
        self._server.close()


def open_server(options: RunOptions, engine: EngineOptions) -> "EndpointEngine":
    """Open the server of --engine-compare. Raises InputError and EngineError where it cannot be compared with."""
    from bfcl_gate.model.endpoint_engine import EndpointEngine, EndpointSettings, address_of, model_of

    taken = {
        "--endpoint": engine.endpoint is not None,
        "--sweep": options.sweep is not None,
        "--profile mlperf-v6.1": options.profile == "mlperf-v6.1",
    }
    if found := [name for name, given in taken.items() if given]:
        raise InputError(
            f"{', '.join(found)} and --engine-compare: a comparison is a run of the local engine and of one server, "
            "one trajectory at a time. Leave one of them out."
        )
    address = address_of(options.engine_compare or "", engine.api_key_env)
    settings = EndpointSettings(
        address=address, model=model_of(address), seed=engine.seed, timeout_s=engine.request_timeout
    )
    return EndpointEngine(settings)


def as_comparable(
    options: RunOptions, engine: EngineOptions, server: "EndpointEngine"
) -> tuple[RunOptions, EngineOptions]:
    """Return the options of the local run: forced only where the server can make answers as long as the recorded ones.

    Raises InputError where --decode forced was asked for and the server cannot.
    """
    from bfcl_gate.cli.server import look_at_server
    from edge_agentic.cli.progress import say

    found = {finding.name: finding for finding in look_at_server(server)}
    goes_on = found["ignore_eos"].passed is True
    if options.decode == "forced" and not goes_on:
        raise InputError(
            f"--decode forced: this server does not make answers as long as the recorded ones (ignore_eos: "
            f"{found['ignore_eos'].detail}). Leave the option out: both sides then end their answers themselves."
        )
    ruleset, _ = apply_profile(options, engine)
    decode = (options.decode or ruleset.decode) if goes_on else "natural"
    length = "as long as the recorded ones" if decode == "forced" else "to their natural end"
    say(f"Both sides decode answers {length}.")
    return replace(options, decode=decode), replace(engine, api_key_env=None, request_timeout=None)


def compare_with(server: "EndpointEngine", job: "Job", engine: EngineOptions, folder: Path) -> dict[str, Any]:
    """Ask the server every turn that is not kept yet, compare prompts and answers, write engine_compare.json."""
    from bfcl_gate.run_folder import write_json
    from edge_agentic.cli.planner import planner
    from edge_agentic.engine_comparison import compare_engines, first_character, pairs_of
    from edge_agentic.replay import plan_replay
    from edge_agentic.report.engine_compare import COMPARISON, SERVER
    from edge_agentic.report.stored import TURNS, read_turns

    with closing(planner(engine)) as local:
        planned = plan_replay(local, job.selected, job.replay)
        prompts = [_prompts(plan, local, server) for plans in planned for plan in plans]
        control_texts = local.control_texts()
    _ask_server(server, planned, job, folder / SERVER)
    asked = read_turns(folder / SERVER / TURNS)
    pairs = pairs_of(read_turns(folder / TURNS).turns, asked.turns)

    def first_token(text: str) -> int | str | None:
        tokens = server.text_tokens(text)
        return tokens[0] if tokens else first_character(text)

    decode = "recorded" if job.replay.forced else "natural"
    document = compare_engines(
        pairs, prompts, decode=decode, first_token=first_token, control_texts=control_texts
    )
    document["dropped"] = sum(turn.error is not None for turn in asked.turns)
    write_json(folder / COMPARISON, document)
    return document


def _prompts(plan: "TurnPlan", local: "ChildEngine", server: "EndpointEngine") -> "PromptPair":
    from edge_agentic.engine_comparison import PromptPair

    own, theirs = local.prompt_tokens(plan.request), server.prompt_tokens(plan.request)
    pair = PromptPair(
        trajectory_id=plan.turn.trajectory_id,
        turn=plan.turn.number,
        local_tokens=len(own),
        server_tokens=None if theirs is None else len(theirs),
    )
    if theirs is None or theirs == own:
        return pair
    texts = local.text_of(own), server.prompt_text(plan.request) or ""
    begin = _parting(*texts)
    shown = [text[begin : begin + _SHOWN_CHARACTERS] for text in texts]
    return replace(pair, at=_parting(own, theirs), local=shown[0], server=shown[1])


def _parting(one: "Sequence[object]", other: "Sequence[object]") -> int:
    """Return the first place where two sequences differ, or where the shorter one ends."""
    places = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(places, min(len(one), len(other)))


def _ask_server(
    server: "EndpointEngine", planned: "Sequence[Sequence[TurnPlan]]", job: "Job", folder: Path
) -> None:
    from edge_agentic.benchmark import warm_up_request
    from edge_agentic.cli.progress import watch
    from edge_agentic.journal import TurnJournal
    from edge_agentic.replay import replay
    from edge_agentic.report.stored import TURNS

    folder.mkdir(exist_ok=True)
    plans = [[_asked(plan) for plan in trajectory] for trajectory in planned]
    options: ReplayOptions = replace(job.replay, decode="natural")
    identity = {"engine": dict(server.info().identity), "as_long": job.replay.forced}
    with TurnJournal(folder / TURNS, identity) as journal:
        left = [plan for trajectory in plans for plan in trajectory if plan.key not in journal.done]
        if not left:
            return
        journal.keep_warm_up(server.generate(warm_up_request()))
        engine = _AsLong(server) if job.replay.forced else server
        for event in watch(False).turns(replay(engine, plans, options, journal.done, journal.failed), left):
            journal.keep(event)


def _asked(plan: "TurnPlan") -> "TurnPlan":
    """Return a turn as the server is asked it: natural, as long as the recorded answer where the run is forced."""
    if not plan.request.forced:
        return plan
    tokens = plan.tokens.answer_tokens if plan.tokens else None
    asked = replace(plan.request, forced=False, max_tokens=tokens or plan.request.max_tokens)
    return replace(plan, request=asked)


def leave_compared(result: Mapping[str, Any], folder: Path, document: Mapping[str, Any]) -> NoReturn:
    """Print report and comparison and leave: 0 when the run is sound and the server answered every turn, else 1."""
    from bfcl_gate.cli.shell import safe_text
    from edge_agentic.report.console import render_text
    from edge_agentic.report.engine_compare import comparison_sections

    sys.stderr.write(f"The run and the server's turns are kept in {folder}\n")
    sys.stdout.write(safe_text(render_text(result, more=comparison_sections(folder))))
    raise SystemExit(0 if result["valid"] and result["gate"]["passed"] and not document["dropped"] else 1)
