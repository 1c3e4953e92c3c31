"""Transfers speak on stderr only: quarters in a log, a bar on a terminal that leaves nothing behind."""

import io
import sys

import pytest

from bfcl_gate.cli.progress import transfer


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_at_each_quarter(capsys: pytest.CaptureFixture[str]) -> None:
    for done in range(101):
        transfer("a model", done * 1_000_000, 100_000_000)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [f"a model: {share} % of 100 MB" for share in (0, 25, 50, 75, 100)]


def test_a_log_hears_nothing_of_small_or_unmeasured_transfers(capsys: pytest.CaptureFixture[str]) -> None:
    transfer("small", 1, 2)
    transfer("unmeasured", 1 << 40, None)
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_sizes_and_stdout_stays_free(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal)
    transfer("a [bold]model\x1b[2J", 50_000_000, 100_000_000)
    sys.stdout.write("a result\n")
    transfer("a [bold]model\x1b[2J", 100_000_000, 100_000_000)
    assert capsys.readouterr().out == "a result\n"
    assert "a [bold]model\\x1b[2J" in terminal.getvalue()
    assert "100.0/100.0 MB" in terminal.getvalue()
    assert sys.stderr is terminal
