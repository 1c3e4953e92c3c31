"""The decision: which named conditions a gate must meet, and whether answers still missing could change it.

A full gate passes with overall and normalised at or above their lines. A screening gate fails when the
one-sided 95 % Wilson upper bound of overall is below the line; explicit minima are taken as given on any set.
Every condition can only gain by another right answer, so the verdict is monotone in the marks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bfcl_gate.answers import Answer
from bfcl_gate.lines import Line
from bfcl_gate.scoring import accuracies, wilson_upper

Marks = Sequence[tuple[str, bool]]
"""(sample id, right) of each answer."""

_ROUNDING = 1e-9
"""Below any real difference (a mark of 3,641 moves an accuracy by 1e-5), above floating-point noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One named condition of the gate, with its finding in words."""

    name: str
    passed: bool
    detail: str


def is_screening(sample: str, line: Line) -> bool:
    """Return whether only a bound of overall is judged: on the quick sample, unless minima are given."""
    return sample == "quick" and line.source != "minima"


def checks_of(marks: Marks, line: Line, *, screening: bool) -> tuple[Check, ...]:
    """Return the conditions on one complete set of marks."""
    overall, normalized = accuracies(marks)
    if screening:
        return (_screening_check(sum(right for _, right in marks), len(marks), line),)
    checks = (
        _accuracy_check("overall accuracy", overall, line.overall, line),
        _accuracy_check("normalised accuracy", normalized, line.normalized, line),
    )
    return tuple(check for check in checks if check is not None)


def passes(checks: Sequence[Check]) -> bool:
    """Return whether every condition is met; no condition at all is no pass."""
    return bool(checks) and all(check.passed for check in checks)


def decide(marks: Marks, missing: Sequence[str], line: Line, *, screening: bool) -> tuple[Check, ...] | None:
    """Return the conditions where the verdict is certain, None while the `missing` ids can still change it.

    With every missing answer wrong a certain pass passes; with every one right a certain fail fails.
    """
    worst = _assuming(marks, missing, False, line, screening)
    if not missing or passes(worst):
        return worst
    best = _assuming(marks, missing, True, line, screening)
    return None if passes(best) else best


def _assuming(
    marks: Marks, missing: Sequence[str], right: bool, line: Line, screening: bool
) -> tuple[Check, ...]:
    checks = checks_of([*marks, *((sample_id, right) for sample_id in missing)], line, screening=screening)
    if not missing:
        return checks
    assumption = f"; the {len(missing)} not asked counted as {'right' if right else 'wrong'}"
    return tuple(replace(check, detail=check.detail + assumption) for check in checks)


def until_decided(
    answers: Iterable[Answer], ids: Sequence[str], line: Line, *, screening: bool
) -> Iterator[Answer]:
    """Yield answers (to `ids`, in that order) until no later one can change the verdict."""
    marks: list[tuple[str, bool]] = []
    for answer in answers:
        marks.append((answer.id, answer.correct))
        yield answer
        if decide(marks, ids[len(marks) :], line, screening=screening) is not None:
            return


def failing_count(ids: Sequence[str], line: Line, *, screening: bool) -> int:
    """Return the largest number of right answers to `ids` that fails on overall; -1 for none."""
    meets = _screening_meets if screening else _overall_meets
    return _last(lambda right: not meets(right, len(ids), line), len(ids))


def _last(holds: Callable[[int], bool], top: int) -> int:
    """Return the largest n in 0…top for which `holds` does (it holds for all smaller ones), -1 for none."""
    low, high = -1, top
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _overall_meets(right: int, total: int, line: Line) -> bool:
    return line.overall is None or _reaches(right / total, line.overall, line)


def _screening_meets(right: int, total: int, line: Line) -> bool:
    return line.overall is None or wilson_upper(right, total) >= line.overall - _ROUNDING


def _reaches(accuracy: float, least: float, line: Line) -> bool:
    if line.percent_decimals is not None:
        return round(100 * accuracy, line.percent_decimals) >= 100 * least - _ROUNDING
    return accuracy >= least - _ROUNDING


def _accuracy_check(name: str, accuracy: float | None, least: float | None, line: Line) -> Check | None:
    if least is None:
        return None
    if accuracy is None:
        return Check(name=name, passed=False, detail=f"undefined for these samples; the line is {least:.2%}")
    reached = _reaches(accuracy, least, line)
    relation = "at or above" if reached else "below"
    return Check(
        name=name, passed=reached, detail=f"{accuracy:.2%}, {relation} the line {least:.2%} ({_origin(line)})"
    )


def _screening_check(right: int, total: int, line: Line) -> Check:
    bound = wilson_upper(right, total)
    reached = _screening_meets(right, total, line)
    relation = "not below" if reached else "below"
    return Check(
        name="overall accuracy (screening)",
        passed=reached,
        detail=(
            f"{right / total:.2%}; its one-sided 95 % upper bound {bound:.2%} is {relation} the line "
            f"{line.overall or 0:.2%} ({_origin(line)})"
        ),
    )


def _origin(line: Line) -> str:
    return line.reference if line.source == "minima" else f"0.97 x {line.reference}"
