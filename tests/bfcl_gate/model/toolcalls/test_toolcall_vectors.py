"""The collected answers of every family, beside the checkout, are read as they say."""

import json
from pathlib import Path
from typing import Any

import pytest

from bfcl_gate.model.toolcalls import ParsedAnswer, parse_tool_calls

MODES = ("native", "lenient")


@pytest.fixture(scope="module")
def vectors(shared: Path) -> list[dict[str, Any]]:
    tools = json.loads((shared / "data" / "toolcall_vectors_tools.json").read_text(encoding="utf-8"))
    lines = (shared / "data" / "toolcall_vectors.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [{**row, "tools": [tools[name] for name in row["tools"]]} for row in rows]


def read(row: dict[str, Any], syntax: str, mode: str) -> ParsedAnswer:
    prefix, finish = row["prefix"], row["finish"]
    return parse_tool_calls(row["raw"], row["tools"], syntax=syntax, mode=mode, prefix=prefix, finish=finish)


def parts(answer: ParsedAnswer) -> dict[str, Any]:
    return {
        "calls": [{"name": call.name, "arguments": call.arguments} for call in answer.calls],
        "content": answer.content,
        "reasoning": answer.reasoning,
        "error": answer.error,
    }


def test_there_are_ninety_of_them(vectors: list[dict[str, Any]]) -> None:
    assert len(vectors) == 90


@pytest.mark.parametrize("mode", MODES)
def test_native_answers_are_read_by_their_family_and_by_auto(
    vectors: list[dict[str, Any]], mode: str
) -> None:
    native = [row for row in vectors if row["mode"] == "native"]
    for syntax in (None, "auto"):
        found = {row["id"]: parts(read(row, syntax or row["family"], mode)) for row in native}
        assert found == {row["id"]: row["expect"] for row in native}


@pytest.mark.parametrize("syntax", [None, "auto"])
def test_other_answers_are_read_leniently(vectors: list[dict[str, Any]], syntax: str | None) -> None:
    lenient = [row for row in vectors if row["mode"] == "lenient"]
    found = {row["id"]: parts(read(row, syntax or row["family"], "lenient")) for row in lenient}
    assert found == {row["id"]: row["expect"] for row in lenient}


def test_other_answers_hold_no_native_call(vectors: list[dict[str, Any]]) -> None:
    lenient = [row for row in vectors if row["mode"] == "lenient"]
    assert {row["id"]: read(row, row["family"], "native").calls for row in lenient} == {
        row["id"]: () for row in lenient
    }


def test_native_is_true_for_native_calls_and_false_for_the_others(vectors: list[dict[str, Any]]) -> None:
    with_calls = [row for row in vectors if row["expect"]["calls"]]
    found = {row["id"]: read(row, row["family"], "lenient").native for row in with_calls}
    assert found == {row["id"]: row["mode"] == "native" for row in with_calls}
