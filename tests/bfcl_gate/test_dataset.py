from pathlib import Path
from typing import Any

import pytest

from bfcl_gate.dataset import CATEGORIES, WITHOUT_ANSWERS, Entry, entries, entry
from bfcl_gate.errors import InputError

COUNTS = {
    "irrelevance": 240,
    "live_irrelevance": 884,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_relevance": 16,
    "live_simple": 258,
    "multiple": 200,
    "parallel": 200,
    "parallel_multiple": 200,
    "simple_java": 100,
    "simple_javascript": 50,
    "simple_python": 400,
}


def everything() -> list[Entry]:
    return [found for subset in CATEGORIES for found in entries(subset)]


def test_thirteen_subsets_hold_3641_entries_with_distinct_ids(bfcl: Path) -> None:
    assert {subset: len(entries(subset)) for subset in CATEGORIES} == COUNTS
    assert len({found.id for found in everything()}) == sum(COUNTS.values()) == 3641


def test_subsets_stand_in_name_order() -> None:
    assert list(CATEGORIES) == sorted(CATEGORIES)


def test_every_entry_but_the_irrelevance_ones_has_answers_about_its_own_functions(bfcl: Path) -> None:
    for found in everything():
        assert bool(found.answers) == (found.subset not in WITHOUT_ANSWERS)
        names = {function["name"] for function in found.functions}
        assert {name for answer in found.answers for name in answer} <= names


def test_an_entry_is_found_by_its_id(bfcl: Path) -> None:
    found = entry("live_simple_19-3-15")
    assert (found.subset, found.id) == ("live_simple", "live_simple_19-3-15")
    assert found.messages[-1]["role"] == "user"


@pytest.mark.parametrize(
    "unknown", ["simple_python_400", "multi_turn_base_0", "simple_python", "", "x\x1b[2J"]
)
def test_an_unknown_id_is_refused_with_an_example_of_a_known_one(bfcl: Path, unknown: str) -> None:
    with pytest.raises(InputError, match="simple_python_0") as refusal:
        entry(unknown)
    assert "\x1b" not in str(refusal.value)


def test_no_published_answer_has_a_shape_that_the_comparison_could_not_read(bfcl: Path) -> None:
    """Text where alternatives are expected occurs once; it is read letter by letter."""
    as_text = {
        found.id
        for found in everything()
        for answer in found.answers
        for alternatives in answer.values()
        for allowed in alternatives.values()
        if not all(is_readable(alternative) for alternative in allowed)
    }
    assert as_text == {"simple_java_64"}


def is_readable(alternative: Any) -> bool:
    if isinstance(alternative, dict):
        return all(isinstance(allowed, list) for allowed in alternative.values())
    return True


def test_no_answer_comes_near_the_bounds_of_the_text_extractor(bfcl: Path) -> None:
    """It reads at most 1,000 calls, each of at most 20,000 characters."""
    assert max(len(found.answers) for found in everything()) == 8
    assert max(len(repr(answer)) for found in everything() for answer in found.answers) < 5_000
