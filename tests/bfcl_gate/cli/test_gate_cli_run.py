"""`bfcl-gate run` through the command itself, on the scripted engine."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from gate_fakes import PROSE, fenced_call, native_call, scripted

from bfcl_gate.cli import main
from bfcl_gate.cli.engine import engine_settings, needed_ctx, require_room_for_gate
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.gate_file import load_gate
from bfcl_gate.identity import differing
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.scripted_engine import ScriptedEngine
from bfcl_gate.preflight import PREFLIGHT_IDS
from bfcl_gate.ruleset import QUICK
from bfcl_gate.samples import gate_samples

pytestmark = pytest.mark.usefixtures("bfcl")

run = import_module("bfcl_gate.cli.run")  # the attribute of that name is the command
IDS = [f"simple_python_{number}" for number in range(8)]
Says = Callable[[str], object]


class Gate:
    """Runs `bfcl-gate run` in this process, with a scripted engine in place of a model."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.output = folder / "out"
        self._ids, self._model = folder / "ids.txt", folder / "tiny.gguf"
        self._ids.write_text("\n".join(IDS))
        self._model.write_bytes(b"GGUF")
        self.engine: ScriptedEngine | None = None

    def _settings(self, options: EngineOptions, *_: object) -> EngineSettings:
        return EngineSettings(
            model_path=self._model,
            model_sha256="0" * 64,
            ctx=0,
            kv_type=options.kv_type,
            chat_template=options.chat_template and options.chat_template.read_text(),
        )

    def __call__(
        self, says: Says, *arguments: object, opens: Callable[..., object] | None = None
    ) -> tuple[int, str, str]:
        self.engine = scripted(IDS, says)
        self._monkeypatch.setattr(run, "engine_settings", self._settings)
        self._monkeypatch.setattr(run, "open_engine", opens or (lambda *_: self.engine))
        self._monkeypatch.setattr(
            sys, "argv", ["bfcl-gate", "run", "--sample", str(self._ids), *map(str, arguments)]
        )
        with pytest.raises(SystemExit) as left:
            main()
        out, err = self._capsys.readouterr()
        return int(left.value.code or 0), out, err

    @property
    def asked(self) -> int:
        """Questions of the gate itself, the five of the preflight left out."""
        assert self.engine is not None
        return max(0, len(self.engine.calls) - len(PREFLIGHT_IDS))


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Gate:
    return Gate(monkeypatch, capsys, tmp_path)


def mostly_right(sample_id: str) -> str:
    return PROSE if sample_id == IDS[7] else fenced_call(sample_id)


def test_a_run_reports_the_verdict_and_keeps_everything(gate: Gate) -> None:
    code, out, err = gate(mostly_right, "--min-overall", "0.8", "--output", gate.output)
    assert code == 0
    assert out.startswith("BFCL gate: PASSED (file sample, 8 answers; rules mlperf,")
    assert "overall accuracy: 87.50%, at or above the line 80.00% (explicit minima)" in out
    assert "Misses\nsimple_python_7" in out
    assert "gate: 8 of 8" in err
    manifest, result = (json.loads((gate.output / name).read_text()) for name in ("run.json", "result.json"))
    assert result["gate"]["passed"] is True
    assert result["gate"]["native"]["overall_accuracy"] == 0.0
    assert (
        result["model"]
        == manifest["model"]
        == {
            "name": "qwen2.5-coder-0.5b",
            "file": "tiny.gguf",
            "sha256": "0" * 64,
            "bytes": 4,
            "identity": "verified",
        }
    )
    assert result["engine_id"] == manifest["engine_id"]
    assert load_gate(gate.output).header["gate_id"] == result["gate_id"]  # type: ignore[index]


def test_a_missed_line_exits_1(gate: Gate) -> None:
    assert gate(mostly_right, "--min-overall", "0.9")[0] == 1


