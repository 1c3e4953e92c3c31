"""`edge-agentic traces stats`: how much work trace files are."""

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfcl_gate.cli import options as opt
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.cli.progress import shown, transfer
from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError
from edge_agentic.cli.planner import planner
from edge_agentic.report.words import count

if TYPE_CHECKING:
    from bfcl_gate.model.engine import Engine
    from edge_agentic.trace import Trace

PathsArgument = Annotated[
    list[str], typer.Argument(metavar="PATH…", help="Trace files, bundled names or mlperf.")
]
FormatOption = Annotated[str, typer.Option("--format", help="text or json.")]


def stats_command(
    paths: PathsArgument,
    model: opt.ModelOption = None,
    template_arg: opt.TemplateArgOption = None,
    chat_template: opt.ChatTemplateOption = None,
    output_format: FormatOption = "text",
) -> None:
    """Measure traces: turns, prompt, new and answer tokens under a model's template, recorded waits."""
    if output_format not in ("text", "json"):
        raise InputError(f"--format {output_format!r} is unknown; expected text or json.")
    from edge_agentic.trace import find_trace, read_trace

    traces = [read_trace(find_trace(name, transfer)) for name in paths]
    options = EngineOptions(
        model=model or _default_if_here(),
        template_args=tuple(template_arg or ()),
        chat_template=chat_template,
    )
    with ExitStack() as stack:
        engine = stack.enter_context(closing(planner(options))) if options.model else None
        document = {"model": options.model, **_measured(traces, engine)}
    if output_format == "json":
        print(json.dumps(document, indent=2))
    else:
        print(safe_text(_text(document)))


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


def _measured(traces: "Sequence[Trace]", engine: "Engine | None") -> dict[str, Any]:
    """Return the statistics of all files together, and of each under `files`."""
    from edge_agentic.trace_stats import measure
    from edge_agentic.trace_stats import stats as stats_of

    trajectories = [trajectory for trace in traces for trajectory in trace.trajectories]
    plan = engine.plan if engine else None
    sizes = [measure(each, plan) for each in shown(trajectories, "Counting tokens", len(trajectories))]
    rest = iter(sizes)
    files = [
        {
            "path": str(trace.path),
            "sha256": trace.sha256,
            **stats_of([next(rest) for _ in trace.trajectories]),
        }
        for trace in traces
    ]
    return {**stats_of(sizes), "files": files}


def _text(document: dict[str, Any]) -> str:
    parts = [_block(file["path"], file) for file in document["files"]]
    if len(parts) > 1:
        parts.append(_block("All files", document))
    if document["model"]:
        parts.append(
            f"Tokens by template and tokenizer of {document['model']}.\n"
            "New tokens: what a perfect cache leaves of a prompt if it holds the previous prompt\n"
            "and recorded answer (forced), or that prompt only (natural)."
        )
    return "\n\n".join(parts)


def _block(title: str, numbers: dict[str, Any]) -> str:
    unit = "characters" if numbers["total_prompt_tokens"] is None else "tokens"
    lines = [
        title,
        f"  {count(numbers['trajectories'], 'trajectory')}, {count(numbers['turns'], 'turn')}, "
        f"{numbers['answered_turns']:,} with a recorded answer; waits {numbers['delay_s']:,.3f} s",
        f"  largest prompt {numbers[f'largest_prompt_{unit}']:,} {unit}; all prompts "
        f"{numbers[f'total_prompt_{unit}']:,}; answers {numbers[f'answer_{unit}']:,}",
    ]
    if unit == "tokens":
        new, reuse = numbers["new_tokens"], numbers["ideal_reuse"]
        lines += [
            f"  new tokens {new['forced']:,} forced, {new['natural']:,} natural; ideal reuse "
            f"{_percent(reuse['forced'])} and {_percent(reuse['natural'])}",
            f"  {numbers['answers_extending_prompt']:,} of {numbers['answered_turns']:,} rendered answers "
            "extend their prompt",
        ]
    return "\n".join([*lines, *_table(numbers["distributions"], unit)])


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{share:.1%}"


def _table(distributions: dict[str, Any], unit: str) -> list[str]:
    shown_names = [name for name in distributions if name == "delay_s" or unit in name]
    head = f"  {'per turn':<20}" + "".join(
        f"{column:>10}" for column in ("min", "p50", "p90", "p99", "max", "mean")
    )
    known = [name for name in shown_names if distributions[name]["count"]]
    return [head, *(_line(name, distributions[name]) for name in known)]


def _line(name: str, numbers: dict[str, Any]) -> str:
    percentiles = numbers["percentiles"]
    values = (numbers["min"], *(percentiles[p] for p in ("50", "90", "99")), numbers["max"], numbers["mean"])
    digits = 3 if name == "delay_s" else 0
    return f"  {name.replace('_', ' '):<20}" + "".join(f"{value:>10,.{digits}f}" for value in values)
