"""22,778 mutated answers with the verdicts of the official checker and of MLPerf's scorer (null: it died)."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bfcl_gate.marks import judge

CORPUS = Path(__file__).with_name("official_verdicts.jsonl.gz")


def cases() -> Iterator[dict[str, Any]]:
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def message(calls: list[dict[str, Any]] | str | None) -> dict[str, Any]:
    if not isinstance(calls, list):
        return {"role": "assistant", "content": calls}
    tool_calls = [{"type": "function", "function": call} for call in calls]
    return {"role": "assistant", "content": None, "tool_calls": tool_calls}


def test_official_rules_give_the_official_verdict_and_error_type(bfcl: Path) -> None:
    judged, died = 0, Counter[str | None]()
    for case in cases():
        mark = judge(case["id"], message(case["calls"]), rules="official")
        if case["official_valid"] is None:
            died[mark.error] += 1
            continue
        assert (mark.correct, mark.error) == (case["official_valid"], case["official_error_type"]), case
        judged += 1
    assert judged == 22_776
    assert died == {"gate_error:number_out_of_range": 2}


def test_mlperf_rules_give_mlperfs_score(bfcl: Path) -> None:
    judged, died = 0, Counter[str | None]()
    for case in cases():
        mark = judge(case["id"], message(case["calls"]))
        if isinstance(case["mlperf"], str):
            died[mark.error] += 1
            continue
        assert mark.correct == bool(case["mlperf"]), case
        judged += 1
    assert judged == 22_678
    assert died == {"gate_error:arguments_not_an_object": 98, "gate_error:number_out_of_range": 2}
