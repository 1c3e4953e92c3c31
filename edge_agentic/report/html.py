"""The report as one self-contained page: no script, no network, every string from elsewhere escaped."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from edge_agentic import metrics
from edge_agentic.report.content import sections, verdict
from edge_agentic.report.page import page, section_html
from edge_agentic.report.performance_block import marked
from edge_agentic.report.plots import Point, histogram, scatter
from edge_agentic.report.words import Section, clean, in_html
from edge_agentic.turns import TurnResult


def render_html(
    result: Mapping[str, Any],
    turns: Sequence[TurnResult],
    *,
    seams: Collection[tuple[str, int]] = (),
    show_ungated: Mapping[str, Any] | None = None,
    more: Sequence[Section] = (),
) -> str:
    """Return the page of a result document and its turns; `more` sections follow the report's own.

    Plots appear only where the performance may be shown: the gate passed, or `show_ungated` holds the
    performance of a run whose gate did not pass; then every line and plot is marked.
    """
    ungated = result["performance"] is None and show_ungated is not None
    shown = result["performance"] is not None or ungated
    timed = [t for t in turns if t.error is None and (t.trajectory_id, t.turn) not in seams]
    head = verdict(result)
    body = [
        f'<h1 class="{"good" if head.startswith("VALID") else "bad"}">{in_html(head)}</h1>',
        *(section_html(section) for section in (*sections(result, show_ungated), *more)),
        *(_plots(timed, ungated) if shown else ()),
    ]
    return page(head.split(".")[0], body)


def _plots(timed: Sequence[TurnResult], ungated: bool) -> list[str]:
    """Context growth, decode rate by depth, and how turn latencies are spread."""
    first = [
        Point(x=t.input_tokens, y=seconds, label=_label(t), odd=_missed(t))
        for t in timed
        if t.input_tokens is not None and (seconds := metrics.ttft_s(t)) is not None
    ]
    rates = [
        Point(x=t.input_tokens, y=rate, label=_label(t))
        for t in timed
        if t.input_tokens is not None and (rate := metrics.decode_tokens_per_s(t)) is not None
    ]
    latencies = [seconds for t in timed if (seconds := metrics.turn_latency_s(t)) > 0]
    found = []
    if first:
        plot = scatter(first, x_name="prompt tokens", y_name="TTFT in s")
        found.append(("TTFT as the context grows (orange: the cache kept less than it could)", plot))
    if rates:
        plot = scatter(rates, x_name="prompt tokens", y_name="decode tokens/s")
        found.append(("Decode rate by depth", plot))
    if latencies:
        plot = histogram(latencies, x_name="turn latency in s", y_name="turns")
        found.append(("Turn latencies", plot))
    return [f"<h2>{in_html(marked(title, ungated))}</h2>\n{plot}" for title, plot in found]


def _missed(turn: TurnResult) -> bool:
    known = turn.possible_tokens is not None and turn.reused_tokens is not None
    return known and (turn.reused_tokens or 0) < (turn.possible_tokens or 0)


def _label(turn: TurnResult) -> str:
    return clean(
        f"{turn.trajectory_id} turn {turn.turn}: {turn.input_tokens} prompt, {turn.evaluated_tokens} new"
    )
