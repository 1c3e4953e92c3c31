"""The import report as text."""

from collections.abc import Iterator, Mapping
from typing import Any

from edge_agentic.importers.normal import REPAIRS
from edge_agentic.importers.report import Report

_WARNINGS_SHOWN = 5


def report_text(report: Report) -> str:
    """Return the report as lines without a final newline. It holds recorded text: escape it for a terminal."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    counts = report.counts
    yield f"{report.output}: imported from {report.source} ({', '.join(report.formats)})"
    yield (
        f"  trajectories {counts['trajectories']:,}; turns {counts['turns']:,}; tool calls "
        f"{counts['tool_calls']:,}; tool results {counts['tool_results']:,}"
    )
    delays = report.delays
    yield (
        f"  waits known for {delays['known']:,} tool rows, unknown for {delays['unknown']:,}; kept "
        f"{delays['kept_s']:,.3f} s, cut off {delays['removed_s']:,.3f} s"
    )
    yield f"  sha256 {report.sha256}"
    if report.splits:
        yield "Linked trajectories: " + ", ".join(f"{n} {reason}" for reason, n in report.splits.items())
    yield from _table("Repairs", [(f"{code} {REPAIRS[code]}", n) for code, n in report.repairs.items()])
    yield from _table("Records left out", list(report.skipped.items()))
    yield from _list("Missing", report.missing)
    yield from _list("Prompts", tuple(_prompt(each) for each in report.prompts if "tokenizer" in each))
    yield from _list("Remarks", report.remarks)
    if report.secrets:
        found = ", ".join(f"{kind} ({n})" for kind, n in report.secrets.items())
        yield f"Secrets: texts that look like {found}. Do not publish this trace before they are gone."
    if report.warnings:
        yield f"Warnings of the loader: {len(report.warnings)}"
        yield from (f"  {text}" for text in report.warnings[:_WARNINGS_SHOWN])


def _prompt(sizes: Mapping[str, Any]) -> str:
    ends = (
        f"{end} recorded {sizes[f'{end}_input_tokens']:,}, here {sizes[f'{end}_tokens']:,} tokens"
        for end in ("first", "last")
    )
    return f"{sizes['trajectory']}: {'; '.join(ends)} (by the tokenizer of {sizes['tokenizer']})"


def _table(title: str, rows: list[tuple[str, int]]) -> Iterator[str]:
    if rows:
        yield f"{title}:"
        yield from (f"  {name:<28}{count:>8,}" for name, count in rows)


def _list(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield f"{title}:"
        yield from (f"  - {text}" for text in texts)
