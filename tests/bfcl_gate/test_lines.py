"""Which line applies, and what it is."""

from pathlib import Path

import pytest
from gate_fakes import answer

from bfcl_gate.errors import InputError
from bfcl_gate.gate_file import rescored_header
from bfcl_gate.journal import Journal
from bfcl_gate.lines import Line, LineOptions, resolve_line
from bfcl_gate.references import Reference
from bfcl_gate.ruleset import GatePolicy

MODEL = "a" * 64
IDS = ["irrelevance_0", "live_simple_0-0-0", "simple_python_0", "simple_python_1"]
LENIENT, NATIVE = GatePolicy(calls="lenient"), GatePolicy(calls="native")


def reference(name: str = "tiny", right: int = 4, **changes: object) -> Reference:
    """Marks on IDS: natively nothing is right, leniently the first `right` are."""
    values: dict[str, object] = {
        "name": name,
        "model": "tiny",
        "model_sha256": MODEL,
        "rules": "mlperf",
        "tool_schemas": "mlperf",
        "bfcl_sha256": "b" * 64,
        "checker_version": 1,
        "build": "b1",
        "date": "2026-01-01",
        "settings": {},
        "native": dict.fromkeys(IDS, False),
        "lenient": {sample_id: index < right for index, sample_id in enumerate(IDS)},
    }
    return Reference(**{**values, **changes})  # type: ignore[arg-type]


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    """A run with two of four right leniently, none natively."""
    answers = [answer(sample_id, False, index < 2) for index, sample_id in enumerate(IDS)]
    with Journal(tmp_path / "gate.jsonl") as journal:
        journal.append(rescored_header(None, LENIENT, IDS))
        journal.extend(a.to_row() for a in answers)
    return tmp_path


def resolve(options: LineOptions, policy: GatePolicy = LENIENT, sha256: str | None = MODEL) -> Line:
    return resolve_line(
        options, IDS, policy, sha256, [reference(), reference("other", 3, model_sha256="c" * 64)]
    )


@pytest.mark.parametrize(
    ("minima", "with_baseline", "named", "sha256", "source", "overall"),
    [
        (0.5, True, "other", MODEL, "minima", 0.5),
        (None, True, "other", MODEL, "baseline", 0.97 * 2 / 4),
        (None, False, "other", MODEL, "reference", 0.97 * 3 / 4),
        (None, False, None, MODEL, "table", 0.97),
        (None, False, None, "c" * 64, "table", 0.97 * 3 / 4),
        (None, False, None, "d" * 64, "mlperf", 0.97 * 0.8623),
        (None, False, None, None, "mlperf", 0.97 * 0.8623),
    ],
)
def test_the_first_line_that_was_given_applies(
    baseline: Path,
    minima: float | None,
    with_baseline: bool,
    named: str | None,
    sha256: str | None,
    source: str,
    overall: float,
) -> None:
    options = LineOptions(baseline=baseline if with_baseline else None, reference=named, min_overall=minima)
    line = resolve(options, sha256=sha256)
    assert (line.source, line.overall) == (source, pytest.approx(overall))


def test_minima_are_taken_as_given_and_what_is_not_given_is_not_judged() -> None:
    line = resolve(LineOptions(min_normalized=0.25))
    assert (line.source, line.overall, line.normalized) == ("minima", None, 0.25)


def test_minima_beside_a_baseline_keep_its_marks_for_comparison(baseline: Path) -> None:
    line = resolve(LineOptions(min_overall=0.1, baseline=baseline))
    assert line.source == "minima"
    assert line.marks == {sample_id: index < 2 for index, sample_id in enumerate(IDS)}


def test_normalised_is_the_mean_of_the_categories_on_these_ids(baseline: Path) -> None:
    # hallucination 1/1, live 1/1, non_live 0/2
    assert resolve(LineOptions(baseline=baseline)).normalized == pytest.approx(0.97 * 2 / 3)


def test_figures_are_taken_in_the_judged_mode() -> None:
    assert resolve(LineOptions(), NATIVE).overall == 0.0
    assert resolve(LineOptions(), LENIENT).overall == pytest.approx(0.97)


def test_figures_are_taken_on_the_ids_of_this_run() -> None:
    table = [reference(right=2)]
    line = resolve_line(LineOptions(), IDS[:2], LENIENT, MODEL, table)
    assert line.overall == pytest.approx(0.97)


@pytest.mark.parametrize("value", [1.01, 85, -0.1, float("nan"), float("inf")])
def test_a_minimum_that_is_no_fraction_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="--min-overall"):
        LineOptions(min_overall=value)
    with pytest.raises(InputError, match="--min-normalized"):
        LineOptions(min_normalized=value)


def test_an_unknown_reference_is_refused_with_the_known_names() -> None:
    with pytest.raises(InputError, match="known references: other, tiny"):
        resolve(LineOptions(reference="nobody"))


@pytest.mark.parametrize("policy", [GatePolicy(rules="official"), GatePolicy(tool_schemas="official")])
def test_other_rules_or_tool_schemas_are_not_comparable(baseline: Path, policy: GatePolicy) -> None:
    for options in (LineOptions(baseline=baseline), LineOptions(reference="tiny")):
        with pytest.raises(InputError, match="not comparable"):
            resolve(options, policy)


def test_the_table_holds_one_entry_for_each_pair_of_rules_and_tool_schemas() -> None:
    table = [reference(right=4), reference(right=1, rules="official")]
    line = resolve_line(LineOptions(), IDS, GatePolicy(rules="official"), MODEL, table)
    assert line.overall == pytest.approx(0.97 / 4)
    named = resolve_line(LineOptions(reference="tiny"), IDS, GatePolicy(rules="official"), None, table)
    assert named.overall == pytest.approx(0.97 / 4)


def test_stored_marks_must_hold_every_id(baseline: Path) -> None:
    for options in (LineOptions(baseline=baseline), LineOptions(reference="tiny"), LineOptions()):
        with pytest.raises(InputError, match=r"no mark for 1 of 5 samples .*simple_python_7"):
            resolve_line(options, [*IDS, "simple_python_7"], LENIENT, MODEL, [reference()])


def test_the_mlperf_line_says_how_to_give_another() -> None:
    line = resolve_line(LineOptions(), IDS, LENIENT, None, [])
    assert line.percent_decimals == 2
    assert line.note is not None
    assert all(way in line.note for way in ("--baseline", "--reference", "--min-overall", "--output"))


def test_a_baseline_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        resolve(LineOptions(baseline=tmp_path))
