"""Asking: order, empty caches, failures, and a journal that continues where it stopped."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from gate_fakes import PROSE, Endpoint, fenced_call, native_call, said, samples_of, scripted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl_gate.answers import REQUEST_FAILED
from bfcl_gate.decision import until_decided
from bfcl_gate.errors import ContextOverflowError, EngineError, InputError
from bfcl_gate.gate import ask, ask_all, ask_and_keep, gate_request
from bfcl_gate.gate_file import load_gate
from bfcl_gate.identity import engine_id, gate_fields, gate_id
from bfcl_gate.journal import read_journal
from bfcl_gate.lines import Line
from bfcl_gate.model.scripted_engine import ScriptedEngine
from bfcl_gate.ruleset import GatePolicy

pytestmark = pytest.mark.usefixtures("bfcl")

IDS = [f"simple_python_{number}" for number in range(4)]
POLICY = GatePolicy(max_tokens=64)


def right() -> ScriptedEngine:
    return scripted(IDS, native_call)


def test_a_request_holds_the_samples_words_and_tools_and_leaves_the_choice_to_the_model() -> None:
    (sample,) = samples_of(IDS[:1])
    request = gate_request(sample, POLICY)
    assert list(request.messages) == sample.messages
    assert list(request.tools) == sample.tools
    assert (request.max_tokens, request.tool_choice, request.forced) == (64, "auto", False)


def test_every_sample_is_asked_once_in_order_from_an_empty_cache() -> None:
    engine = right()
    asked_twice = [sample for sample in samples_of(IDS) for _ in range(2)]
    reused = []
    generate = engine.generate
    engine.generate = lambda request, keep=0: (reused.append(r := generate(request, keep)), r)[1]  # type: ignore[assignment, func-returns-value]
    answers = list(ask(engine, asked_twice, POLICY))
    assert [answer.id for answer in answers] == [sample_id for sample_id in IDS for _ in range(2)]
    assert [call.messages[-1]["content"] for call in engine.calls] == [
        sample.messages[-1]["content"] for sample in asked_twice
    ]
    assert [response.reused_tokens for response in reused] == [0] * 8  # type: ignore[attr-defined]


def test_an_answer_carries_its_readings() -> None:
    (answer, *_) = ask(right(), samples_of(IDS[:1]), POLICY)
    assert answer.correct is True
    assert answer.finish_reason == "stop"
    assert answer.output_tokens == len(native_call(IDS[0]).split()) + 1
    assert answer.latency_ns is not None
    assert answer.latency_ns > 0


def test_a_failed_request_is_a_wrong_answer_and_the_gate_goes_on() -> None:
    engine = Endpoint(said(error="HTTP 500"), said("prose"))
    first, second = ask(engine, samples_of(["irrelevance_0", "irrelevance_1"]), POLICY)
    assert (first.error, first.mark_error, first.correct) == ("HTTP 500", REQUEST_FAILED, False)
    assert (second.error, second.correct) == (None, True)


def test_at_an_endpoint_one_lost_request_is_wrong_and_the_next_is_asked() -> None:
    engine = Endpoint(EngineError("connection reset"), said("prose"), EngineError("reset again"))
    answers = list(ask(engine, samples_of(["irrelevance_0", "irrelevance_1", "irrelevance_2"]), POLICY))
    assert [answer.error for answer in answers] == ["connection reset", None, "reset again"]
    assert [answer.correct for answer in answers] == [False, True, False]


def test_at_an_endpoint_two_lost_requests_in_a_row_mean_it_is_gone_and_neither_is_counted() -> None:
    engine = Endpoint(said("prose"), EngineError("reset"), EngineError("refused"))
    answers = ask(engine, samples_of(["irrelevance_0", "irrelevance_1", "irrelevance_2"]), POLICY)
    assert next(answers).id == "irrelevance_0"
    with pytest.raises(EngineError, match="refused"):
        next(answers)


def test_a_local_engine_that_is_gone_ends_the_gate_at_once_and_keeps_what_was_answered(
    tmp_path: Path,
) -> None:
    dying = scripted(IDS, lambda i: EngineError("killed") if i == IDS[2] else native_call(i))
    path = tmp_path / "gate.jsonl"
    with pytest.raises(EngineError, match="killed"):
        list(ask_and_keep(dying, samples_of(IDS), POLICY, path))
    assert [answer.id for answer in load_gate(path).answers] == IDS[:2]


def test_a_prompt_that_does_not_fit_is_bad_input() -> None:
    with pytest.raises(ContextOverflowError):
        list(ask(scripted(IDS, native_call, ctx=10), samples_of(IDS), POLICY))


def test_what_a_server_said_is_judged_as_it_was_said() -> None:
    arguments = '{"base": 10, "height": 5}'
    engine = Endpoint(said(None, [("calculate_triangle_area", arguments)]), said(fenced_call(IDS[0])))
    stated, content = ask(engine, samples_of([IDS[0], IDS[0]]), POLICY)
    assert (stated.correct_native, stated.correct_lenient) == (True, True)
    assert (content.correct_native, content.correct_lenient) == (False, True)


def test_the_journal_begins_with_the_gate_id_and_everything_it_hashes(tmp_path: Path) -> None:
    engine, path = right(), tmp_path / "gate.jsonl"
    list(ask_and_keep(engine, samples_of(IDS), POLICY, path))
    header = load_gate(path).header
    assert header is not None
    assert header["gate_id"] == gate_id(engine.info(), POLICY, IDS)
    assert header["engine_id"] == engine_id(engine.info())
    assert header["engine"] == dict(engine.info().identity)
    assert (header["rules"], header["tool_schemas"], header["calls"]) == ("mlperf", "mlperf", "lenient")
    assert (header["max_tokens"], header["syntax"]) == (64, "hermes")


def test_each_answer_is_on_disk_before_the_next_is_asked(tmp_path: Path) -> None:
    path, on_disk = tmp_path / "gate.jsonl", []

    def watched(sample_id: str) -> str:
        on_disk.append([answer.id for answer in load_gate(path).answers])
        return native_call(sample_id)

    list(ask_and_keep(scripted(IDS, watched), samples_of(IDS), POLICY, path))
    assert on_disk == [IDS[:count] for count in range(4)]


@given(stop=st.integers(0, 4), torn=st.integers(0, 40))
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_interrupted_gate_continues_to_the_very_same_file(
    tmp_path_factory: pytest.TempPathFactory, stop: int, torn: int
) -> None:
    whole, cut = (tmp_path_factory.mktemp("gate") / "gate.jsonl" for _ in range(2))
    answers = list(ask_and_keep(right(), samples_of(IDS), POLICY, whole))
    lines = whole.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(lines[: stop + 1]) + b"".join(lines[stop + 1 :])[:torn])
    engine = right()
    continued = list(ask_and_keep(engine, samples_of(IDS), POLICY, cut))
    assert [answer.id for answer in continued] == IDS
    assert [answer.correct for answer in continued] == [answer.correct for answer in answers]
    assert len(engine.calls) == 4 - stop
    assert [a.to_row() | {"latency_ns": 0} for a in load_gate(cut).answers] == [
        a.to_row() | {"latency_ns": 0} for a in load_gate(whole).answers
    ]


def test_a_finished_gate_is_not_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    first = list(ask_and_keep(right(), samples_of(IDS), POLICY, path))
    engine = right()
    assert list(ask_and_keep(engine, samples_of(IDS), POLICY, path)) == first
    assert engine.calls == []


LENGTHS = {IDS[0]: 9, IDS[1]: 1, IDS[2]: 5, IDS[3]: 2}
"""Words before the call: the scripted engine gives the shortest answer under way first."""

TOGETHER = GatePolicy(max_tokens=64, parallel=3)


def of_lengths(last: str | None = None) -> ScriptedEngine:
    """Right answers of different lengths; the engine is killed at the sample `last`."""

    def says(sample_id: str) -> object:
        killed = sample_id == last
        return EngineError("killed") if killed else "so " * LENGTHS[sample_id] + native_call(sample_id)

    return scripted(IDS, says)


def ids_on_disk(path: Path) -> list[object]:
    return [row["id"] for row in read_journal(path) if "_type" not in row]


def test_samples_together_are_answered_in_order_and_marked_as_alone(tmp_path: Path) -> None:
    policies = [POLICY, TOGETHER, GatePolicy(max_tokens=64, share_prefix=True)]
    found = [list(ask_all(of_lengths(), samples_of(IDS), policy)) for policy in policies]
    assert [answer.id for answer in found[1]] == IDS
    plain = [[a.to_row() | {"latency_ns": 0} for a in answers] for answers in found]
    assert plain[0] == plain[1] == plain[2]


def test_an_answer_is_on_disk_when_it_is_finished_and_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    answers = ask_and_keep(of_lengths(), samples_of(IDS), TOGETHER, path)
    first = next(answers)
    assert first.id == IDS[0]
    assert ids_on_disk(path) == [IDS[1], IDS[3], IDS[2], IDS[0]]
    assert [first, *answers] == list(load_gate(path).answers)
    assert [answer.id for answer in load_gate(path).answers] == IDS


def test_an_engine_lost_among_samples_together_keeps_the_finished_and_the_rest_is_asked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gate.jsonl"
    with pytest.raises(EngineError, match="killed"):
        list(ask_and_keep(of_lengths(last=IDS[3]), samples_of(IDS), TOGETHER, path))
    assert ids_on_disk(path) == [IDS[1]]
    engine = of_lengths()
    assert [answer.id for answer in ask_and_keep(engine, samples_of(IDS), TOGETHER, path)] == IDS
    assert len(engine.calls) == 3


def test_a_verdict_reached_early_is_the_same_together_and_alone(tmp_path: Path) -> None:
    half = Line(source="minima", reference="explicit minima", overall=0.5, normalized=None)
    found = [
        list(until_decided(ask_all(of_lengths(), samples_of(IDS), p), IDS, half, screening=False))
        for p in (POLICY, TOGETHER)
    ]
    assert [[(a.id, a.correct) for a in answers] for answers in found] == [
        [(sample_id, True) for sample_id in IDS[:2]]
    ] * 2


def test_only_samples_evaluated_together_say_so_in_their_gate_id() -> None:
    info = right().info()
    ways = [POLICY, TOGETHER, GatePolicy(max_tokens=64, share_prefix=True)]
    fields = [gate_fields(engine_id(info), policy, IDS) for policy in ways]
    assert "parallel" not in fields[0]
    assert [f["parallel"] for f in fields[1:]] == [3, 1]
    assert [f["share_prefix"] for f in fields[1:]] == [False, True]
    assert len({gate_id(info, policy, IDS) for policy in ways}) == 3


def others() -> Iterator[tuple[str, dict[str, object], GatePolicy, list[str]]]:
    yield 'calls: "lenient" -> "native"', {}, GatePolicy(max_tokens=64, calls="native"), IDS
    yield "max_tokens: 64 -> 65", {}, GatePolicy(max_tokens=65), IDS
    yield 'rules: "mlperf" -> "official"', {}, GatePolicy(max_tokens=64, rules="official"), IDS
    yield "parallel: null -> 3", {}, TOGETHER, IDS
    yield "share_prefix: null -> true", {}, GatePolicy(max_tokens=64, share_prefix=True), IDS
    yield "samples_sha256", {}, POLICY, IDS[:3]
    yield 'engine.kv_type: null -> "q8_0"', {"kv_type": "q8_0"}, POLICY, IDS


@pytest.mark.parametrize(("told", "identity", "policy", "ids"), list(others()), ids=lambda v: str(v)[:20])
def test_another_gate_is_refused_and_the_differing_field_named(
    tmp_path: Path, told: str, identity: dict[str, object], policy: GatePolicy, ids: list[str]
) -> None:
    path = tmp_path / "gate.jsonl"
    list(ask_and_keep(right(), samples_of(IDS), POLICY, path))
    engine = scripted(IDS, native_call, identity=identity)
    with pytest.raises(InputError) as caught:
        list(ask_and_keep(engine, samples_of(ids), policy, path))
    assert told in str(caught.value)
    assert engine.calls == []


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    path.write_text('{"id": "x"}\n')
    with pytest.raises(InputError):
        list(ask_and_keep(right(), samples_of(IDS), POLICY, path))


def test_prose_is_asked_like_anything_else() -> None:
    answers = list(ask(scripted(IDS, lambda _: PROSE), samples_of(IDS), POLICY))
    assert [answer.correct for answer in answers] == [False] * 4


def test_a_crash_inside_the_header_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    path.write_bytes(b'{"_type":"hea')
    assert len(list(ask_and_keep(right(), samples_of(IDS), POLICY, path))) == 4
    assert load_gate(path).header is not None
