"""`edge-agentic traces stats`: how much work trace files are."""

import json
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfcl_gate.cli import options as opt
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.cli.progress import transfer
from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError, SourceError
from edge_agentic.cli.planner import planner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edge_agentic.trace_stats import Survey

PathsArgument = Annotated[
    list[str], typer.Argument(metavar="PATH…", help="Trace files, bundled names or mlperf.")
]
FormatOption = Annotated[str, typer.Option("--format", help="text or json.")]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a page with plots as well.")
]
CharactersOption = Annotated[
    bool, typer.Option("--characters", help="Count characters only: no model, and fast on large files.")
]


def stats_command(
    paths: PathsArgument,
    model: opt.ModelOption = None,
    template_arg: opt.TemplateArgOption = None,
    chat_template: opt.ChatTemplateOption = None,
    characters: CharactersOption = False,
    output_format: FormatOption = "text",
    html: HtmlOption = None,
) -> None:
    """Measure traces: turns, prompt, new and answer tokens under a model's template, recorded waits.

    Says too whether the template keeps each prompt a prefix of the next, and which text near the start of
    prompts changes and so costs reuse.
    """
    _check_options(output_format, characters, model, html)
    from edge_agentic.trace import find_trace
    from edge_agentic.trace_stats import Survey

    files = [find_trace(name, transfer) for name in paths]
    if html is not None and html.resolve() in [file.resolve() for file in files]:
        raise InputError(f"--html {html}: is a trace that is measured; name another file for the page.")
    options = EngineOptions(
        model=None if characters else model or _default_if_here(),
        template_args=tuple(template_arg or ()),
        chat_template=chat_template,
    )
    with ExitStack() as stack:
        engine = stack.enter_context(closing(planner(options))) if options.model else None
        survey = Survey(plan=engine.plan if engine else None)
        for file in files:
            survey.read(file, transfer)
    document = {"model": options.model, **survey.to_dict()}
    if html is not None:
        _write_page(html, document, survey)
    print(json.dumps(document, indent=2) if output_format == "json" else safe_text(_text(document)))


def _check_options(output_format: str, characters: bool, model: str | None, html: Path | None) -> None:
    if output_format not in ("text", "json"):
        raise InputError(f"--format {output_format!r} is unknown; expected text or json.")
    if characters and model is not None:
        raise InputError("--characters counts without a model; leave it out, or leave --model out.")
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise InputError(f"--html {html}: expected the name of a file in a folder that exists.")


def _default_if_here() -> str | None:
    """Return the default model's name where it is on this machine; nothing is fetched just to count."""
    from bfcl_gate.download import local_model
    from bfcl_gate.model.catalog import DEFAULT, find

    if local_model(find(DEFAULT), transfer):
        return DEFAULT
    sys.stderr.write(
        f"No tokens are counted: the default model {DEFAULT} is not on this machine. Fetch it with "
        f"`edge-agentic models pull {DEFAULT}`, or name another with --model.\n"
    )
    return None


def _write_page(path: Path, document: "Mapping[str, Any]", survey: "Survey") -> None:
    from edge_agentic.report.stats_html import render_stats_html

    try:
        path.write_text(render_stats_html(document, survey), encoding="utf-8")
    except OSError as error:
        raise SourceError(f"--html {path}: the page cannot be written ({error.strerror}).") from error


def _text(document: "Mapping[str, Any]") -> str:
    from edge_agentic.report.console import block
    from edge_agentic.report.stats_content import notes_on_tokens, stats_sections

    blocks = [block(section) for section in stats_sections(document)]
    return "\n\n".join([*blocks, *("\n".join(notes) for notes in [notes_on_tokens(document)] if notes)])
