"""Many conversations: kept one by one, continued, and counted."""

from pathlib import Path

import pytest
from multi_turn_fakes import Model, model, truth

from bfcl_gate.errors import InputError
from bfcl_gate.journal import Journal, read_journal
from bfcl_gate.multi_turn.data import SUBSETS, conversations
from bfcl_gate.multi_turn.entries import JOURNAL, Played, ask_and_keep, chosen, header, kept
from bfcl_gate.multi_turn.runner import Policy
from bfcl_gate.multi_turn.scores import multi_turn_object, multi_turn_text

pytestmark = pytest.mark.usefixtures("bfcl")


def expected(*numbers: int) -> Model:
    """A model that answers the numbered conversations of `base` as expected."""
    return model(turn for number in numbers for turn in truth(conversations("base")[number]))


def row(subset: str, number: int, error: str | None = None) -> Played:
    return Played(
        id=f"multi_turn_{subset}_{number}",
        subset=subset,
        correct=error is None,
        error=error,
        detail=error,
        turn=None if error is None else 0,
        steps=1,
        input_tokens=None,
        output_tokens=3,
        latency_ns=5,
        result=([["Done."]],),
    )


def test_each_conversation_is_on_disk_before_the_next_and_a_resumed_run_asks_the_rest(tmp_path: Path) -> None:
    path, entries = tmp_path / JOURNAL, conversations("base")[:2]
    begun = ask_and_keep(expected(0), entries, Policy(), path)
    assert next(begun).correct
    begun.close()  # type: ignore[attr-defined]
    first, done = kept(path)
    assert first is not None
    assert list(done) == ["multi_turn_base_0"]
    second = expected(1)
    rows = list(ask_and_keep(second, entries, Policy(), path))
    assert [(found.id, found.correct) for found in rows] == [
        ("multi_turn_base_0", True),
        ("multi_turn_base_1", True),
    ]
    assert second.requests[0].messages[0] == entries[1].turns[0][0]
    assert rows[0] == done["multi_turn_base_0"]


def test_more_conversations_continue_a_run_and_other_settings_do_not(tmp_path: Path) -> None:
    path, entries = tmp_path / JOURNAL, conversations("base")[:1]
    list(ask_and_keep(expected(0), entries, Policy(), path))
    with pytest.raises(InputError, match='calls: "lenient" -> "native"'):
        list(ask_and_keep(expected(0), entries, Policy(calls="native"), path))
    with pytest.raises(InputError, match="max_tokens: 1024 -> 5"):
        list(ask_and_keep(expected(0), entries, Policy(max_tokens=5), path))
    assert len(list(ask_and_keep(expected(1), conversations("base")[:2], Policy(), path))) == 2


def test_a_journal_of_something_else_is_refused(tmp_path: Path) -> None:
    for number, rows in enumerate(([{"id": "x"}], [header(expected().info(), Policy()), {"id": "x"}])):
        with Journal(tmp_path / f"{number}") as journal:
            journal.extend(rows)
        with pytest.raises(InputError, match=str(number)):
            kept(tmp_path / f"{number}")


@pytest.mark.parametrize(
    ("change", "told"),
    [({"result": 5}, "field result is '5', which is of another type"), ({"id": 5}, "field id is '5'")],
)
def test_a_row_of_another_shape_is_named_by_line_and_field(
    tmp_path: Path, change: dict[str, object], told: str
) -> None:
    path = tmp_path / JOURNAL
    list(ask_and_keep(expected(0), conversations("base")[:1], Policy(), path))
    first, row = read_journal(path)
    path.unlink()
    with Journal(path) as journal:
        journal.extend([first, {**row, **change}])
    with pytest.raises(InputError, match=rf"{JOURNAL}:2: ") as caught:
        kept(path)
    assert told in str(caught.value)


def test_a_limit_takes_the_head_of_each_subset() -> None:
    assert [found.id for found in chosen(None, 1)] == [f"multi_turn_{name}_0" for name in SUBSETS]
    assert [found.id for found in chosen("miss_param", 2)] == [
        "multi_turn_miss_param_0",
        "multi_turn_miss_param_1",
    ]
    assert len(chosen("long_context", None)) == 200
    with pytest.raises(InputError, match="--subset 'all' is unknown"):
        chosen("all", None)


def test_accuracy_is_per_subset_and_the_mean_needs_all_of_all_four() -> None:
    rows = [row("base", 0), row("base", 1, "multi_turn:force_terminated"), row("miss_func", 0)]
    found = multi_turn_object(rows, Policy())
    assert {name: subset["accuracy"] for name, subset in found["subsets"].items()} == {
        "base": 0.5,
        "miss_func": 1.0,
    }
    assert (found["samples"], found["multi_turn_accuracy"]) == (3, None)
    assert found["errors"] == {"multi_turn:force_terminated": 1}
    assert "base           50.00% [  9.5,  90.5]      1/2  first 2 of 200" in multi_turn_text(found)


def test_the_mean_of_four_whole_subsets_is_the_leaderboards_figure() -> None:
    error = {"base": None, "miss_func": "e", "miss_param": "e", "long_context": "e"}
    rows = [row(name, number, error[name]) for name in SUBSETS for number in range(200)]
    found = multi_turn_object(rows, Policy())
    assert found["multi_turn_accuracy"] == 0.25
    assert "mean           25.00%" in multi_turn_text(found)
    assert "  600  e" in multi_turn_text(found)
