"""A sweep as one self-contained page: its table, and turn latency over throughput."""

from collections.abc import Sequence
from html import escape

from edge_agentic.report.page import STYLE, page, section_html
from edge_agentic.report.plots import Curve, curve_plot
from edge_agentic.report.sweep import SweepPoint, latencies, sound, sweep_sections, sweep_verdict

_CURVES = """
.curve { fill: none; stroke: var(--dot); stroke-width: 1.5; } .oddcurve { fill: none; stroke: var(--odd);
  stroke-width: 1.5; } .label { text-anchor: start; }
"""


def render_sweep_html(points: Sequence[SweepPoint]) -> str:
    """Return the page of a sweep; the plot holds the runs whose gate passed, and is not there without any."""
    head = sweep_verdict(points)
    curves = [Curve(name=f"p{p}", points=latencies(points, p)) for p in ("50", "90")]
    plot = curve_plot(curves, x_name="turns per second", y_name="turn latency in s")
    body = [
        f'<h1 class="{"good" if sound(points) else "bad"}">{escape(head)}</h1>',
        *(section_html(section) for section in sweep_sections(points)),
        *([f"<h2>Latency over throughput</h2>\n{plot}"] if plot else ()),
    ]
    return page(head.split(".")[0], body, STYLE + _CURVES)
