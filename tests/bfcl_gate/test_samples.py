import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from bfcl_gate.dataset import CATEGORIES
from bfcl_gate.errors import InputError
from bfcl_gate.samples import Sample, gate_samples, quick_ids

MLPERF_COUNTS = {
    "irrelevance": 24,
    "live_irrelevance": 88,
    "live_multiple": 105,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_simple": 25,
    "multiple": 124,
    "parallel": 124,
    "parallel_multiple": 124,
    "simple_java": 62,
    "simple_javascript": 31,
    "simple_python": 248,
}

ALL_REQUESTS = "9248d532ea043cfd236fb3ba8080b3431deeab10505e3dc760542a521aabdd99"
"""SHA-256 over the 995 request hashes, joined by newlines."""


def request_sha256(sample: Sample) -> str:
    body = json.dumps([sample.messages, sample.tools, "auto"], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()


def test_each_of_the_995_mlperf_requests_is_the_references_own(bfcl: Path, shared: Path) -> None:
    listed = json.loads((shared / "data" / "mlperf_request_fingerprints.json").read_text())["gate"]
    asked = [{"id": sample.id, "sha256": request_sha256(sample)} for sample in gate_samples()]
    assert asked == listed
    assert len(asked) == 995


def test_the_mlperf_requests_have_not_changed(bfcl: Path) -> None:
    hashes = "\n".join(request_sha256(sample) for sample in gate_samples())
    assert hashlib.sha256(hashes.encode()).hexdigest() == ALL_REQUESTS


def test_mlperf_takes_the_head_of_each_subset_in_name_order(bfcl: Path) -> None:
    samples = gate_samples("mlperf")
    assert Counter(sample.subset for sample in samples) == MLPERF_COUNTS
    assert [sample.subset for sample in samples] == sorted(sample.subset for sample in samples)
    assert (samples[0].id, samples[-1].id) == ("irrelevance_0", "simple_python_247")
    assert Counter(sample.category for sample in samples) == {
        "non_live": 713,
        "live": 170,
        "hallucination": 112,
    }


def test_full_is_everything_with_live_relevance_in_no_category(bfcl: Path) -> None:
    samples = gate_samples("full")
    assert len(samples) == 3641
    assert {sample.subset for sample in samples if sample.category is None} == {"live_relevance"}
    assert all(sample.category == CATEGORIES[sample.subset] for sample in samples)


def test_samples_are_plain_openai_json(bfcl: Path) -> None:
    for sample in gate_samples("full", tools="official"):
        assert json.loads(json.dumps([sample.messages, sample.tools])) == [sample.messages, sample.tools]
        assert all(set(message) == {"role", "content"} for message in sample.messages)
        assert all(tool["type"] == "function" for tool in sample.tools)


def test_entries_without_functions_have_no_tools(bfcl: Path) -> None:
    bare = [sample.id for sample in gate_samples("full") if sample.tools == []]
    assert bare == [f"live_irrelevance_{n}" for n in ("120-9-0", "121-9-1", "122-9-2", "123-9-3")]


def test_changing_a_sample_changes_no_later_one(bfcl: Path) -> None:
    first = gate_samples("quick")[0]
    first.tools[0]["function"]["parameters"]["properties"].clear()
    first.messages.clear()
    assert gate_samples("quick")[0].messages
    assert gate_samples("quick")[0].tools[0]["function"]["parameters"]["properties"]


def test_quick_follows_its_documented_rule(bfcl: Path) -> None:
    """Largest remainder over the subsets, then the middle of each of k equal stretches of a subset."""
    by_subset: dict[str, list[str]] = {}
    for sample in gate_samples("mlperf"):
        by_subset.setdefault(sample.subset, []).append(sample.id)
    places = {subset: len(ids) * 120 // 995 for subset, ids in by_subset.items()}
    by_remainder = sorted(by_subset, key=lambda subset: (-(len(by_subset[subset]) * 120 % 995), subset))
    for subset in by_remainder[: 120 - sum(places.values())]:
        places[subset] += 1
    expected = [
        ids[(2 * i + 1) * len(ids) // (2 * places[subset])]
        for subset, ids in by_subset.items()
        for i in range(places[subset])
    ]
    assert quick_ids() == tuple(expected)
    assert [sample.id for sample in gate_samples("quick")] == expected
    assert len(set(expected)) == 120


def test_a_file_of_ids_is_asked_in_its_own_order(bfcl: Path, tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("simple_python_3\n\n  live_relevance_0-0-0\t\nirrelevance_1")
    assert [sample.id for sample in gate_samples(ids)] == [
        "simple_python_3",
        "live_relevance_0-0-0",
        "irrelevance_1",
    ]
    assert gate_samples(str(ids)) == gate_samples(ids)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("simple_python_0\nsimple_pyhton_1\n", r"ids\.txt:2: .*simple_pyhton_1"),
        ("simple_python_0\n\nsimple_python_0\n", r"ids\.txt:3: .*line 1"),
        ("\n \n", "no sample id"),
    ],
)
def test_a_bad_file_of_ids_is_refused_naming_the_line(
    bfcl: Path, tmp_path: Path, text: str, complaint: str
) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text(text)
    with pytest.raises(InputError, match=complaint):
        gate_samples(ids)


def test_an_unknown_sample_is_refused_naming_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mlperf, quick, full"):
        gate_samples("mlpref")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="text file"):
        gate_samples(tmp_path / "binary")
    with pytest.raises(InputError, match="text file"):
        gate_samples("nul\0byte")


def test_unknown_tool_schemas_are_refused() -> None:
    with pytest.raises(InputError, match="mlperf, official"):
        gate_samples(tools="openai")
