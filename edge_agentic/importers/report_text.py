"""The import report as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edge_agentic.importers.normal import REPAIRS
from edge_agentic.importers.recording import RECORDING
from edge_agentic.importers.report import Report

_WARNINGS_SHOWN = 5
_PROMPTS_SHOWN = 10


def report_text(report: Report) -> str:
    """Return the report as lines without a final newline. It holds recorded text: escape it for a terminal."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    counts = report.counts
    how = "recorded" if report.formats == (RECORDING,) else "imported"
    yield f"{report.output}: {how} from {report.source} ({', '.join(report.formats)})"
    yield (
        f"  trajectories {counts['trajectories']:,}; turns {counts['turns']:,}; tool calls "
        f"{counts['tool_calls']:,}; tool results {counts['tool_results']:,}"
    )
    delays = report.delays
    yield (
        f"  waits known for {delays['known']:,} rows, unknown for {delays['unknown']:,}; kept "
        f"{delays['kept_s']:,.3f} s, cut off {delays['removed_s']:,.3f} s"
    )
    yield f"  sha256 {report.sha256}"
    if report.splits:
        yield "Linked trajectories: " + ", ".join(f"{n} {reason}" for reason, n in report.splits.items())
    yield from _table("Repairs", [(f"{code} {REPAIRS[code]}", n) for code, n in report.repairs.items()])
    yield from _table("Records left out", list(report.skipped.items()))
    yield from _list("Missing", report.missing)
    yield from _prompts([each for each in report.prompts if "tokenizer" in each])
    yield from _list("Remarks", report.remarks)
    if report.secrets:
        found = ", ".join(f"{kind} ({n})" for kind, n in report.secrets.items())
        yield (
            f"Secrets: texts that look like {found}. Do not publish this trace before they are gone; "
            "`edge-agentic traces redact` replaces them."
        )
    if report.warnings:
        yield f"Warnings of the loader: {len(report.warnings)}"
        yield from (f"  {text}" for text in report.warnings[:_WARNINGS_SHOWN])


def _prompts(counted: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what is missing from the prompts, by the tokenizer of a model that is hardly the recorded one."""
    if counted:
        name = counted[0]["tokenizer"]
        title = (
            f"Prompts in tokens, recorded and here (by the tokenizer of {name}; the recorded one may differ)"
        )
        more = len(counted) - _PROMPTS_SHOWN
        shown = [_prompt(each) for each in counted[:_PROMPTS_SHOWN]]
        yield from _list(
            title, (*shown, f"and {more} more; --report-format json has all") if more > 0 else tuple(shown)
        )


def _prompt(sizes: Mapping[str, Any]) -> str:
    ends = []
    for end in ("first", "last"):
        recorded, here = sizes[f"{end}_input_tokens"], sizes[f"{end}_tokens"]
        gap = f"{recorded - here:,} missing" if recorded > here else f"{here - recorded:,} more"
        ends.append(f"{end} {recorded:,} recorded, {here:,} here, {gap}")
    lacks = f" (no {', no '.join(sizes['lacks'])})" if sizes["lacks"] else ""
    return f"{sizes['trajectory']}: {'; '.join(ends)}{lacks}"


def _table(title: str, rows: list[tuple[str, int]]) -> Iterator[str]:
    if rows:
        yield f"{title}:"
        yield from (f"  {name:<28}{count:>8,}" for name, count in rows)


def _list(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield f"{title}:"
        yield from (f"  - {text}" for text in texts)
