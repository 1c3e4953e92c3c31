"""A whole run on the scripted engine: order, files, verdicts, interruption and resume."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bfcl_gate.answers import Answer
from bfcl_gate.dataset import entry
from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.journal import read_journal
from bfcl_gate.lines import Line, LineOptions
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.scripted_engine import ScriptedEngine
from bfcl_gate.ruleset import QUICK, GatePolicy
from bfcl_gate.samples import Sample, gate_samples
from edge_agentic.benchmark import Job, Watch, run_benchmark
from edge_agentic.prior_gate import accept_gate
from edge_agentic.replay import Event, ReplayOptions, TurnPlan, select_turns
from edge_agentic.report.document import check_result
from edge_agentic.report.stored import load_run
from edge_agentic.trace import find_trace, load_trajectories

pytestmark = pytest.mark.usefixtures("bfcl")
IDS = tuple(f"simple_python_{n}" for n in range(8))


def call_text(sample_id: str) -> str:
    """Return the expected call of a sample in the syntax the scripted engine's template asks for."""
    (expected,) = entry(sample_id).answers
    ((name, parameters),) = expected.items()
    arguments = {key: given[0] for key, given in parameters.items() if given[0] != ""}
    call = json.dumps({"name": name.replace(".", "_"), "arguments": arguments})
    return f"<tool_call> {call} </tool_call>"


class Model:
    """Answers BFCL samples rightly except those in `wrong`, anything else with prose; may fail at a call."""

    def __init__(self, *, wrong: Iterable[str] = (), prose: bool = False, fail_at: int | None = None) -> None:
        self._wrong, self._prose, self._fail_at = set(wrong), prose, fail_at
        self._ids = {
            sample.messages[-1]["content"]: sample.id for sample in gate_samples() if sample.id in IDS
        }
        self._count = 0

    def __call__(self, request: ChatRequest) -> str | EngineError:
        self._count += 1
        if self._count == self._fail_at:
            raise KeyboardInterrupt
        known = self._ids.get(request.messages[-1]["content"])
        if known is None or self._prose or known in self._wrong:
            return "I would rather talk about it."
        return call_text(known)


def quiet() -> Watch:
    def turns(events: Iterable[Event], left: Sequence[TurnPlan]) -> Iterable[Event]:
        return events

    def answers(items: Iterable[Answer], label: str, total: int) -> Iterator[Answer]:
        yield from items

    return Watch(turns=turns, answers=answers)


def job(*, decode: str = "natural", limit: int | None = 4, **changes: Any) -> Job:
    options = ReplayOptions(decode=decode)
    path = find_trace("smoke")
    by_id: dict[str, Sample] = {sample.id: sample for sample in gate_samples()}
    made = Job(
        ruleset=QUICK,
        replay=options,
        policy=GatePolicy(sample="quick"),
        line=Line(source="minima", reference="explicit minima", overall=0.9, normalized=0.9),
        selected=select_turns(load_trajectories(path), options, limit),
        samples=tuple(by_id[name] for name in IDS),
        model={"name": "scripted", "sha256": "0" * 64, "bytes": 1},
        model_path=None,
        trace={"name": "smoke", "sha256": "1" * 64},
        options={"max_tokens": 1024, "gpu_layers": 0},
        reduced=True,
    )
    return replace(made, **changes)


def engine(model: Model) -> ScriptedEngine:
    return ScriptedEngine(model, ctx=100_000)


def go(folder: Path, model: Model, the_job: Job | None = None) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    return run_benchmark(the_job or job(), engine(model), folder, quiet())


def test_a_passed_gate_gives_performance_and_a_checked_result(tmp_path: Path) -> None:
    result = go(tmp_path, Model())
    check_result(result, "result")
    assert result["gate"]["passed"] is True
    assert result["gate"]["overall_accuracy"] == 1.0
    assert result["performance"]["turns"] == {"issued": 4, "completed": 4, "dropped": 0}
    assert json.loads((tmp_path / "result.json").read_text()) == result
    assert load_run(tmp_path).result == result


def test_the_order_is_preflight_warm_up_replay_gate(tmp_path: Path) -> None:
    scripted = engine(Model())
    run_benchmark(job(), scripted, tmp_path, quiet())
    asked = [request.messages[-1]["content"][:12] for request in scripted.calls]
    first_five = [gate_sample.messages[-1]["content"][:12] for gate_sample in job().samples[:5]]
    assert asked[:5] == first_five
    assert asked[5] == "Count the fi"
    assert len(asked) == 5 + 1 + 4 + len(IDS)
    kinds = [row.get("_type", "turn") for row in read_journal(tmp_path / "turns.jsonl")]
    assert kinds == ["header", "warmup", "turn", "turn", "turn", "turn"]
    assert [row["_type"] for row in read_journal(tmp_path / "telemetry.jsonl")] == ["before", "after"]


def test_a_failed_gate_withholds_performance_and_keeps_the_readings(tmp_path: Path) -> None:
    result = go(tmp_path, Model(wrong=IDS[3:]))
    assert result["gate"]["passed"] is False
    assert result["performance"] is None
    assert len([row for row in read_journal(tmp_path / "turns.jsonl") if "_type" not in row]) == 4


