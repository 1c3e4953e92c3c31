"""`bfcl-gate multi-turn`: accuracy in conversations with simulated APIs; shown, no part of the gate."""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from bfcl_gate.cli import gate_options as gate
from bfcl_gate.cli.engine import describe_model, engine_settings, open_engine
from bfcl_gate.cli.options import MOST, EngineOptions, with_engine_options
from bfcl_gate.cli.progress import shown, transfer
from bfcl_gate.cli.shell import continuable, safe_text
from bfcl_gate.errors import InputError

if TYPE_CHECKING:
    from bfcl_gate.model.engine import Engine
    from bfcl_gate.multi_turn.data import Conversation
    from bfcl_gate.multi_turn.entries import Played
    from bfcl_gate.multi_turn.runner import Policy

_CTX = 32_768
"""Context of a local model where none is given: how long a conversation grows is the model's doing."""

CtxOption = Annotated[
    int | None,
    typer.Option(
        "--ctx", min=1, max=MOST, help="Context in tokens.", show_default=f"{_CTX} for a local model"
    ),
]
SubsetOption = Annotated[
    str | None,
    typer.Option("--subset", help="base, miss_func, miss_param or long_context.", show_default="all four"),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, max=MOST, metavar="N", help="At most N conversations of each subset."),
]


@with_engine_options(ctx=CtxOption)
def multi_turn(
    *,
    engine: EngineOptions,
    subset: SubsetOption = None,
    limit: LimitOption = None,
    calls: gate.CallsOption = "lenient",
    output: gate.OutputOption = None,
    resume: gate.ResumeOption = False,
) -> None:
    """Let a model work through BFCL v4's multi-turn conversations and show its accuracy per subset."""
    from bfcl_gate.multi_turn.runner import Policy

    _run(engine, Policy(calls=calls, max_tokens=engine.max_tokens), subset, limit, output, resume)


def _run(
    options: EngineOptions,
    policy: "Policy",
    subset: str | None,
    limit: int | None,
    output: Path | None,
    resume: bool,
) -> NoReturn:
    from bfcl_gate.multi_turn.entries import chosen
    from bfcl_gate.multi_turn.scores import multi_turn_object, multi_turn_text
    from bfcl_gate.run_folder import RESULT, how_to_continue, require_usable, write_json

    if resume and output is None:
        raise InputError("--resume needs --output DIR, the folder of the run to continue.")
    entries = chosen(subset, limit)
    settings = engine_settings(options, transfer)
    if output is not None:
        require_usable(output, resume=resume, kind="multi_turn_id")
    if settings.model_path is not None and settings.ctx == 0:
        settings = replace(settings, ctx=_CTX)
    with continuable(lambda: how_to_continue(output)), closing(open_engine(settings, ())) as engine:
        facts = _keep_manifest(engine, policy, describe_model(options, settings), output)
        rows = _play(engine, entries, policy, output)
    found = multi_turn_object(rows, policy)
    if output is not None:
        write_json(output / RESULT, {**facts, "multi_turn": found})
    sys.stdout.write(safe_text(multi_turn_text(found)))
    raise SystemExit(0)


def _play(
    engine: "Engine", entries: "Sequence[Conversation]", policy: "Policy", output: Path | None
) -> "tuple[Played, ...]":
    """Play until done; what was finished is on disk where the run has a folder, however it ends."""
    from bfcl_gate.multi_turn.entries import JOURNAL, ask, ask_and_keep

    rows = ask(engine, entries, policy)
    if output is not None:
        rows = ask_and_keep(engine, entries, policy, output / JOURNAL)
    return tuple(shown(rows, "multi-turn", len(entries)))


def _keep_manifest(
    engine: "Engine", policy: "Policy", model: dict[str, Any], output: Path | None
) -> dict[str, Any]:
    """Return what identifies the run for result.json; write run.json unless conversations are there to continue."""
    from bfcl_gate.multi_turn.entries import JOURNAL, header
    from bfcl_gate.run_folder import begin, new_manifest

    info = engine.info()
    facts = new_manifest(
        header(info, policy),
        policy=asdict(policy),
        model=model,
        engine={"kind": info.kind, "ctx": info.ctx, **info.identity, **info.details},
    )
    if output is not None and not (output / JOURNAL).exists():
        begin(output, facts)
    return facts
