"""The sizes of traces as one self-contained page: how contexts grow, and how turns, answers and waits are spread."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from edge_agentic.report.page import STYLE, page, section_html
from edge_agentic.report.plots import Line, histogram, lines
from edge_agentic.report.stats_content import notes_on_tokens, stats_sections, unit_of
from edge_agentic.report.words import Section, clean, count, in_html
from edge_agentic.trace_stats import Growth, Survey

_LISTED = 100
_NUMBER = re.compile(r"[\d,.%-]*")
_STYLE = f"""{STYLE}
svg {{ overflow: visible; max-width: none; }}
.plots {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(21rem, 1fr)); gap: 0 2.5rem; }}
.texts td {{ max-width: 14rem; overflow-wrap: anywhere; }}
.plots svg text {{ font-size: 17px; }}
.numbers th:not(:first-child), .numbers td:not(:first-child) {{ text-align: right; padding-right: 0;
  padding-left: 1.2rem; }}
.line {{ fill: none; stroke: var(--dot); stroke-opacity: .55; stroke-width: 1.5; }}
.line:hover {{ stroke: var(--odd); stroke-opacity: 1; stroke-width: 3; }}"""


def render_stats_html(document: Mapping[str, Any], survey: Survey) -> str:
    """Return the page of a document of `traces stats` and the survey it was made from."""
    head = f"{count(document['trajectories'], 'trajectory')}, {count(document['turns'], 'turn')}"
    body = [
        f"<h1>{in_html(head)}</h1>",
        *(f"<p>{in_html(file['path'])}</p>" for file in document["files"]),
        *(f"<p>{in_html(note)}</p>" for note in notes_on_tokens(document)),
        *_plots(document, survey),
        *(_section(section) for section in (*stats_sections(document), _trajectories(document, survey))),
    ]
    return page(head, body, _STYLE)


def _section(section: Section) -> str:
    """Return a section; columns of numbers stand to the right."""
    numbers = all(_NUMBER.fullmatch(cell) for row in section.rows for cell in row[1:])
    return f'<div class="{"numbers" if numbers else "texts"}">{section_html(section)}</div>'


def _plots(document: Mapping[str, Any], survey: Survey) -> list[str]:
    unit = unit_of(document)
    columns, delays = survey.totals().columns, survey.totals().delays
    new = columns["new_tokens_natural" if unit == "tokens" else "new_characters"]
    spreads = (
        ("Increments: new in each prompt", new, f"new {unit}"),
        ("Recorded answers", columns[f"answer_{unit}"], f"answer {unit}"),
        ("Recorded waits", delays, "wait in s"),
    )
    drawn = [Line(values=each.prompts, label=_label(each, unit)) for each in survey.growth]
    plots = [_histogram(*spread) for spread in spreads]
    return [
        *([_growth(document, drawn, unit)] if drawn else ()),
        f'<div class="plots">{"".join(plots)}</div>',
    ]


def _histogram(title: str, values: Sequence[float], x_name: str) -> str:
    above = [value for value in values if value > 0]
    plot = histogram(above, x_name=x_name, y_name="turns") if above else ""
    zeros = f"<p>{len(values) - len(above):,} more are 0.</p>" if len(above) < len(values) else ""
    return f"<div><h2>{in_html(title)}</h2>\n{plot}\n{zeros}</div>" if plot or zeros else ""


def _growth(document: Mapping[str, Any], drawn: Sequence[Line], unit: str) -> str:
    plot = lines(drawn, x_name="turn", y_name=f"prompt {unit}")
    total = document["trajectories"]
    note = f"<p>The first {len(drawn)} of {total:,} trajectories.</p>" if len(drawn) < total else ""
    return f"<h2>How contexts grow</h2>\n{plot}\n{note}"


def _label(growth: Growth, unit: str) -> str:
    turns = count(len(growth.prompts), "turn")
    return clean(f"{growth.trajectory_id}: {turns}, last prompt {growth.prompts[-1]:,} {unit}")


def _trajectories(document: Mapping[str, Any], survey: Survey) -> Section:
    unit = unit_of(document)
    listed = survey.growth[:_LISTED]
    left = document["trajectories"] - len(listed)
    return Section(
        title="Trajectories",
        header=("trajectory", "turns", f"first prompt, {unit}", f"largest prompt, {unit}", "waits, s"),
        rows=tuple(
            (
                clean(each.trajectory_id),
                f"{len(each.prompts):,}",
                f"{each.prompts[0]:,}",
                f"{max(each.prompts):,}",
                f"{each.delay_s:,.3f}",
            )
            for each in listed
        ),
        notes=(f"{left:,} more are not listed.",) if left else (),
    )