def test_without_any_line_the_mlperf_lines_apply_and_the_ways_to_another_are_named(gate: Gate) -> None:
    code, out, _ = gate(fenced_call)
    assert code == 0
    words = " ".join(out.split())
    assert "the MLPerf v6.1 lines of Qwen3.6-27B apply" in words
    assert "--baseline DIR" in words


def test_a_failed_preflight_is_a_verdict_with_a_cause_and_one_raw_answer(gate: Gate) -> None:
    code, out, _ = gate(lambda _: "\x1b[31mno", "--output", gate.output)
    assert code == 1
    assert gate.asked == 0
    assert "FAILED  preflight: no answer of five attempts a tool call" in out
    assert "\\u001b[31mno" in out
    assert json.loads((gate.output / "result.json").read_text())["gate"]["passed"] is False


def test_fenced_calls_judged_natively_fail_at_the_preflight_with_that_cause(gate: Gate) -> None:
    code, out, _ = gate(fenced_call, "--calls", "native")
    assert code == 1
    assert "--calls lenient" in out


def test_stopping_when_decided_asks_less_and_says_so(gate: Gate) -> None:
    code, out, _ = gate(native_call, "--min-overall", "0.5", "--until-decided", "--output", gate.output)
    assert (code, gate.asked) == (0, 4)
    assert "4 answers of 8" in out
    assert "Partial: stopped after 4 of 8 samples" in out
    code, out, _ = gate(native_call, "--min-overall", "0.5", "--output", gate.output, "--resume")
    assert code == 0
    assert "8 answers;" in out


def test_samples_asked_together_are_recorded_and_shown(gate: Gate) -> None:
    speed = ("--parallel", "3", "--share-prefix")
    code, out, _ = gate(mostly_right, "--min-overall", "0.8", "--output", gate.output, *speed)
    assert code == 0
    words = " ".join(out.split())
    assert "Asked for speed: 3 samples were decoded at once (--parallel), and each prompt began" in words
    manifest, result = (json.loads((gate.output / name).read_text()) for name in ("run.json", "result.json"))
    assert (result["gate"]["parallel"], result["gate"]["share_prefix"]) == (3, True)
    assert (manifest["policy"]["parallel"], manifest["policy"]["share_prefix"]) == (3, True)
    code, out, _ = gate(mostly_right, "--min-overall", "0.8", "--output", gate.output, "--resume", *speed)
    assert code == 0
    code, _, err = gate(mostly_right, "--min-overall", "0.8", "--output", gate.output, "--resume")
    assert code == 2
    assert "policy.parallel: 3 -> null" in err


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (("--endpoint", "http://127.0.0.1:1/v1"), "--parallel, --share-prefix: belongs to a local model"),
        (
            ("--speculative", "prompt-lookup"),
            "--parallel, --share-prefix: samples that are evaluated together",
        ),
    ],
)
def test_samples_cannot_be_asked_together_everywhere(gate: Gate, beside: tuple[str, str], told: str) -> None:
    code, _, err = gate(native_call, "--parallel", "2", "--share-prefix", *beside)
    assert code == 2
    assert told in err


def test_an_existing_run_is_refused_without_resume(gate: Gate) -> None:
    gate(native_call, "--output", gate.output)
    code, _, err = gate(native_call, "--output", gate.output)
    assert code == 2
    assert "--resume" in err


def test_resuming_a_finished_run_prints_its_report_and_returns_its_code_without_asking(gate: Gate) -> None:
    first = gate(mostly_right, "--min-overall", "0.9", "--output", gate.output)
    again = gate(mostly_right, "--min-overall", "0.9", "--output", gate.output, "--resume")
    assert (first[0], again[0]) == (1, 1)
    assert gate.engine is not None
    assert gate.engine.calls == []
    assert again[1].splitlines()[0] == first[1].splitlines()[0]


def test_resuming_with_other_options_is_refused_and_the_field_named(gate: Gate) -> None:
    gate(native_call, "--output", gate.output)
    code, _, err = gate(native_call, "--output", gate.output, "--resume", "--rules", "official")
    assert code == 2
    assert 'policy.rules: "mlperf" -> "official"' in err


