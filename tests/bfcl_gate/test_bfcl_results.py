"""The official evaluator's layout, both ways: proved by the evaluator's own code out of the pinned wheel."""

import gzip
import json
from collections import Counter
from errno import ENOSPC
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bfcl_evaluator import Evaluator
from bfcl_upstream import Upstream
from gate_fakes import PROSE, fenced_call, native_call, samples_of, scripted

from bfcl_gate.bfcl_export import MODEL_NAME, export_responses
from bfcl_gate.bfcl_results import result_row, write_results
from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.gate import ask_and_keep
from bfcl_gate.readings import Reply
from bfcl_gate.responses import Response, Responses, load_responses, mark_responses
from bfcl_gate.ruleset import GatePolicy

pytestmark = pytest.mark.usefixtures("bfcl")

OFFICIAL = GatePolicy(sample="partial", rules="official", calls="native")
CORPUS = Path(__file__).parent / "checker" / "official_verdicts.jsonl.gz"


@pytest.fixture(scope="session")
def evaluator(upstream: Upstream, bfcl: Path) -> Evaluator:
    return Evaluator(upstream, bfcl)


@cache
def rounds() -> tuple[dict[str, dict[str, Any]], ...]:
    """Sets of id -> message out of the corpus of mutated answers, each id at most once a set."""
    found: list[dict[str, dict[str, Any]]] = []
    times = Counter[str]()
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            if case["official_valid"] is None:
                continue
            if times[case["id"]] == len(found):
                found.append({})
            found[times[case["id"]]][case["id"]] = message(case["calls"])
            times[case["id"]] += 1
    return tuple(found)


def message(calls: list[dict[str, Any]] | str | None) -> dict[str, Any]:
    if not isinstance(calls, list):
        return {"role": "assistant", "content": calls, "tool_calls": None}
    spoken = [{**call, "arguments": text(call["arguments"])} for call in calls]
    return {"content": None, "tool_calls": [{"type": "function", "function": call} for call in spoken]}


def text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def marked(responses: Responses) -> dict[str, tuple[bool, str | None]]:
    return {answer.id: (answer.correct, answer.mark_error) for answer in mark_responses(responses, OFFICIAL)}


def responses_of(messages: dict[str, dict[str, Any]]) -> Responses:
    return Responses(
        rows=tuple(
            Response(id=name, case=None, where="test", reply=Reply(text=said["content"], message=said))
            for name, said in messages.items()
        )
    )


