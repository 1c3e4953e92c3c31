"""Runs of one workload at several concurrencies: what each gave, side by side, and how latency pays for throughput."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.run_folder import read_json
from edge_agentic.report.content import found_before, next_section, run_section, verdict
from edge_agentic.report.gate_block import gate_sections
from edge_agentic.report.plots import Point
from edge_agentic.report.stored import load_run, result_of, ungated_of
from edge_agentic.report.words import Section, clean, count, number, percent, seconds

SWEEP = "sweep.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One run of a sweep; `result` is partial where it was interrupted.

    `ungated` is the performance of a run whose gate did not pass, there only where the user asked for it.
    """

    concurrency: int
    result: Mapping[str, Any]
    ungated: Mapping[str, Any] | None = None

    @property
    def performance(self) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.result["performance"]
        return found

    @property
    def shown(self) -> Mapping[str, Any] | None:
        """What text and page show; the documents for programs hold `performance` and nothing else."""
        return self.ungated if self.performance is None else self.performance


def run_of(folder: Path, concurrency: int) -> Path:
    """Return the folder of one run of a sweep."""
    return folder / f"concurrency-{concurrency}"


def load_sweep(folder: Path, *, show_ungated: bool = False) -> tuple[SweepPoint, ...]:
    """Read the runs of a sweep that were begun, in its order. Raises InputError where none was, or one was altered."""
    listed = read_json(folder / SWEEP).get("concurrencies")
    if not isinstance(listed, list) or not all(type(n) is int and n > 0 for n in listed):
        raise InputError(
            f"{folder / SWEEP}: field concurrencies: expected a list of numbers, as `run --sweep` writes."
        )
    points = tuple(_point(folder, n, show_ungated) for n in listed if run_of(folder, n).is_dir())
    if not points:
        raise InputError(f"{folder}: no run of this sweep was begun; repeat the command with --resume.")
    return points


def _point(folder: Path, concurrency: int, show_ungated: bool) -> SweepPoint:
    run = load_run(run_of(folder, concurrency))
    result = result_of(run)
    ungated = ungated_of(run) if show_ungated and result["performance"] is None else None
    return SweepPoint(concurrency=concurrency, result=result, ungated=ungated)


def sound(points: Sequence[SweepPoint]) -> bool:
    """Return whether every run is valid and passed its gate."""
    return all(point.result["valid"] and (point.result["gate"] or {}).get("passed") for point in points)


def sweep_verdict(points: Sequence[SweepPoint]) -> str:
    """Return the line that must be read before any number: that of the first run which is not as it should be."""
    bad = next((point for point in points if not sound([point])), None)
    if bad is not None:
        return f"{verdict(bad.result)} (concurrency {bad.concurrency})"
    return f"{verdict(points[0].result)} ({len(points)} runs, all of them so)"


COLUMNS = (
    "concurrency",
    "turns/s",
    "jobs/h",
    "output tokens/s",
    "a session's tokens/s",
    "TTFT p50",
    "TTFT p90",
    "TPOT p50",
    "turn p50",
    "turn p90",
    "goodput",
    "good turns/s",
    "shared tokens",
    "dropped",
)


def sweep_sections(points: Sequence[SweepPoint]) -> tuple[Section, ...]:
    """Return everything there is to say about a sweep, in reading order; its runs share model, trace and gate."""
    first = points[0].result
    gate = gate_sections(first["gate"]) if first["gate"] is not None else ()
    return (
        run_section(first),
        *gate,
        *(sweep_table(part, ungated=ungated) for part, ungated in parted(points)),
        *found_before(first),
        _broken(points),
        next_section(first),
    )


def _broken(points: Sequence[SweepPoint]) -> Section:
    rows = [
        (str(point.concurrency), check["level"], clean(check["name"]), clean(check["detail"]))
        for point in points
        for check in point.result["validity"]
        if not check["passed"]
    ]
    title = f"Validity: {count(len(rows), 'rule')} broken"
    return Section(title=title, header=("concurrency", "", "rule", "finding"), rows=tuple(rows))


