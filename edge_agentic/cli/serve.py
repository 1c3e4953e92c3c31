"""`edge-agentic serve-scripted`: a server without a model, for trying out endpoints and what goes wrong with them."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfcl_gate.cli.options import MOST, MOST_AT_ONCE, MOST_SECONDS, number
from bfcl_gate.errors import InputError, SourceError

if TYPE_CHECKING:
    from bfcl_gate.model.scripted_server import Received, Said

Answers = Mapping[str, "Said"]

TracesOption = Annotated[
    list[str] | None,
    typer.Option("--traces", metavar="NAME|PATH", help="Answer their turns as recorded; repeatable."),
]
AnswersOption = Annotated[
    Path | None,
    typer.Option(
        "--answers", metavar="RESPONSES.jsonl", help="Answer gate samples as bfcl-gate score reads them."
    ),
]
FaultOption = Annotated[
    str | None, typer.Option("--fault", metavar="NAME", help="What goes wrong; `list` names all.")
]
FromOption = Annotated[
    int, typer.Option("--fault-from", min=0, metavar="N", help="Number of the first faulty request, from 0.")
]
QuirkOption = Annotated[
    list[str] | None,
    typer.Option("--quirk", metavar="NAME", help="What it does otherwise; repeatable; `list` names all."),
]
SlotsOption = Annotated[
    int, typer.Option("--slots", min=1, max=MOST_AT_ONCE, help="Stated number of requests at once.")
]
PauseOption = Annotated[
    float,
    typer.Option(
        "--pause",
        min=0.0,
        max=MOST_SECONDS,
        callback=number,
        metavar="SECONDS",
        help="Wait before each token.",
    ),
]
EveryOption = Annotated[
    int, typer.Option("--fault-every", min=0, metavar="N", help="And every Nth after it; 0 is never again.")
]


def serve_scripted(
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes a free one.")] = 8080,
    model: Annotated[str, typer.Option("--model", help="Name of the served model.")] = "scripted",
    dialect: Annotated[str, typer.Option("--dialect", help="llama.cpp or openai.")] = "llama.cpp",
    ctx: Annotated[int, typer.Option("--ctx", min=1, max=MOST, help="Stated context in tokens.")] = 32_768,
    slots: SlotsOption = 1,
    pause: PauseOption = 0.0,
    whole_calls: Annotated[bool, typer.Option("--whole-calls", help="Send each call in one piece.")] = False,
    traces: TracesOption = None,
    answers: AnswersOption = None,
    fault: FaultOption = None,
    fault_from: FromOption = 0,
    fault_every: EveryOption = 1,
    quirk: QuirkOption = None,
) -> None:
    """Serve canned answers on this machine until Ctrl-C; it can play every fault a server may have."""
    from bfcl_gate.model.scripted_server import DIALECTS, FAULTS, QUIRKS, ScriptedServer

    if "list" in (fault, *(quirk or ())):
        listed = FAULTS if fault == "list" else {f"{name:<22}{what}": None for name, what in QUIRKS.items()}
        sys.stdout.write("".join(f"{line}\n" for line in listed))
        return
    named = [("--quirk", name, tuple(QUIRKS)) for name in quirk or ()]
    for option, value, known in (
        ("--dialect", dialect, DIALECTS),
        ("--fault", fault, (None, *FAULTS)),
        *named,
    ):
        if value not in known:
            names = ", ".join(name for name in known if name)
            raise InputError(f"{option} {value!r} is unknown; expected one of {names}.")
    try:
        server = ScriptedServer(
            script_of({**recorded_answers(traces or ()), **stored_answers(answers)}),
            fault=lambda received: fault if _is_due(received, fault_from, fault_every) else None,
            dialect=dialect,
            model=model,
            ctx=ctx,
            slots=slots,
            quirks=(*(quirk or ()), *(("whole-calls",) if whole_calls else ())),
            pause_s=pause,
            port=port,
        )
    except OSError as error:
        raise SourceError(
            f"--port {port}: cannot be listened on ({error.strerror}). Choose another one."
        ) from error
    with server:
        sys.stderr.write(f"Serving scripted answers at {server.url}; Ctrl-C ends it.\n")
        server.wait()


def script_of(answers: Answers) -> "Callable[[Mapping[str, Any]], Said]":
    """Return what answers a request by its messages and tools; any other gets a call of its first tool, or prose."""
    from bfcl_gate.model.scripted_server import Said

    def say(body: Mapping[str, Any]) -> Said:
        known = answers.get(_key(body["messages"], body.get("tools") or ()))
        if known is not None:
            return known
        tools = body.get("tools") or ()
        return Said(calls=((tools[0]["function"]["name"], "{}"),)) if tools else Said(text="I am a script.")

    return say


def recorded_answers(names: Sequence[str]) -> Answers:
    """Return the recorded answer to each turn of the traces. Raises InputError for a trace that does not validate."""
    from edge_agentic.trace import find_trace, load_trajectories

    trajectories = [trajectory for name in names for trajectory in load_trajectories(find_trace(name))]
    return {
        _key(turn.messages, turn.tools): _said(turn.recorded)
        for trajectory in trajectories
        for turn in trajectory.turns
        if turn.recorded is not None
    }


def stored_answers(path: Path | None) -> Answers:
    """Return the stored answer to each gate sample of a file that `bfcl-gate score` reads. Raises InputError."""
    from bfcl_gate.responses import load_responses
    from bfcl_gate.samples import sample_of

    if path is None:
        return {}
    stored: dict[str, Said] = {}
    for row in load_responses(path).rows:
        sample, message = sample_of(row.id), row.reply.message or {}
        if not _can_be_sent(message):
            raise InputError(
                f"{row.where}: message.tool_calls is {json.dumps(message.get('tool_calls'))[:80]}; expected a list of "
                '{"function": {"name": …, "arguments": …}}, as a server sends them.'
            )
        stored[_key(sample.messages, sample.tools)] = _said(message)
    return stored


def _can_be_sent(message: Mapping[str, Any]) -> bool:
    """Return whether calls have the shape of a server's: the gate judges any answer, a server sends no other."""
    calls = message.get("tool_calls") or []
    return isinstance(calls, list) and all(
        isinstance(call, dict)
        and isinstance(call.get("function"), dict)
        and isinstance(call["function"].get("name", ""), str)
        for call in calls
    )


def _said(message: Mapping[str, Any]) -> "Said":
    from bfcl_gate.model.scripted_server import Said

    return Said(
        text=message.get("content") or "",
        reasoning=message.get("reasoning_content") or "",
        calls=tuple(_calls(message.get("tool_calls") or ())),
    )


def _calls(calls: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    for call in calls:
        arguments = call["function"].get("arguments", "{}")
        yield (
            call["function"].get("name", ""),
            arguments if isinstance(arguments, str) else json.dumps(arguments),
        )


def _key(messages: Iterable[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]]) -> str:
    """Return what tells requests apart: the same question may be asked with other tools."""
    from bfcl_gate.identity import digest

    return digest([[dict(message) for message in messages], [tool["function"]["name"] for tool in tools]])


def _is_due(received: "Received", first: int, every: int) -> bool:
    after = received.number - first
    return after == 0 or (after > 0 and every > 0 and after % every == 0)