def test_the_official_evaluator_gives_exported_answers_the_verdicts_we_give(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    judged = 0
    for number, messages in enumerate(rounds()[:3]):
        responses, folder = responses_of(messages), tmp_path / str(number)
        files = export_responses(responses, OFFICIAL, folder)
        assert all(file.is_relative_to(folder / MODEL_NAME) for file in files)
        verdicts = evaluator.evaluate(folder)
        assert verdicts == marked(responses)
        judged += len(verdicts)
    assert judged == 9_798


def test_results_that_the_official_handler_stored_get_the_official_verdicts(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    messages = rounds()[2]
    for name, said in messages.items():
        evaluator.store(tmp_path, name, said)
    assert marked(load_responses(tmp_path)) == evaluator.evaluate(tmp_path)
    assert len(messages) == 2_516


def test_an_exported_run_reads_back_as_the_same_answers(tmp_path: Path) -> None:
    ids = [f"simple_python_{number}" for number in range(4)]
    says = dict(zip(ids, (native_call(ids[0]), fenced_call(ids[1]), PROSE, ""), strict=True))
    policy = GatePolicy(sample="partial", max_tokens=64)
    (tmp_path / "run").mkdir()
    journal = tmp_path / "run" / "gate.jsonl"
    run = tuple(ask_and_keep(scripted(ids, says.__getitem__), samples_of(ids), policy, journal))
    export_responses(load_responses(tmp_path / "run"), policy, tmp_path / "out", "some/model")
    again = mark_responses(load_responses(tmp_path / "out"), policy)
    assert [answer.correct for answer in run] == [True, True, False, False]
    assert [answer.correct for answer in again] == [True, True, False, False]
    assert [answer.tool_calls for answer in again] == [answer.tool_calls for answer in run]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["some_model"]


def test_native_and_lenient_readings_are_exported_apart(tmp_path: Path) -> None:
    reply = Reply(
        text=fenced_call("simple_python_0"), syntax="hermes", output_tokens=3, latency_ns=2_000_000_000
    )
    responses = Responses(rows=(Response(id="simple_python_0", case=None, where="test", reply=reply),))
    rows = {}
    for calls in ("native", "lenient"):
        (file,) = export_responses(responses, GatePolicy(calls=calls), tmp_path / calls)
        rows[calls] = json.loads(file.read_text())
    assert rows["native"]["result"] == fenced_call("simple_python_0")
    assert [list(call) for call in rows["lenient"]["result"]] == [["calculate_triangle_area"]]
    assert rows["lenient"]["output_token_count"] == 3
    assert rows["lenient"]["latency"] == 2.0
    assert "input_token_count" not in rows["lenient"]


def test_a_failed_request_stays_failed_both_ways(tmp_path: Path) -> None:
    failed = Response(id="irrelevance_0", case=None, where="test", reply=Reply(text=None, error="timeout"))
    export_responses(Responses(rows=(failed,)), OFFICIAL, tmp_path)
    (row,) = load_responses(tmp_path).rows
    assert row.reply.error == "timeout"
    assert marked(load_responses(tmp_path)) == {"irrelevance_0": (False, "gate_error:request_failed")}


def stored(folder: Path, *rows: object, name: str = "BFCL_v4_irrelevance_result.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return folder / name


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("prose", {"content": "prose", "tool_calls": None}),
        (None, {"content": None, "tool_calls": None}),
        ([], {"content": None, "tool_calls": []}),
        ([{"f": '{"x": 1}'}], [{"name": "f", "arguments": '{"x": 1}'}]),
        ([{"f": {"x": 1}}], [{"name": "f", "arguments": {"x": 1}}]),
        ([{"f": "{}", "g": "{}"}], [{"name": "f", "arguments": "{}"}]),
    ],
)
def test_each_layout_of_a_result_becomes_a_message(tmp_path: Path, result: object, said: object) -> None:
    (row,) = load_responses(stored(tmp_path, {"id": "irrelevance_0", "result": result})).rows
    if isinstance(said, list):
        said = {"content": None, "tool_calls": [{"type": "function", "function": call} for call in said]}
    assert row.reply.message == {"role": "assistant", **said}  # type: ignore[dict-item]


def test_reasoning_is_kept_beside_the_content(tmp_path: Path) -> None:
    row = {"id": "irrelevance_0", "result": "prose", "reasoning_content": "hm"}
    (found,) = load_responses(stored(tmp_path, row)).rows
    assert found.reply.message is not None
    assert found.reply.message["reasoning_content"] == "hm"


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("{", "column 2 is not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ([1], "expected an object"),
        ({"id": "irrelevance_1"}, "expected an object"),
        ({"id": "irrelevance_1", "result": 5}, "field 'result' is 5"),
        ({"id": "irrelevance_1", "result": ["f"]}, "field 'result' holds"),
        ({"id": "irrelevance_1", "result": [{}]}, "field 'result' holds"),
        ({"result": "prose"}, "field 'id' is null"),
        ({"id": "simple_0", "result": "prose"}, "field 'id': 'simple_0' is not"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, second: object, told: str) -> None:
    file = stored(tmp_path, {"id": "irrelevance_0", "result": "prose"}, second)
    with pytest.raises(InputError) as caught:
        mark_responses(load_responses(tmp_path), OFFICIAL)
    assert str(caught.value).startswith(f"{file}:2: ")
    assert told in str(caught.value)


def test_other_categories_are_left_out_and_named(tmp_path: Path) -> None:
    stored(tmp_path / "multi_turn", {"id": "multi_turn_base_0"}, name="BFCL_v4_multi_turn_base_result.json")
    with pytest.raises(InputError, match="no results of a single-turn category"):
        load_responses(tmp_path)
    stored(tmp_path / "non_live", {"id": "irrelevance_0", "result": "prose"})
    found = load_responses(tmp_path)
    assert [row.id for row in found.rows] == ["irrelevance_0"]
    assert found.skipped == ("multi_turn_base",)


def test_results_of_two_models_are_not_mixed(tmp_path: Path) -> None:
    for model in ("a", "b"):
        stored(tmp_path / model / "non_live", {"id": "irrelevance_0", "result": "prose"})
    with pytest.raises(InputError, match="Give the folder of that model"):
        load_responses(tmp_path)


def test_nothing_is_overwritten_and_no_id_exported_twice(tmp_path: Path) -> None:
    rows = [result_row("irrelevance_0", {"content": "prose"}, None)]
    write_results(tmp_path, "m", rows)
    with pytest.raises(InputError, match="already holds results"):
        write_results(tmp_path, "m", rows)
    answer = Response(id="irrelevance_0", case=1, where="test", reply=Reply(text="prose"))
    with pytest.raises(InputError, match="answered more than once"):
        export_responses(Responses(rows=(answer, answer)), OFFICIAL, tmp_path / "twice")


@pytest.mark.parametrize("name", ["", "..", ".", " ", "a\\b", "a\nb"])
def test_a_model_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="--model-name"):
        write_results(tmp_path, name, [result_row("irrelevance_0", {"content": "prose"}, None)])


def test_a_disk_that_refuses_is_a_source_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(SourceError, match="cannot write the results \\(No space left"):
        write_results(tmp_path, "m", [result_row("irrelevance_0", {"content": "prose"}, None)])


def test_a_file_in_the_place_of_the_folder_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file; expected a folder"):
        write_results(tmp_path / "file", "m", [result_row("irrelevance_0", {"content": "prose"}, None)])