def test_a_finished_run_answers_for_no_other_engine(gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "broken.jinja").write_text("{{ messages }}")
    gate(native_call, "--output", gate.output)
    for option, value, named in (
        ("--kv-type", "q8_0", 'asked.kv_type: "f16" -> "q8_0"'),
        ("--chat-template", tmp_path / "broken.jinja", 'asked.chat_template: null -> "'),
    ):
        code, _, err = gate(native_call, "--output", gate.output, "--resume", option, value)
        assert code == 2
        assert named in err


def test_values_differ_where_their_json_does() -> None:
    assert differing({"a": 0, "b": [1]}, {"a": False, "b": (1,)}) == ["a: 0 -> false"]
    assert differing({"a": 1}, {"a": 1.0}) == ["a: 1 -> 1.0"]


def test_resuming_a_finished_run_with_another_line_is_refused(gate: Gate) -> None:
    gate(native_call, "--min-overall", "0.9", "--output", gate.output)
    code, _, err = gate(native_call, "--min-overall", "0.5", "--output", gate.output, "--resume")
    assert code == 2
    assert "bfcl-gate score" in err


def test_an_interrupted_run_keeps_its_answers_and_says_how_to_continue(gate: Gate) -> None:
    def interrupted(sample_id: str) -> str:
        if sample_id == IDS[6]:
            raise KeyboardInterrupt
        return native_call(sample_id)

    code, out, err = gate(interrupted, "--output", gate.output)
    assert (code, out) == (130, "")
    assert "--resume" in err
    assert [answer.id for answer in load_gate(gate.output).answers] == IDS[:6]
    code, out, _ = gate(native_call, "--output", gate.output, "--resume", "--min-overall", "1")
    assert code == 0
    assert gate.engine is not None
    assert len(gate.engine.calls) == 2


def test_a_polite_kill_is_what_ctrl_c_is(gate: Gate) -> None:
    def killed(sample_id: str) -> str:
        if sample_id == IDS[6]:
            os.kill(os.getpid(), signal.SIGTERM)
        return native_call(sample_id)

    code, out, err = gate(killed, "--output", gate.output)
    assert (code, out) == (130, "")
    assert f"Interrupted. What was finished is in {gate.output}" in err
    assert [answer.id for answer in load_gate(gate.output).answers] == IDS[:6]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_end_during_the_preflight_says_how_to_continue_too(gate: Gate) -> None:
    def killed(_: str) -> str:
        raise KeyboardInterrupt

    code, _, err = gate(killed, "--output", gate.output)
    assert code == 130
    assert "continue with the same options" in err
    options = ("--output", gate.output, "--resume", "--min-overall", "1", "--rules", "official")
    assert gate(native_call, *options)[0] == 0  # nothing was answered, so other options are no other run
    manifest, result = (json.loads((gate.output / name).read_text()) for name in ("run.json", "result.json"))
    assert manifest["gate_id"] == result["gate_id"] == load_gate(gate.output).header["gate_id"]  # type: ignore[index]
    assert manifest["policy"]["rules"] == "official"


def test_the_preflight_counts_its_questions(gate: Gate) -> None:
    err = gate(native_call, "--min-overall", "0.5")[2]
    assert [line for line in err.splitlines() if line.startswith("preflight")] == [
        f"preflight: {number} of 5" for number in range(1, 6)
    ]


@pytest.mark.parametrize("below", [(), ("deeper", "still")])
def test_an_output_that_is_a_file_is_refused(gate: Gate, below: tuple[str, ...]) -> None:
    gate.output.write_text("mine")
    code, out, err = gate(native_call, "--output", gate.output.joinpath(*below))
    assert (code, out) == (2, "")
    assert f"{gate.output} is a file; expected a folder" in err
    assert gate.output.read_text() == "mine"


