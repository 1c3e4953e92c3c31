"""A sweep as one self-contained page: its table, and turn latency over throughput."""

from collections.abc import Sequence

from edge_agentic.report.page import STYLE, page, section_html
from edge_agentic.report.performance_block import marked
from edge_agentic.report.plots import Curve, curve_plot
from edge_agentic.report.sweep import SweepPoint, latencies, parted, sound, sweep_sections, sweep_verdict
from edge_agentic.report.words import in_html

_CURVES = """
.curve { fill: none; stroke: var(--dot); stroke-width: 1.5; } .oddcurve { fill: none; stroke: var(--odd);
  stroke-width: 1.5; } .label { text-anchor: start; }
"""


def render_sweep_html(points: Sequence[SweepPoint]) -> str:
    """Return the page of a sweep. The plot holds the runs whose gate passed, and is not there without any; those
    shown without a passed gate have a plot of their own, marked."""
    head = sweep_verdict(points)
    body = [
        f'<h1 class="{"good" if sound(points) else "bad"}">{in_html(head)}</h1>',
        *(section_html(section) for section in sweep_sections(points)),
        *(_plot(part, ungated) for part, ungated in parted(points)),
    ]
    return page(head.split(".")[0], filter(None, body), STYLE + _CURVES)


def _plot(points: Sequence[SweepPoint], ungated: bool) -> str:
    """Return turn latency over throughput below its title; "" where no run has both."""
    curves = [Curve(name=f"p{p}", points=latencies(points, p)) for p in ("50", "90")]
    plot = curve_plot(curves, x_name="turns per second", y_name="turn latency in s")
    return plot and f"<h2>{in_html(marked('Latency over throughput', ungated))}</h2>\n{plot}"
