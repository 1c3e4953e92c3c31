"""Whole reports of the small run, compared with what is kept in tests/data/report.

After a wanted change: UPDATE_GOLDEN=1 python -m pytest tests/edge_agentic/test_report_golden.py, then read the diff.
"""

import json
import os
from pathlib import Path

import pytest
from fake_run import result, turns, write_run

from edge_agentic.report.comparison import compare
from edge_agentic.report.comparison_text import render_comparison
from edge_agentic.report.console import render_text
from edge_agentic.report.csv import render_csv
from edge_agentic.report.document import ungated_performance
from edge_agentic.report.html import render_html
from edge_agentic.report.stored import load_run, result_of

GOLDEN = Path(__file__).resolve().parent.parent / "data" / "report"


def same(name: str, text: str) -> bool:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("passed", [True, False])
def test_text(passed: bool) -> None:
    assert same("passed.txt" if passed else "failed.txt", render_text(result(passed=passed)))


def test_text_shown_ungated() -> None:
    ungated = ungated_performance(turns())
    assert same("ungated.txt", render_text(result(passed=False), show_ungated=ungated))


def test_text_of_an_interrupted_run(tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path, finished=False, answered=2))
    assert same("interrupted.txt", render_text(result_of(run)))


def test_json() -> None:
    assert same("passed.json", json.dumps(result(), indent=2) + "\n")


def test_html() -> None:
    assert same("passed.html", render_html(result(), turns()))


def test_csv() -> None:
    assert same("passed.csv", render_csv(turns(), gated=True))


def test_comparison(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b", slower=1.5)
    assert same("comparison.txt", render_comparison(compare(load_run(a), load_run(b))))
