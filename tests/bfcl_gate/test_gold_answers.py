import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from bfcl_gate.dataset import entry
from bfcl_gate.marks import judge
from bfcl_gate.samples import Sample, gate_samples
from bfcl_gate.scoring import score

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bfcl_gold_answers.py"

UNANSWERABLE = {
    "simple_java_36": "value_error:list/tuple",  # elements of type any stay text, the answer holds numbers
    "simple_java_65": "value_error:list/tuple",
    "live_simple_106-63-0": "type_error:simple",  # a required list without any alternative
    "live_simple_112-68-0": "type_error:simple",
    "live_multiple_862-181-3": "simple_function_checker:missing_optional",  # the schema lacks the parameter
    "live_multiple_964-207-0": "simple_function_checker:missing_required",  # the answer lacks a required one
}


@pytest.fixture(scope="module")
def gold() -> ModuleType:
    spec = spec_from_file_location("bfcl_gold_answers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("rules", ["mlperf", "official"])
def test_bfcls_own_answers_miss_only_what_no_call_can_answer(
    bfcl: Path, gold: ModuleType, rules: str
) -> None:
    marks = {
        sample.id: judge(sample.id, gold.gold_message(entry(sample.id)), rules=rules)
        for sample in gate_samples("full")
    }
    assert {sample_id: mark.error for sample_id, mark in marks.items() if not mark.correct} == UNANSWERABLE


def test_the_ceiling_of_the_gate_is_994_of_995(bfcl: Path, gold: ModuleType) -> None:
    scores = score(
        (sample.id, judge(sample.id, gold.gold_message(entry(sample.id))).correct)
        for sample in gate_samples()
    )
    assert (scores.correct, scores.samples) == (994, 995)
    assert round(100 * scores.overall, 2) == 99.90


def test_values_in_the_declared_json_types_fail_most_of_java_and_javascript(bfcl: Path) -> None:
    """The typed schemas and the checker, which wants source text, contradict each other."""
    right = {"simple_java": 0, "simple_javascript": 0}
    for sample in gate_samples():
        if sample.subset in right:
            right[sample.subset] += judge(sample.id, typed_message(sample)).correct
    assert right == {"simple_java": 38, "simple_javascript": 13}


def typed_message(sample: Sample) -> dict[str, object]:
    """Return the first real alternatives in the JSON types the tool declares, not as source text."""
    [answer] = entry(sample.id).answers
    [tool] = sample.tools
    properties = tool["function"]["parameters"]["properties"]
    name, alternatives = next(iter(answer.items()))
    arguments = {}
    for parameter, allowed in alternatives.items():
        value = next((value for value in allowed if value != ""), "")
        if isinstance(value, dict):
            value = {key: choices[0] for key, choices in value.items() if "" not in choices}
        if properties[parameter]["type"] == "string" and not isinstance(value, str):
            value = json.dumps(value)
        if value != "":
            arguments[parameter] = value
    return {"tool_calls": [{"function": {"name": name.replace(".", "_"), "arguments": arguments}}]}


def test_the_script_writes_one_response_a_sample(bfcl: Path, tmp_path: Path) -> None:
    out = tmp_path / "gold.jsonl"
    command = [sys.executable, str(SCRIPT), str(out), "--sample", "quick"]
    subprocess.run(command, check=True, cwd=SCRIPT.parent.parent, env=environment())
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [sample.id for sample in gate_samples("quick")]
    assert all(judge(row["id"], row["message"]).correct for row in rows)


def test_the_script_explains_itself_without_arguments() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], check=False, capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 2
    assert "OUT.jsonl" in done.stderr


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SCRIPT.parent.parent)}
