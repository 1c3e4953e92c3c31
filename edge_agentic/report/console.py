"""The report as text for a terminal: the verdict first, columns aligned, nothing that does not exist."""

from collections.abc import Mapping, Sequence
from typing import Any

from edge_agentic.report.content import sections, verdict
from edge_agentic.report.performance_block import marked
from edge_agentic.report.sweep import SweepPoint, sweep_sections, sweep_verdict
from edge_agentic.report.words import Section, clean


def render_text(
    result: Mapping[str, Any],
    *,
    show_ungated: Mapping[str, Any] | None = None,
    more: Sequence[Section] = (),
) -> str:
    """Return the report of a result document, ending in a newline; `more` sections follow its own.

    `show_ungated` is the performance of a run whose gate did not pass (`document.ungated_performance`); each
    of its lines is marked. Without it such a run shows no number of speed.
    """
    blocks = [verdict(result), *map(block, (*sections(result, show_ungated), *more))]
    return "\n\n".join(blocks) + "\n"


def render_sweep(points: Sequence[SweepPoint]) -> str:
    """Return the report of a sweep, ending in a newline."""
    return "\n\n".join([sweep_verdict(points), *map(block, sweep_sections(points))]) + "\n"


def block(section: Section) -> str:
    """Return the lines of one section, its columns aligned; a text that would break its line is made visible."""
    lead, notes = ([f"  {clean(line)}" for line in lines] for lines in (section.lead, section.notes))
    lines = [clean(section.title), *lead, *_table(section), *notes]
    return "\n".join(marked(line.rstrip(), section.ungated) for line in lines)


def _table(section: Section) -> list[str]:
    if not section.rows:
        return []
    shown = [section.header, *section.rows] if any(section.header) else section.rows
    rows = [tuple(map(clean, row)) for row in shown]
    used = [i for i in range(len(section.header)) if any(row[i] for row in section.rows)]
    widths = {i: max(len(row[i]) for row in rows) for i in used[:-1]}
    return ["  " + "  ".join(row[i].ljust(widths.get(i, 0)) for i in used).rstrip() for row in rows]
