"""The report as one self-contained page: no script, no network, every string from elsewhere escaped."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from edge_agentic import metrics
from edge_agentic.report.content import sections, verdict
from edge_agentic.report.performance_block import marked
from edge_agentic.report.plots import Point, histogram, scatter
from edge_agentic.report.words import Section, clean
from edge_agentic.turns import TurnResult

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #666;
  --line: #ddd; --dot: #2563a8; --odd: #c2410c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #999; --line: #444; --dot: #7fb2e5;
  --odd: #f5a36b; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
.bad { color: var(--odd); } .table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1.2rem .15rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); } p { margin: .4rem 0; }
svg { width: 100%; max-width: 44rem; display: block; } svg text { fill: var(--soft); font-size: 11px; }
.tick { text-anchor: middle; } .ytick { text-anchor: end; } .grid { stroke: var(--line); }
.dot, .bar { fill: var(--dot); fill-opacity: .7; } .odd { fill: var(--odd); }
""".strip()


def render_html(
    result: Mapping[str, Any],
    turns: Sequence[TurnResult],
    *,
    seams: Collection[tuple[str, int]] = (),
    show_ungated: Mapping[str, Any] | None = None,
) -> str:
    """Return the page of a result document and its turns.

    Plots appear only where the performance may be shown: the gate passed, or `show_ungated` holds the
    performance of a run whose gate did not pass; then every line and plot is marked.
    """
    ungated = result["performance"] is None and show_ungated is not None
    shown = result["performance"] is not None or ungated
    timed = [t for t in turns if t.error is None and (t.trajectory_id, t.turn) not in seams]
    head = verdict(result)
    body = [
        f'<h1 class="{"good" if head.startswith("VALID") else "bad"}">{escape(head)}</h1>',
        *(_section(section) for section in sections(result, show_ungated)),
        *(_plots(timed, ungated) if shown else ()),
    ]
    return _page(head.split(".")[0], body)


def _page(title: str, body: Iterable[str]) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>edge-agentic: {escape(title)}</title>",
        f"<style>\n{STYLE}\n</style></head><body>",
    ]
    return "\n".join([*head, *body, "</body></html>"]) + "\n"


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(marked(section.title, section.ungated))}</h2>"]
    if section.rows:
        parts.append('<div class="table"><table>')
        if any(section.header):
            parts.append(_row("th", section.header))
        parts += [_row("td", (marked(row[0], section.ungated), *row[1:])) for row in section.rows]
        parts.append("</table></div>")
    parts += [f"<p>{escape(marked(note, section.ungated))}</p>" for note in section.notes]
    return "\n".join(parts)


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


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
    return [f"<h2>{escape(marked(title, ungated))}</h2>\n{plot}" for title, plot in found]


def _missed(turn: TurnResult) -> bool:
    known = turn.possible_tokens is not None and turn.reused_tokens is not None
    return known and (turn.reused_tokens or 0) < (turn.possible_tokens or 0)


def _label(turn: TurnResult) -> str:
    return clean(
        f"{turn.trajectory_id} turn {turn.turn}: {turn.input_tokens} prompt, {turn.evaluated_tokens} new"
    )
