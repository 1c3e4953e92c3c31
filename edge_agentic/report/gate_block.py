"""What is said about the gate: verdict, accuracies, the line that was applied, where samples were lost."""

from collections.abc import Mapping
from typing import Any

from bfcl_gate.scoring import wilson_interval
from edge_agentic.report.words import Section, clean, count, interval, listing, percent

Gate = Mapping[str, Any]


def gate_sections(gate: Gate) -> tuple[Section, ...]:
    """Return the sections on the verdict and its checks, the categories and the subsets."""
    found = (
        _accuracies(gate),
        _checks(gate),
        _table("Categories", gate["categories"]),
        _table("Subsets", {name: _with_interval(subset) for name, subset in gate["subsets"].items()}),
    )
    return tuple(section for section in found if section.rows or section.notes)


def _accuracies(gate: Gate) -> Section:
    rows = [
        _accuracy_row(f"judged ({clean(gate['calls'])})", gate),
        _accuracy_row("native calls", gate["native"]),
        _accuracy_row("lenient calls", gate["lenient"]),
    ]
    kind = "screening gate" if gate["screening"] else "gate"
    verdict = "passed" if gate["passed"] else "NOT passed"
    asked = f"rules {clean(gate['rules'])}, tool schemas {clean(gate['tool_schemas'])}"
    return Section(
        title=f"Gate: {kind} {verdict} ({count(gate['samples'], 'sample')}, {asked})",
        header=("", "overall", "95 % interval", "normalised", "95 % interval"),
        rows=tuple(row for row in rows if row[1]),
        notes=_line_notes(gate["reference"]),
    )


def _accuracy_row(name: str, accuracies: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        name,
        percent(accuracies["overall_accuracy"]),
        interval(accuracies.get("overall_interval")),
        percent(accuracies["normalized_accuracy"]),
        interval(accuracies.get("normalized_interval")),
    )


def _line_notes(reference: object) -> tuple[str, ...]:
    """Which line was applied and where it came from."""
    if isinstance(reference, Mapping):
        told = listing(reference, ("source", "name"))
    else:
        told = "" if reference is None else clean(reference)
    return (f"Line: {told}",) if told else ()


def _checks(gate: Gate) -> Section:
    rows = [("ok" if c["passed"] else "FAILED", clean(c["name"]), clean(c["detail"])) for c in gate["checks"]]
    return Section(title="Gate checks", header=("", "check", "finding"), rows=tuple(rows))


def _table(title: str, groups: Mapping[str, Any]) -> Section:
    """Accuracies by group; a group is {samples, correct, accuracy, interval} or a bare accuracy."""
    rows = []
    for name, group in groups.items():
        facts = group if isinstance(group, Mapping) else {"accuracy": group}
        counted = "samples" in facts and "correct" in facts
        right = f"{facts['correct']} of {facts['samples']}" if counted else ""
        rows.append((clean(name), percent(facts.get("accuracy")), interval(facts.get("interval")), right))
    return Section(title=title, header=("", "accuracy", "95 % interval", "correct"), rows=tuple(rows))


def _with_interval(subset: Mapping[str, Any]) -> Mapping[str, Any]:
    """A subset's accuracy is a plain proportion, so its Wilson interval follows from its counts."""
    if "interval" in subset or not subset["samples"]:
        return subset
    return {**subset, "interval": wilson_interval(subset["correct"], subset["samples"])}
