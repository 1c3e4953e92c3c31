"""Both commands say which version they are."""

import sys
from collections.abc import Callable
from importlib.metadata import version

import pytest

from bfcl_gate.cli import main as gate_main
from edge_agentic.cli import main


@pytest.mark.parametrize(("command", "name"), [(main, "edge-agentic"), (gate_main, "bfcl-gate")])
def test_a_command_says_its_version(
    command: Callable[[], None],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--version"])
    with pytest.raises(SystemExit) as left:
        command()
    assert left.value.code == 0
    assert capsys.readouterr().out == f"{name} {version('edge-agentic')}\n"


@pytest.mark.parametrize("command", [main, gate_main])
def test_help_lists_the_sub_commands(
    command: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["command", "--help"])
    with pytest.raises(SystemExit):
        command()
    said = capsys.readouterr().out
    assert "--version" in said
    assert "\n  run " in said
