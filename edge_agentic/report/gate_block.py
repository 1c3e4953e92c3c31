"""What is said about the gate: verdict, accuracies natively and leniently, the line, where samples were lost."""

from collections.abc import Mapping
from typing import Any

from bfcl_gate.scoring import wilson_interval
from edge_agentic.report.words import Section, clean, count, interval, percent

Gate = Mapping[str, Any]

MODES = ("native", "lenient")
LONGEST_NOTE = 600


def gate_sections(gate: Gate) -> tuple[Section, ...]:
    """Return the sections on the checks, the accuracies, the categories and the subsets."""
    found = (_accuracies(gate), *(_groups(gate, kind) for kind in ("categories", "subsets")))
    return (_checks(gate), *(section for section in found if section.rows))


def _checks(gate: Gate) -> Section:
    kind = "screening gate" if gate["screening"] else "gate"
    verdict = "passed" if gate["passed"] else "NOT passed"
    asked = f"{count(gate['samples'], 'sample')}, rules {gate['rules']}, tool schemas {gate['tool_schemas']}"
    rows = [("ok" if c["passed"] else "FAILED", clean(c["name"]), clean(c["detail"])) for c in gate["checks"]]
    notes = [clean(note) for note in gate.get("notes", ())]
    shown = [note if len(note) <= LONGEST_NOTE else f"{note[:LONGEST_NOTE]}…" for note in notes]
    return Section(
        title=clean(f"Gate: {kind} {verdict} ({asked})"),
        header=("", "check", "finding") if rows else (),
        rows=tuple(rows),
        notes=(*_line(gate), *shown),
    )


def _line(gate: Gate) -> tuple[str, ...]:
    """Which line was applied and where it came from."""
    if gate["reference"] is None:
        return ()
    line = gate.get("line") or {}
    parts = [
        f"{name} {percent(line[key])}"
        for name, key in (("overall", "overall"), ("normalised", "normalized"))
        if line.get(key) is not None
    ]
    return (f"Line from {clean(gate['reference'])}{': ' if parts else ''}{', '.join(parts)}",)


def _header(gate: Gate) -> tuple[str, ...]:
    native, lenient = (f"{mode} (judged)" if mode == gate["calls"] else mode for mode in MODES)
    return ("", "samples", native, "95 % interval", lenient, "95 % interval")


def _accuracies(gate: Gate) -> Section:
    rows = []
    for label, name in (("overall", "overall"), ("normalised", "normalized")):
        cells = []
        for mode in MODES:
            told = {**gate, **gate[mode]} if mode == gate["calls"] else gate[mode]
            cells += [percent(told[f"{name}_accuracy"]), interval(told.get(f"{name}_interval"))]
        rows.append((label, f"{gate['samples']:,}", *cells))
    return Section(title="Accuracy", header=_header(gate), rows=tuple(row for row in rows if any(row[2:])))


def _groups(gate: Gate, kind: str) -> Section:
    """Accuracies by category or subset; those of the mode that is not judged may be unknown."""
    rows = []
    for name, judged in gate[kind].items():
        cells = []
        for mode in MODES:
            group = judged if mode == gate["calls"] else gate[mode].get(kind, {}).get(name, {})
            cells += [percent(group.get("accuracy")), interval(_interval(group, kind))]
        rows.append((clean(name), f"{judged['samples']:,}" if "samples" in judged else "", *cells))
    return Section(title=kind.capitalize(), header=_header(gate), rows=tuple(rows))


def _interval(group: Mapping[str, Any], kind: str) -> Any:
    """A subset's accuracy is a plain proportion, so its Wilson interval follows from its counts."""
    if "interval" not in group and kind == "subsets" and group.get("samples"):
        return wilson_interval(group["correct"], group["samples"])
    return group.get("interval")
