"""Names and paths of traces, and the facade."""

import hashlib
from pathlib import Path

import pytest
from trace_rows import small, write

import edge_agentic
from bfcl_gate.errors import InputError
from edge_agentic.trace import bundled_traces, find_trace


def test_a_bundled_trace_is_found_by_name() -> None:
    assert find_trace("smoke") == bundled_traces()["smoke"]
    assert find_trace("smoke").name == "smoke.jsonl"


def test_a_path_is_itself(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", small())
    assert find_trace(path) == find_trace(str(path)) == path


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"nosuch: there is no such trace file.*one of .*smoke, mlperf"):
        find_trace("nosuch")


def test_the_sums_beside_the_bundled_traces_are_theirs() -> None:
    folder = find_trace("smoke").parent
    lines = (folder / "SHA256SUMS").read_text("ascii").splitlines()
    assert lines == [
        f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}" for p in sorted(folder.glob("*.jsonl"))
    ]


def test_the_facade_knows_its_names_only() -> None:
    assert edge_agentic.load_trajectories is edge_agentic.trace.load_trajectories
    assert edge_agentic.agreement.score({}, {}) is None
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        edge_agentic.nosuch  # noqa: B018
