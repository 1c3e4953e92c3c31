"""A gate object as text: the verdict first, then every accuracy natively and leniently, then what to know."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from bfcl_gate.answers import Answer
from bfcl_gate.readings import MODES
from bfcl_gate.ruleset import PARTIAL
from bfcl_gate.words import count

Gate = Mapping[str, Any]

_WIDTH = 110
_SHOWN = 60
"""So many characters of a wrong answer are shown."""


def gate_text(gate: Gate) -> str:
    """Return the report of a gate object, ending in a newline. Nothing in it is escaped for a terminal."""
    blocks = [_verdict(gate), _checks(gate)]
    if gate["samples"]:
        blocks += [_table(gate), _counts(gate)]
    blocks.append("\n".join(_wrapped(note) for note in gate["notes"]))
    return "\n\n".join(block for block in blocks if block) + "\n"


def summary_line(gate: Gate) -> str:
    """Return verdict and judged accuracies in one line, ending in a newline."""
    return (
        f"{_word(gate)} overall={_percent(gate['overall_accuracy'])} "
        f"normalized={_percent(gate['normalized_accuracy'])} calls={gate['calls']} sample={gate['sample']} "
        f"samples={gate['samples']}/{gate['planned_samples']} partial={'yes' if is_partial(gate) else 'no'} "
        f"rules={gate['rules']} tool-schemas={gate['tool_schemas']} line={gate['reference'] or 'none'}\n"
    )


def is_partial(gate: Gate) -> bool:
    """Return whether the figures are of less than a whole sample: stopped early, or a set of no known sample."""
    return bool(gate["partial"]) or gate["sample"] == PARTIAL


def misses_text(missed: Sequence[Answer]) -> str:
    """Return one line for each wrong answer: id, why, and the beginning of what was said."""
    if not missed:
        return ""
    rows = [
        [a.id, " ".join((a.error or a.mark_error or "").split()), _beginning(a.text or a.message or "")]
        for a in missed
    ]
    return f"\nMisses\n{_aligned(rows)}\n"


def _beginning(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[:_SHOWN]}…"


def _word(gate: Gate) -> str:
    if gate["passed"] is None:
        return "NOT JUDGED"
    return "PASSED" if gate["passed"] else "NOT PASSED"


def _verdict(gate: Gate) -> str:
    kind = "screening gate" if gate["screening"] else "gate"
    part = f" of {gate['planned_samples']}" if gate["partial"] and gate["samples"] else ""
    return (
        f"BFCL {kind}: {_word(gate)} ({gate['sample']} sample, {count(gate['samples'], 'answer')}{part}; "
        f"rules {gate['rules']}, tool schemas {gate['tool_schemas']}, {gate['calls']} calls judged)"
    )


def _checks(gate: Gate) -> str:
    return "\n".join(
        f"  {'ok    ' if check['passed'] else 'FAILED'}  {check['name']}: {check['detail']}"
        for check in gate["checks"]
    )


def _table(gate: Gate) -> str:
    judged = gate["calls"]
    head = ["", "samples", *(f"{mode} (judged)" if mode == judged else mode for mode in MODES)]
    rows = [head, _row("overall", gate, "overall"), _row("normalised", gate, "normalized")]
    for kind in ("categories", "subsets"):
        for name, group in gate[judged][kind].items():
            cells = [_group(gate[mode][kind][name]) for mode in MODES]
            rows.append([f"{'  ' if kind == 'subsets' else ''}{name}", str(group["samples"]), *cells])
    return _aligned(rows, right=1)


def _row(label: str, gate: Gate, name: str) -> list[str]:
    cells = (_cell(gate[mode][f"{name}_accuracy"], gate[mode][f"{name}_interval"]) for mode in MODES)
    return [label, str(gate["samples"]), *cells]


def _group(group: Mapping[str, Any]) -> str:
    return _cell(group["accuracy"], group["interval"])


def _cell(accuracy: float | None, interval: Sequence[float] | None) -> str:
    bounds = "" if interval is None else f" [{100 * interval[0]:5.1f}, {100 * interval[1]:5.1f}]"
    return f"{_percent(accuracy):>8}{bounds}"


def _percent(accuracy: float | None) -> str:
    return "undefined" if accuracy is None else f"{100 * accuracy:.2f}%"


def _aligned(rows: Sequence[Sequence[str]], right: int | None = None) -> str:
    """Return the rows in columns, flush left but for column `right`."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join(
            cell.rjust(width) if column == right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _wrapped(note: str) -> str:
    return fill(
        note,
        _WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _counts(gate: Gate) -> str:
    return (
        f"failed requests {gate['failed_requests']}, answers ended by the token limit "
        f"{gate['token_limit_answers']}, empty answers {gate['empty_answers']}\n"
        "intervals are 95 %: Wilson, for normalised and categories bootstrapped"
    )


def comparison_text(found: Mapping[str, Any]) -> str:
    """Return the report of `compare_gates`, ending in a newline."""
    head = (
        f"{count(found['samples'], 'shared sample')} (rules {found['rules']}, tool schemas {found['tool_schemas']}); "
        f"only in the first {found['only_first']}, only in the second {found['only_second']}"
    )
    return "\n\n".join([head, *(_compared(found[mode], mode) for mode in MODES)]) + "\n"


def _compared(mode: Mapping[str, Any], name: str) -> str:
    sides = mode["first"], mode["second"]
    rows = [[f"{name} calls", "first", "second"]]
    for label, key in (("overall", "overall"), ("normalised", "normalized")):
        rows.append([label, *(_cell(s[f"{key}_accuracy"], s[f"{key}_interval"]) for s in sides)])
    for subset in sides[0]["subsets"]:
        rows.append([f"  {subset}", *(_cell(s["subsets"][subset], None) for s in sides)])
    told = [f"gained {len(mode['gained'])}", *mode["gained"]], [f"lost {len(mode['lost'])}", *mode["lost"]]
    flips = "\n".join("  ".join(part) for part in told)
    return f"{_aligned(rows)}\n{flips}\nMcNemar's exact p = {mode['mcnemar_p']:.3g}"