def test_a_model_that_never_calls_a_tool_ends_before_the_replay(tmp_path: Path) -> None:
    result = go(tmp_path, Model(prose=True))
    assert (result["gate"]["passed"], result["performance"]) == (False, None)
    assert result["gate"]["checks"][0]["name"] == "preflight"
    assert [row["_type"] for row in read_journal(tmp_path / "turns.jsonl")] == ["header"]


@pytest.mark.parametrize("decode", ["natural", "forced"])
@pytest.mark.parametrize("fail_at", [7, 8, 10, 11, 14])
def test_an_interrupted_run_resumes_to_the_same_turns_and_marks(
    tmp_path: Path, decode: str, fail_at: int
) -> None:
    the_job = job(decode=decode)
    whole = go(tmp_path / "whole", Model(), the_job)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "cut", Model(fail_at=fail_at), the_job)
    kept = _turns(tmp_path / "cut")
    resumed = go(tmp_path / "cut", Model(), the_job)
    again = _turns(tmp_path / "cut")
    assert again[: len(kept)] == kept
    assert [row["turn"] for row in again] == [row["turn"] for row in _turns(tmp_path / "whole")]
    assert resumed["gate"]["overall_accuracy"] == whole["gate"]["overall_accuracy"]
    assert resumed["performance"]["prefix_reuse"]["ratio"] == 1.0


def _turns(folder: Path) -> list[dict[str, Any]]:
    return [row for row in read_journal(folder / "turns.jsonl") if "_type" not in row]


def test_a_run_of_other_options_is_not_continued(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, Model(fail_at=8))
    with pytest.raises(InputError, match=r"decode: \"natural\" -> \"forced\""):
        go(tmp_path, Model(), job(decode="forced"))


def test_a_run_that_ended_before_its_first_turn_is_not_continued_as_another(tmp_path: Path) -> None:
    go(tmp_path, Model())
    (tmp_path / "result.json").unlink()
    (tmp_path / "turns.jsonl").unlink()
    with pytest.raises(InputError, match=r"run\.json was made by another run .* max_tokens: "):
        go(tmp_path, Model(), job(limit=4, replay=ReplayOptions(decode="natural", max_tokens=9)))


def test_another_limit_continues_the_same_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, Model(fail_at=11), job(limit=4))
    result = go(tmp_path, Model(), job(limit=6))
    assert result["performance"]["turns"]["issued"] == 6
    assert result["valid"] is True


def test_an_earlier_gate_stands_in_for_asking_again(tmp_path: Path) -> None:
    earlier = go(tmp_path / "gate", Model())["gate"]
    scripted = engine(Model())
    (tmp_path / "run").mkdir()
    result = run_benchmark(job(prior_gate=earlier), scripted, tmp_path / "run", quiet())
    assert result["gate"] == earlier
    assert result["performance"]["turns"]["completed"] == 4
    assert len(scripted.calls) == 1 + 4


def test_an_earlier_gate_that_failed_ends_the_run_before_the_replay(tmp_path: Path) -> None:
    earlier = go(tmp_path / "gate", Model(wrong=IDS[3:]))["gate"]
    scripted = engine(Model())
    (tmp_path / "run").mkdir()
    result = run_benchmark(job(prior_gate=earlier), scripted, tmp_path / "run", quiet())
    assert (result["gate"]["passed"], result["performance"], scripted.calls) == (False, None, [])


def test_a_gate_asked_together_is_recorded_and_not_taken_for_one_asked_alone(tmp_path: Path) -> None:
    alone = GatePolicy(sample="quick")
    together = replace(alone, parallel=3, share_prefix=True)
    result = go(tmp_path, Model(), job(policy=together))
    check_result(result, "result")
    assert (result["gate"]["parallel"], result["gate"]["share_prefix"]) == (3, True)
    assert any("3 samples were decoded at once" in note for note in result["gate"]["notes"])
    info, line = engine(Model()).info(), LineOptions(min_overall=0.9)
    assert accept_gate(tmp_path, info, together, IDS, line, None)["passed"] is True
    with pytest.raises(InputError, match=r"parallel: 3 -> 1; share_prefix: true -> false"):
        accept_gate(tmp_path, info, alone, IDS, line, None)


def test_a_limit_that_leaves_out_answered_turns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, Model(fail_at=10), job(limit=6))
    with pytest.raises(InputError, match=r"answered turns, \d+ of them beyond this --limit"):
        go(tmp_path, Model(), job(limit=1))


@pytest.mark.parametrize("keep", [0, 4])
def test_a_report_refuses_a_gate_that_its_journal_does_not_hold(tmp_path: Path, keep: int) -> None:
    go(tmp_path, Model())
    gate = tmp_path / "gate.jsonl"
    gate.write_bytes(b"".join(gate.read_bytes().splitlines(keepends=True)[: 1 + keep]))
    with pytest.raises(InputError, match=rf"gate: 8 samples, .* holds {keep} answers"):
        load_run(tmp_path)