@pytest.mark.parametrize("error", [InputError("too large"), EngineError("gone")])
def test_a_run_that_never_begins_leaves_no_folder(gate: Gate, error: Exception) -> None:
    def refused(*_: object) -> ScriptedEngine:
        raise error

    code, _, err = gate(native_call, "--output", gate.output / "new", opens=refused)
    assert code == error.exit_code  # type: ignore[attr-defined]
    assert str(error) in err
    assert not gate.output.exists()


def test_a_junit_file_that_cannot_be_is_refused_before_anything_is_asked(gate: Gate) -> None:
    for path in (gate.output.parent, gate.output / "missing" / "gate.xml"):
        code, _, err = gate(native_call, "--junit", path)
        assert code == 2
        assert f"--junit {path}" in err
        assert gate.engine is not None
        assert gate.engine.calls == []


def test_a_finished_run_whose_journal_is_gone_is_not_believed(gate: Gate) -> None:
    gate(native_call, "--min-overall", "0.5", "--output", gate.output)
    (gate.output / "gate.jsonl").unlink()
    code, out, err = gate(native_call, "--min-overall", "0.5", "--output", gate.output, "--resume")
    assert (code, out) == (2, "")
    assert "gate.jsonl: is missing" in err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"gate": None}, "result.json: field gate is missing"),
        ({"gate": {}}, "result.json: field gate.partial is missing"),
        ({"gate": {"samples": True}}, "result.json: field gate.samples is missing or of another type"),
        ({"gate": {"overall_accuracy": 0.99}}, "states 8 answers and an overall accuracy of 0.99"),
        ({"gate": {"samples": 9}}, "states 9 answers"),
    ],
)
def test_a_finished_run_whose_result_was_altered_is_not_believed(
    gate: Gate, change: dict[str, Any], told: str
) -> None:
    gate(native_call, "--min-overall", "0.5", "--output", gate.output)
    path = gate.output / "result.json"
    result = json.loads(path.read_text())
    inner = change["gate"] and {**result["gate"], **change["gate"]}
    path.write_text(json.dumps({**result, "gate": inner if inner or inner is None else {}}))
    code, out, err = gate(native_call, "--min-overall", "0.5", "--output", gate.output, "--resume")
    assert (code, out) == (2, "")
    assert told in err


def test_the_misses_of_a_finished_run_can_be_listed_later(gate: Gate) -> None:
    first = gate(mostly_right, "--min-overall", "0.9", "--output", gate.output)
    assert gate(mostly_right, "--min-overall", "0.9", "--output", gate.output, "--resume")[:2] == first[:2]


def test_a_run_of_another_command_is_not_overwritten(gate: Gate) -> None:
    gate.output.mkdir()
    manifest = gate.output / "run.json"
    for kind, made_by in (("config_id", "edge-agentic run"), ("multi_turn_id", "bfcl-gate multi-turn")):
        manifest.write_text(json.dumps({kind: "1"}))
        code, _, err = gate(native_call, "--output", gate.output, "--resume")
        assert code == 2
        assert f"holds a run of {made_by}, which bfcl-gate run cannot continue" in err
        assert json.loads(manifest.read_text()) == {kind: "1"}


def test_a_lost_engine_exits_3_and_keeps_its_answers(gate: Gate) -> None:
    code, out, err = gate(
        lambda i: EngineError("killed by signal 9") if i == IDS[6] else native_call(i),
        "--output",
        gate.output,
    )
    assert (code, out) == (3, "")
    assert "killed by signal 9" in err
    assert "--resume" in err
    assert len(load_gate(gate.output).answers) == 6


