"""271 hand-made edge cases with the official checker's verdict and MLPerf's (null: it raises there)."""

import json
from pathlib import Path
from typing import Any

import pytest
from bfcl_upstream import Upstream

from bfcl_gate.checker import mlperf_error, official_error
from bfcl_gate.dataset import Entry

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("edge_cases.jsonl").read_text(encoding="utf-8").splitlines()
]


def entry_of(case: dict[str, Any]) -> Entry:
    return Entry(
        id="edge_case_0",
        subset=case["subset"],
        messages=(),
        functions=tuple(case["functions"]),
        answers=tuple(case["answers"]),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_official_rules(case: dict[str, Any]) -> None:
    error = official_error(entry_of(case), case["message"])
    if case["official"] is None:
        assert error is not None
        assert error.startswith("gate_error:")
    else:
        assert (error is None, error) == (case["official"], case["error"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_mlperf_rules(case: dict[str, Any]) -> None:
    error = mlperf_error(entry_of(case), case["message"])
    if case["mlperf"] is None:
        assert error is not None
        assert error.startswith("gate_error:")
    else:
        assert (error is None) == case["mlperf"]


def test_the_stored_verdicts_are_those_of_the_official_code(upstream: Upstream) -> None:
    assert len(CASES) == 271
    for case in CASES:
        valid, error = upstream.verdict(case["subset"], case["functions"], case["answers"], case["message"])
        assert valid == case["official"], case["case"]
        assert valid is None or error == case["error"], case["case"]
