"""A comparison as text for a terminal."""

from edge_agentic.report.comparison import Comparison, Measure
from edge_agentic.report.console import block
from edge_agentic.report.words import Section, clean, count, percent, seconds


def render_comparison(comparison: Comparison) -> str:
    """Return the comparison, its finding first, ending in a newline."""
    sections = (_measures(comparison), _turn_by_turn(comparison), _differences(comparison))
    return "\n\n".join([_finding(comparison), *(block(section) for section in sections if section)]) + "\n"


def _finding(comparison: Comparison) -> str:
    main = comparison.measures[0]
    invalid = "".join(
        f"INVALID: run {name} is not valid, its numbers may mislead. " for name in comparison.invalid
    )
    percent = abs(main.ratio - 1) * 100
    if main.interval is not None and main.interval[0] <= 1 <= main.interval[1]:
        from_these = count(comparison.trajectories, "trajectory")
        return f"{invalid}No difference in turn latency that {from_these} can show."
    word = "slower" if main.ratio > 1 else "faster"
    sure = "" if main.interval else " (one trajectory: no interval, so chance is not excluded)"
    return f"{invalid}B is {percent:.1f} % {word} than A in mean turn latency{sure}."


def _measures(comparison: Comparison) -> Section:
    pairs = f"{count(comparison.turns, 'common turn')}, {count(comparison.trajectories, 'trajectory')}"
    return Section(
        title=f"Times on the {pairs}",
        header=("", "A", "B", "B / A", "95 % interval"),
        rows=tuple(_row(measure) for measure in comparison.measures),
        notes=("Below 1.00 B is faster. Intervals: bootstrap over trajectories.",),
    )


def _row(measure: Measure) -> tuple[str, ...]:
    bounds = "" if measure.interval is None else f"{measure.interval[0]:.3f} .. {measure.interval[1]:.3f}"
    return (measure.name, seconds(measure.a_s), seconds(measure.b_s), f"{measure.ratio:.3f}", bounds)


def _turn_by_turn(comparison: Comparison) -> Section:
    rows = [
        ("B faster", count(comparison.b_faster, "turn")),
        ("A faster", count(comparison.a_faster, "turn")),
        ("median B / A", f"{comparison.median_turn_ratio:.3f}"),
    ]
    if comparison.answers:
        share = percent(comparison.other_answers / comparison.answers)
        rows.append(("other answers", f"{comparison.other_answers} of {comparison.answers}, {share}"))
    return Section(title="Turn by turn (turn latency)", header=("", ""), rows=tuple(rows))


def _differences(comparison: Comparison) -> Section | None:
    if not comparison.differences:
        return None
    return Section(title="What differs (A -> B)", notes=tuple(clean(text) for text in comparison.differences))