def parted(points: Sequence[SweepPoint]) -> tuple[tuple[tuple[SweepPoint, ...], bool], ...]:
    """Return the runs apart from those shown without a passed gate, whose lines are marked (True); none is empty."""
    own = tuple(point for point in points if point.ungated is None)
    ungated = tuple(point for point in points if point.ungated is not None)
    return tuple((part, marked) for part, marked in ((own, False), (ungated, True)) if part)


def sweep_table(points: Sequence[SweepPoint], *, ungated: bool = False) -> Section:
    """Return the table of the runs; one whose gate did not pass, or that is not finished, shows no speed unasked."""
    performed = [point.shown for point in points if point.shown is not None]
    slo: Mapping[str, float] = next((p["goodput"]["slo"] for p in performed if "goodput" in p), {})
    asked = ", ".join(f"{name.removesuffix('_s')} at most {seconds(most)}" for name, most in slo.items())
    notes = [
        "A session is one trajectory while it runs, a job one answered whole; a turn: submission to completion.",
        "Shared tokens were reused by first turns: kept from other trajectories and earlier runs.",
    ]
    if asked:
        notes.insert(0, f"Goodput: turns with {asked}, of all issued.")
    return Section(
        title="Throughput and latency by concurrency",
        header=COLUMNS,
        rows=tuple(_row(point) for point in points),
        notes=tuple(notes),
        ungated=ungated,
    )


def _row(point: SweepPoint) -> tuple[str, ...]:
    label = f"{point.concurrency}{'' if point.result['valid'] else ' INVALID'}"
    if point.shown is None:
        return (label, "withheld", *[""] * (len(COLUMNS) - 2))
    *rates, ttft, ttft_90, tpot, turn, turn_90, share, good, shared, dropped = _values(point.shown)
    return (
        label,
        *(_number(rate) for rate in rates),
        *(seconds(time) for time in (ttft, ttft_90, tpot, turn, turn_90)),
        percent(share),
        _number(good),
        "" if shared is None else f"{shared:,.0f}",
        f"{dropped:.0f}" if dropped else "",
    )


def _values(found: Mapping[str, Any]) -> tuple[float | None, ...]:
    """Return what COLUMNS name after the concurrency: rates, times in s, a share, counts; None where unknown."""
    load, good = found["throughput"], found.get("goodput") or {}
    times = (
        ("ttft_s", "50"),
        ("ttft_s", "90"),
        ("tpot_s", "50"),
        ("turn_latency_s", "50"),
        ("turn_latency_s", "90"),
    )
    return (
        load["turns_per_s"],
        load["jobs_per_h"],
        found["output_tokens_per_s"],
        load["session"]["output_tokens_per_s"],
        *(found[name]["percentiles"].get(p) for name, p in times),
        good.get("share"),
        good.get("turns_per_s"),
        (found.get("server") or {}).get("shared_tokens"),
        found["turns"]["dropped"],
    )


def _number(value: float | None) -> str:
    return "" if value is None else number(value)


def latencies(points: Sequence[SweepPoint], percentile: str) -> tuple[Point, ...]:
    """Return turns per second and turn latency (s) of each run that may be shown, labelled by its concurrency."""
    shown: list[Point] = []
    for point in points:
        found = point.shown
        if found is None or found["throughput"]["turns_per_s"] is None:
            continue
        if (latency := found["turn_latency_s"]["percentiles"].get(percentile)) is not None:
            shown.append(Point(x=found["throughput"]["turns_per_s"], y=latency, label=str(point.concurrency)))
    return tuple(shown)


def sweep_document(points: Sequence[SweepPoint]) -> dict[str, Any]:
    """Return the sweep as one JSON object."""
    return {
        "schema_version": SCHEMA_VERSION,
        "points": [{"concurrency": point.concurrency, "result": dict(point.result)} for point in points],
    }


def sweep_csv(points: Sequence[SweepPoint]) -> str:
    """Return one line a run with the table's columns: times in seconds, shares as fractions, empty where unknown."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    nothing = [None] * (len(COLUMNS) - 1)
    rows.writerows(
        [p.concurrency, *(nothing if p.performance is None else _values(p.performance))] for p in points
    )
    return text.getvalue()
