"""`bfcl-gate multi-turn` through the command itself, on a model that answers as expected."""

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

import pytest
from gate_fakes import PROSE
from multi_turn_fakes import model, truth

from bfcl_gate.cli import main
from bfcl_gate.errors import EngineError
from bfcl_gate.model.engine import Engine, EngineSettings
from bfcl_gate.model.scripted_engine import ScriptedEngine
from bfcl_gate.multi_turn.data import conversations

pytestmark = pytest.mark.usefixtures("bfcl")

command = import_module("bfcl_gate.cli.multi_turn")


class Command:
    """Runs `bfcl-gate multi-turn` in this process, with the given engine in place of a model."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.output, self._model = folder / "out", folder / "tiny.gguf"
        self._model.write_bytes(b"GGUF")
        self.opened: list[EngineSettings] = []

    def __call__(self, engine: Engine, *arguments: object) -> tuple[int, str, str]:
        settings = EngineSettings(model_path=self._model, model_sha256="0" * 64, ctx=0)
        self._monkeypatch.setattr(command, "engine_settings", lambda *_: settings)
        self._monkeypatch.setattr(
            command, "open_engine", lambda found, _: (self.opened.append(found), engine)[1]
        )
        self._monkeypatch.setattr(sys, "argv", ["bfcl-gate", "multi-turn", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = self._capsys.readouterr()
        return int(left.value.code or 0), out, err


@pytest.fixture
def multi_turn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    return Command(monkeypatch, capsys, tmp_path)


def prose() -> ScriptedEngine:
    return ScriptedEngine(lambda _: PROSE, ctx=100_000)


def test_accuracy_is_shown_kept_and_not_judged(multi_turn: Command) -> None:
    base = conversations("base")
    engine = model([*truth(base[0]), []])
    code, out, _ = multi_turn(engine, "--subset", "base", "--limit", 2, "--output", multi_turn.output)
    assert code == 0
    assert "BFCL v4 multi-turn: 2 conversations, lenient calls; shown, not judged" in out
    assert "base           50.00%" in out
    assert multi_turn.opened[0].ctx == 32_768
    result = json.loads((multi_turn.output / "result.json").read_text())
    assert result["multi_turn"]["subsets"]["base"]["correct"] == 1
    assert result["multi_turn"]["errors"] == {"multi_turn:empty_turn_model_response": 1}
    assert len(result["multi_turn_id"]) == 64
    assert "gate" not in result


def test_without_a_subset_every_one_is_played(multi_turn: Command) -> None:
    code, out, _ = multi_turn(prose(), "--limit", 1)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:6]] == [
        "base",
        "miss_func",
        "miss_param",
        "long_context",
    ]


def test_a_broken_run_says_how_it_continues(multi_turn: Command) -> None:
    def gone(_: object) -> EngineError:
        return EngineError("gone")

    arguments = ("--subset", "base", "--limit", 1, "--output", multi_turn.output)
    code, _, err = multi_turn(ScriptedEngine(gone, ctx=100_000), *arguments)
    assert code == 3
    assert "continue with the same options, --output" in err
    assert multi_turn(prose(), *arguments)[0] == 2
    assert multi_turn(prose(), *arguments, "--resume")[0] == 0


def test_a_polite_kill_keeps_what_was_finished(multi_turn: Command) -> None:
    answers = iter([PROSE, *[None] * 9])

    def killed(_: object) -> str:
        if next(answers) is None:
            os.kill(os.getpid(), signal.SIGTERM)
        return PROSE

    arguments = ("--subset", "base", "--limit", 2, "--output", multi_turn.output)
    code, out, err = multi_turn(ScriptedEngine(killed, ctx=100_000), *arguments)
    assert (code, out) == (130, "")
    assert f"Interrupted. What was finished is in {multi_turn.output}" in err
    assert multi_turn(prose(), *arguments, "--resume")[0] == 0


def test_an_output_that_is_a_file_is_refused(multi_turn: Command) -> None:
    multi_turn.output.write_text("mine")
    code, _, err = multi_turn(prose(), "--limit", 1, "--output", multi_turn.output)
    assert code == 2
    assert "is a file; expected a folder" in err
    assert multi_turn.opened == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--subset", "all"), "--subset 'all' is unknown"),
        (("--calls", "both"), "--calls 'both' is unknown"),
        (("--resume",), "--resume needs --output"),
    ],
)
def test_wrong_options_are_refused_before_a_model_is_loaded(
    multi_turn: Command, arguments: tuple[str, ...], told: str
) -> None:
    code, out, err = multi_turn(prose(), *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert multi_turn.opened == []
