"""The line a model must reach, resolved in one fixed order; the first that was given applies.

1. explicit minima, taken as given
2. 0.97 x the figures of a baseline run, 3. of a named reference, 4. of the reference table's entry for the
   same (model SHA-256, rules, tool schemas) - each taken from stored marks on the ids of this run
5. the MLPerf v6.1 lines
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bfcl_gate.answers import marks_of
from bfcl_gate.errors import InputError
from bfcl_gate.gate_file import load_gate
from bfcl_gate.references import Reference, load_references
from bfcl_gate.ruleset import LINE_FACTOR, MLPERF_FIGURES, GatePolicy
from bfcl_gate.scoring import accuracies
from bfcl_gate.words import count

WAYS = (
    "give this model its own line with --baseline DIR (a run made with --output), --reference NAME, or "
    "--min-overall X --min-normalized X"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """The line options as they were given; minima are fractions. Raises InputError for others."""

    baseline: Path | None = None
    reference: str | None = None
    min_overall: float | None = None
    min_normalized: float | None = None

    def __post_init__(self) -> None:
        for option, value in (("--min-overall", self.min_overall), ("--min-normalized", self.min_normalized)):
            if value is not None and not 0 <= value <= 1:
                raise InputError(
                    f"{option} {value:g}: expected a fraction from 0 to 1, for example 0.85 for 85 %."
                )

    def given(self) -> bool:
        """Return whether any line option was given."""
        return any(
            value is not None
            for value in (self.baseline, self.reference, self.min_overall, self.min_normalized)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The least accuracies that pass, as fractions; None is not judged.

    `source` is minima, baseline, reference, table or mlperf, `reference` names it for readers.
    `reference_overall` is the overall accuracy that the line is a share of. `percent_decimals` 2 compares
    percentages rounded to two decimals, as MLPerf's own checker does; None compares the fractions. `marks`
    are the stored marks to compare with, sample by sample. `note` is what the reader should know.
    """

    source: str
    reference: str
    overall: float | None
    normalized: float | None
    reference_overall: float | None = None
    percent_decimals: int | None = None
    marks: Mapping[str, bool] | None = None
    note: str | None = None


def resolve_line(
    options: LineOptions,
    ids: Sequence[str],
    policy: GatePolicy,
    model_sha256: str | None,
    references: Sequence[Reference] | None = None,
) -> Line:
    """Return the line for answers to `ids` (one entry an answer) judged under `policy`.

    `references` replaces the package's table. Raises InputError for a baseline or reference of other
    rules or tool schemas, an unknown name, and stored marks that lack one of the ids.
    """
    baseline = None if options.baseline is None else baseline_marks(options.baseline, policy)
    if options.min_overall is not None or options.min_normalized is not None:
        return Line(
            source="minima",
            reference="explicit minima",
            overall=options.min_overall,
            normalized=options.min_normalized,
            marks=baseline,
        )
    if options.baseline is not None and baseline is not None:
        return _share_of("baseline", f"baseline {options.baseline.resolve().name}", baseline, ids)
    table = load_references() if references is None else references
    if options.reference is not None:
        found = _named(table, options.reference, policy)
        return _share_of("reference", f"reference {found.name}", _judged(found, policy), ids)
    for entry in table:
        if (entry.model_sha256, entry.rules, entry.tool_schemas) == (
            model_sha256,
            policy.rules,
            policy.tool_schemas,
        ):
            return _share_of("table", f"reference {entry.name}", _judged(entry, policy), ids)
    return _mlperf_line(policy)


def baseline_marks(folder: Path, policy: GatePolicy) -> dict[str, bool]:
    """Return the marks of a stored gate in the judged mode, by sample id.

    Raises InputError where it was made under other rules or tool schemas.
    """
    stored = load_gate(folder)
    if stored.header is None:
        raise InputError(f"{stored.path}: has no header, so its rules are unknown; expected a bfcl-gate run.")
    rules, schemas = str(stored.header.get("rules")), str(stored.header.get("tool_schemas"))
    _require_comparable(f"--baseline {folder}", rules, schemas, policy)
    return dict(marks_of(stored.answers, policy.calls))


def _require_comparable(what: str, rules: str, tool_schemas: str, policy: GatePolicy) -> None:
    if (rules, tool_schemas) != (policy.rules, policy.tool_schemas):
        raise InputError(
            f"{what} was judged under rules {rules} and tool schemas {tool_schemas}, this run under rules "
            f"{policy.rules} and tool schemas {policy.tool_schemas}; such accuracies are not comparable. Use "
            "the same --rules and --tool-schemas."
        )


def _named(table: Sequence[Reference], name: str, policy: GatePolicy) -> Reference:
    named = [entry for entry in table if entry.name == name]
    if not named:
        known = ", ".join(sorted({entry.name for entry in table})) or "none"
        raise InputError(f"--reference {name!r} is unknown; known references: {known}.")
    for entry in named:
        if (entry.rules, entry.tool_schemas) == (policy.rules, policy.tool_schemas):
            return entry
    _require_comparable(f"--reference {name}", named[0].rules, named[0].tool_schemas, policy)
    return named[0]


def _judged(entry: Reference, policy: GatePolicy) -> Mapping[str, bool]:
    return entry.native if policy.calls == "native" else entry.lenient


def _share_of(source: str, name: str, marks: Mapping[str, bool], ids: Sequence[str]) -> Line:
    missing = [sample_id for sample_id in ids if sample_id not in marks]
    if missing:
        raise InputError(
            f"{name} holds no mark for {len(missing):,} of {count(len(ids), 'sample')} asked here (the first is "
            f"{missing[0]}); expected marks for every one. Choose a sample it covers, or {WAYS}."
        )
    overall, normalized = accuracies((sample_id, marks[sample_id]) for sample_id in ids)
    return Line(
        source=source,
        reference=name,
        overall=LINE_FACTOR * overall,
        normalized=None if normalized is None else LINE_FACTOR * normalized,
        reference_overall=overall,
        marks=marks,
    )


def _mlperf_line(policy: GatePolicy) -> Line:
    figures = MLPERF_FIGURES
    note = (
        f"No reference is known for this model under rules {policy.rules} and tool schemas "
        f"{policy.tool_schemas}, so the MLPerf v6.1 lines of {figures.model} apply (995 samples, native "
        f"calls, mlperf rules); {WAYS}."
    )
    return Line(
        source="mlperf",
        reference=f"MLPerf v6.1 {figures.model}",
        overall=LINE_FACTOR * figures.overall_percent / 100,
        normalized=LINE_FACTOR * figures.normalized_percent / 100,
        reference_overall=figures.overall_percent / 100,
        percent_decimals=2,
        note=note,
    )
