"""`edge-agentic traces import`: the recording of another agent to a trace file."""

import json
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError
from edge_agentic.cli.planner import planner

if TYPE_CHECKING:
    from bfcl_gate.model.engine import Engine
    from edge_agentic.importers.report import Report
    from edge_agentic.importers.trajectories import Options

SourceArgument = Annotated[Path, typer.Argument(metavar="SOURCE", help="A recording, or a folder of them.")]
OutputOption = Annotated[Path, typer.Option("--output", metavar="FILE", help="The trace file to write.")]
FormatOption = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="The recording's format (default: detected).")
]
SystemOption = Annotated[
    Path | None,
    typer.Option("--system", metavar="FILE", help="System prompt, where the recording holds none."),
]
ToolsOption = Annotated[
    Path | None,
    typer.Option("--tools", metavar="FILE", help="Tool schemas (JSON), where the recording holds none."),
]
MaxDelayOption = Annotated[
    float, typer.Option("--max-delay", metavar="S", help="Longest wait for tools that is kept, in seconds.")
]
MaxTokensOption = Annotated[
    int, typer.Option("--max-tokens", metavar="N", help="Output limit written into the trace.")
]
MinTurnsOption = Annotated[
    int, typer.Option("--min-turns", metavar="N", help="Leave out conversations with fewer turns.")
]
AnsiOption = Annotated[bool, typer.Option("--strip-ansi", help="Take terminal colours out of texts.")]
HeadOption = Annotated[
    bool, typer.Option("--keep-head", help="Keep replies that stand before the first text of a user.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing output file.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|PATH",
        help="Compare recorded token counts by this model's tokenizer; for traces of lengths: make text for it.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Traces of lengths: which text is made.")]
MaxPromptOption = Annotated[
    int | None,
    typer.Option(
        "--max-prompt",
        metavar="N",
        help="Traces of lengths: end a chat before its first prompt of more tokens.",
    ),
]
ReportFormatOption = Annotated[str, typer.Option("--report-format", help="text or json.")]


def import_command(
    source: SourceArgument,
    output: OutputOption,
    *,
    format_name: FormatOption = None,
    system: SystemOption = None,
    tools: ToolsOption = None,
    max_delay: MaxDelayOption = 10.0,
    max_tokens: MaxTokensOption = 1024,
    min_turns: MinTurnsOption = 1,
    strip_ansi: AnsiOption = False,
    keep_head: HeadOption = False,
    force: ForceOption = False,
    model: ModelOption = None,
    seed: SeedOption = 0,
    max_prompt: MaxPromptOption = None,
    report_format: ReportFormatOption = "text",
) -> None:
    """Import the recording of an agent as a trace file; docs/traces.md lists the formats."""
    from edge_agentic.importers.convert import import_trace
    from edge_agentic.importers.formats import check_name
    from edge_agentic.importers.report_text import report_text
    from edge_agentic.importers.shape_text import Synthesis
    from edge_agentic.importers.tool_schemas import read_system, read_tools

    check_report_format(report_format)
    check_name(format_name)
    if max_prompt is not None and max_prompt < 1:
        raise InputError(f"--max-prompt is {max_prompt}; expected a number of tokens from 1.")
    options = replace(
        options_of(max_delay, max_tokens, min_turns, strip_ansi=strip_ansi, keep_head=keep_head),
        system=read_system(system) if system else None,
        tools=read_tools(tools) if tools else (),
    )
    with ExitStack() as stack:
        # Opened first: a model that is not there must not be noticed behind a finished import.
        engine = stack.enter_context(closing(planner(EngineOptions(model=model)))) if model else None
        synthesis = (
            Synthesis(model=model, plan=engine.plan, seed=seed, longest=max_prompt)
            if engine and model
            else None
        )
        report = import_trace(
            source, output, options, format_name=format_name, force=force, synthesis=synthesis
        )
        report = _counted(report, engine, model) if engine and model else report
    print(json.dumps(asdict(report), indent=2) if report_format == "json" else safe_text(report_text(report)))


def check_report_format(name: str) -> None:
    """Raise InputError for a `--report-format` that does not exist."""
    if name not in ("text", "json"):
        raise InputError(f"--report-format {name!r} is unknown; expected text or json.")


def options_of(
    max_delay: float, max_tokens: int, min_turns: int, *, strip_ansi: bool, keep_head: bool = False
) -> "Options":
    """Return what the user chose about the rows. Raises InputError for a number out of its range."""
    from edge_agentic.importers.rows import Limits
    from edge_agentic.importers.trajectories import Options

    if not 0 <= max_delay < float("inf"):
        raise InputError(f"--max-delay is {max_delay}; expected a number of seconds from 0.")
    if max_tokens < 1:
        raise InputError(f"--max-tokens is {max_tokens}; expected a number of tokens from 1.")
    if min_turns < 1:
        raise InputError(f"--min-turns is {min_turns}; expected a number of turns from 1.")
    limits = Limits(max_delay_s=max_delay, max_tokens=max_tokens, keep_head=keep_head)
    return Options(limits=limits, strip_ansi=strip_ansi, min_turns=min_turns)


def _counted(report: "Report", engine: "Engine", model: str) -> "Report":
    """Add the tokens of the first and last prompt of which the recording states a count."""
    from edge_agentic.trace import load_trajectories
    from edge_agentic.trace_stats import measure

    trajectories = {each.id: each for each in load_trajectories(report.output)}
    prompts = []
    for prompt in report.prompts:
        sizes = measure(trajectories[prompt["trajectory"]], engine.plan)
        tokens = {f"{end}_tokens": sizes[prompt[f"{end}_turn"]].prompt_tokens for end in ("first", "last")}
        prompts.append({**prompt, **tokens, "tokenizer": model})
    return replace(report, prompts=tuple(prompts))
