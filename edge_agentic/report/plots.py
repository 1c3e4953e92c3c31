"""Plots as inline SVG: no script, no network, every text escaped."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from edge_agentic.report.words import in_html

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 44
BUCKETS = 24
POINTS = 400
"""Points of one line: more cannot be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One mark of a plot; `label` is shown on hover, `odd` marks it with another colour."""

    x: float
    y: float
    label: str
    odd: bool = False


def scatter(points: Sequence[Point], *, x_name: str, y_name: str) -> str:
    """Return an SVG of the points, both axes beginning at 0."""
    x_end, y_end = _round_up(max(p.x for p in points)), _round_up(max(p.y for p in points))
    marks = [_dot(p, _x(p.x / x_end), _y(p.y / y_end)) for p in points]
    ticks = [(tick / x_end, _short(tick)) for tick in _ticks(x_end)]
    return _svg(f"{y_name} by {x_name}", [*_axes(ticks, y_end, x_name, y_name), *marks])


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points joined in their order; each point's label is written beside it."""

    name: str
    points: tuple[Point, ...]


def curve_plot(curves: Sequence[Curve], *, x_name: str, y_name: str) -> str:
    """Return an SVG of curves, both axes beginning at 0; "" where none has a point. The second has another colour."""
    points = [point for curve in curves for point in curve.points]
    if not points:
        return ""
    x_end, y_end = _round_up(max(p.x for p in points)), _round_up(max(p.y for p in points))
    parts = []
    for number, curve in enumerate(curves):
        odd = number % 2 == 1
        places = [(_x(p.x / x_end), _y(p.y / y_end)) for p in curve.points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="{"oddcurve" if odd else "curve"}" points="{line}"/>')
        for point, (x, y) in zip(curve.points, places, strict=True):
            named = f"{curve.name}, {point.label} at once"
            parts.append(_dot(Point(x=point.x, y=point.y, label=named, odd=odd), x, y))
            parts.append(f'<text class="label" x="{x + 6:.1f}" y="{y - 5:.1f}">{in_html(point.label)}</text>')
        x, y = places[-1] if places else (0.0, 0.0)
        parts.append(f'<text class="label" x="{x + 6:.1f}" y="{y + 12:.1f}">{in_html(curve.name)}</text>')
    ticks = [(tick / x_end, _short(tick)) for tick in _ticks(x_end)]
    return _svg(f"{y_name} by {x_name}", [*_axes(ticks, y_end, x_name, y_name), *parts])


def histogram(values: Sequence[float], *, x_name: str, y_name: str) -> str:
    """Return an SVG of how often values (above 0) fall into logarithmic buckets."""
    low, high = math.log10(min(values)), math.log10(max(values))
    low, high = (low - 0.1, high + 0.1) if high - low < 0.2 else (low, high)
    counts = [0] * BUCKETS
    for value in values:
        counts[min(int((math.log10(value) - low) / (high - low) * BUCKETS), BUCKETS - 1)] += 1
    y_end = _round_up(max(counts))
    bars = [
        _bar(i, counted, y_end, low + (high - low) * i / BUCKETS)
        for i, counted in enumerate(counts)
        if counted
    ]
    ticks = [(i / 4, _short(10 ** (low + (high - low) * i / 4))) for i in range(5)]
    return _svg(f"{y_name} by {x_name}", [*_axes(ticks, y_end, x_name, y_name), *bars])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot through the values at 1, 2, 3 …; `label` is shown on hover."""

    values: Sequence[float]
    label: str


def lines(drawn: Sequence[Line], *, x_name: str, y_name: str) -> str:
    """Return an SVG of lines that begin at 1 on the x axis; the y axis begins at 0."""
    x_end = _round_up(max(len(line.values) for line in drawn))
    y_end = _round_up(max(max(line.values) for line in drawn))
    marks = []
    for line in drawn:
        step = -(-len(line.values) // POINTS)
        shown = [*range(0, len(line.values) - 1, step), len(line.values) - 1]
        points = [f"{_x((i + 1) / x_end):.1f},{_y(line.values[i] / y_end):.1f}" for i in shown]
        title = f"<title>{in_html(line.label)}</title>"
        marks.append(f'<polyline class="line" points="{" ".join(points)}">{title}</polyline>')
        marks.append(
            f'<circle class="dot" cx="{points[-1].split(",")[0]}" cy="{points[-1].split(",")[1]}" r="2.5">'
            f"{title}</circle>"
        )
    ticks = [(tick / x_end, _short(tick)) for tick in _ticks(x_end)]
    return _svg(f"{y_name} by {x_name}", [*_axes(ticks, y_end, x_name, y_name), *marks])


def _dot(point: Point, x: float, y: float) -> str:
    shown = f'class="{"odd" if point.odd else "dot"}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"'
    return f"<circle {shown}><title>{in_html(point.label)}</title></circle>"


def _bar(index: int, counted: int, y_end: float, log_from: float) -> str:
    left, right, top = _x(index / BUCKETS), _x((index + 1) / BUCKETS), _y(counted / y_end)
    place = f'x="{left:.1f}" y="{top:.1f}" width="{right - left - 1:.1f}" height="{_y(0) - top:.1f}"'
    return f'<rect class="bar" {place}><title>{counted} from {_short(10**log_from)}</title></rect>'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _axes(x_ticks: Sequence[tuple[float, str]], y_end: float, x_name: str, y_name: str) -> list[str]:
    parts = []
    for share, name in x_ticks:
        parts.append(f'<text class="tick" x="{_x(share):.1f}" y="{HEIGHT - BOTTOM + 16}">{name}</text>')
    for tick in _ticks(y_end):
        y = _y(tick / y_end)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="ytick" x="{LEFT - 6}" y="{y + 4:.1f}">{_short(tick)}</text>')
    middle = _y(0.5)
    parts.append(f'<text class="tick" x="{_x(0.5):.1f}" y="{HEIGHT - 8}">{in_html(x_name)}</text>')
    turn = f"rotate(-90 14 {middle:.1f})"
    parts.append(f'<text class="tick" x="14" y="{middle:.1f}" transform="{turn}">{in_html(y_name)}</text>')
    return parts


def _svg(name: str, parts: Sequence[str]) -> str:
    head = f'<svg role="img" aria-label="{in_html(name)}" viewBox="0 0 {WIDTH} {HEIGHT}">'
    return "\n".join([head, *parts, "</svg>"])


def _ticks(end: float) -> list[float]:
    return [end * i / 4 for i in range(5)]


def _round_up(value: float) -> float:
    """Return the next number of the form 1, 2, 4, 6, 8 or 10 times a power of ten: its quarters read well."""
    if value <= 0:
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value * (1 - 1e-9))


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