@pytest.mark.parametrize(
    "arguments",
    [
        ("--min-overall", "50"),
        ("--rules", "mine"),
        ("--reference", "nobody"),
        ("--resume",),
        ("--max-tokens", "0"),
    ],
)
def test_bad_options_exit_2_before_anything_is_asked(gate: Gate, arguments: tuple[str, ...]) -> None:
    code, out, err = gate(native_call, *arguments)
    assert (code, out) == (2, "")
    assert gate.engine is not None
    assert gate.engine.calls == []
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            EngineOptions(endpoint="http://localhost:1", threads=2, kv_type="q8_0"),
            "--threads, --kv-type: an endpoint",
        ),
        (EngineOptions(api_key_env="KEY"), "--api-key-env"),
        (EngineOptions(kv_type="q2"), "--kv-type 'q2'"),
        (EngineOptions(flash_attn="maybe"), "--flash-attn 'maybe'"),
        (EngineOptions(speculative="much"), "--speculative 'much'"),
        (EngineOptions(reuse="all"), "--reuse 'all' is unknown; expected one of any, canonical"),
        (
            EngineOptions(special_in_content="x"),
            "--special-in-content 'x' is unknown; expected one of text, parse",
        ),
        (
            EngineOptions(endpoint="http://127.0.0.1:1", reuse="canonical", special_in_content="parse"),
            "--reuse, --special-in-content: an endpoint cannot be told this",
        ),
    ],
)
def test_engine_options_that_do_not_fit_are_refused(options: EngineOptions, told: str) -> None:
    with pytest.raises(InputError) as caught:
        engine_settings(options)
    assert told in str(caught.value)


def test_the_context_holds_the_largest_prompt_and_its_longest_answer_in_steps_of_256() -> None:
    engine = ScriptedEngine(lambda _: PROSE)
    small, large = (
        ChatRequest(messages=({"role": "user", "content": "word " * count},), max_tokens=100)
        for count in (10, 400)
    )
    prompt = engine.plan([large])[0].prompt_tokens
    assert 400 < prompt < 412
    assert needed_ctx(engine, [[small], [large]]) == 512
    assert needed_ctx(engine, [[small]]) == 256


def test_the_whole_report_of_a_run_reads_like_this(gate: Gate) -> None:
    assert gate(mostly_right, "--min-overall", "0.8")[1] == REPORT


REPORT = """\
BFCL gate: PASSED (file sample, 8 answers; rules mlperf, tool schemas mlperf, lenient calls judged)

  ok      overall accuracy: 87.50%, at or above the line 80.00% (explicit minima)

                 samples  native                   lenient (judged)
overall                8     0.00% [  0.0,  32.4]    87.50% [ 52.9,  97.8]
normalised             8     0.00% [  0.0,   0.0]    87.50% [ 62.5, 100.0]
non_live               8     0.00% [  0.0,   0.0]    87.50% [ 62.5, 100.0]
  simple_python        8     0.00% [  0.0,  32.4]    87.50% [ 52.9,  97.8]

failed requests 0, answers ended by the token limit 0, empty answers 0
intervals are 95 %: Wilson, for normalised and categories bootstrapped

- A gate of 8 samples fails a true overall accuracy of 67.0% four times in five; a smaller drop can pass
  unseen. Drawn anew, samples like these would fail this model 26.4% of the time.

Misses
simple_python_7  simple_function_checker:wrong_count  I would rather talk about it.
"""


def test_a_context_too_small_for_the_gate_is_said_before_anything_is_asked() -> None:
    policy, engine = QUICK.gate, ScriptedEngine(lambda request: "no", ctx=2_000)
    samples = gate_samples("quick")
    require_room_for_gate(EngineOptions(), engine, samples, policy)
    with pytest.raises(
        InputError, match=r"--ctx 2000: the longest prompt of the gate .* needs a context of \d+\."
    ):
        require_room_for_gate(EngineOptions(ctx=2_000), engine, samples, policy)
    require_room_for_gate(EngineOptions(ctx=32_768), engine, samples, policy)
    assert not engine.calls


@pytest.mark.parametrize("option", ["--ctx", "--max-tokens", "--gpu-layers", "--concurrency"])
def test_a_count_of_more_than_32_bits_is_refused_before_anything_is_written(
    option: str, tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "-m",
        "bfcl_gate",
        "run",
        option,
        str(2**31),
        "--output",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert option in done.stderr
    assert not (tmp_path / "run").exists()
