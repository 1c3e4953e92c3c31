"""What the doctor says of a model and a machine, from facts laid out by hand."""

from dataclasses import replace
from pathlib import Path

import pytest
from fake_run import snapshots
from tiny_gguf import write_gguf

from bfcl_gate.model.model_file import GgufInfo, read_gguf
from edge_agentic.doctor import (
    Need,
    context_finding,
    disk_finding,
    kv_bytes,
    machine_findings,
    memory_finding,
    offload_finding,
    template_finding,
    threads_finding,
)

NEED = Need(tokens=1_000, ctx=1_024, kv_type="f16", gpu_layers=0, threads=2)


@pytest.fixture
def model(tmp_path: Path) -> GgufInfo:
    return read_gguf(write_gguf(tmp_path / "tiny.gguf"))


def shaped(model: GgufInfo, **changes: object) -> GgufInfo:
    return replace(model, **{"layers": 24, "heads": 14, "kv_heads": 2, "embedding_length": 896, **changes})


def test_the_kv_cache_is_heads_times_lengths_times_layers(model: GgufInfo) -> None:
    plain = shaped(model, metadata={})
    assert kv_bytes(plain, 32_768, "f16") == 32_768 * 24 * 2 * (64 + 64) * 2
    assert kv_bytes(plain, 32_768, "q8_0") == 32_768 * 24 * 2 * 128 * 34 // 32
    named = {
        f"{model.architecture}.attention.key_length": 128,
        f"{model.architecture}.attention.value_length": 64,
    }
    assert kv_bytes(shaped(model, metadata=named), 1, "f16") == 24 * 2 * (128 + 64) * 2
    assert kv_bytes(shaped(model, metadata={}, kv_heads=(2, 0, 2)), 1, "f16") == 4 * 128 * 2
    assert kv_bytes(shaped(model, layers=None), 1, "f16") is None


def test_a_model_that_does_not_fit_is_invalid_and_what_is_unknown_is_not(model: GgufInfo) -> None:
    plain = shaped(model, metadata={}, size_bytes=4 << 30)
    assert memory_finding(plain, NEED, 16 << 30).status == "ok"
    assert memory_finding(plain, NEED, 4 << 30).status == "INVALID"
    assert memory_finding(plain, NEED, None).status == "unknown"
    assert memory_finding(plain, replace(NEED, gpu_layers=-1), 4 << 30).status == "WARN"


def test_a_context_smaller_than_the_traces_need_is_invalid(model: GgufInfo) -> None:
    assert context_finding(model, NEED).status == "ok"
    small = context_finding(model, replace(NEED, ctx=999))
    assert small.status == "INVALID"
    assert "the traces need 1,000 tokens, the context has 999" in small.detail
    assert context_finding(model, replace(NEED, tokens=None)).status == "unknown"


def test_layers_on_a_gpu_need_a_build_that_has_one() -> None:
    assert offload_finding({"supports_gpu_offload": False}, 0).status == "ok"
    assert offload_finding({"supports_gpu_offload": False}, -1).status == "INVALID"
    assert offload_finding({"supports_gpu_offload": True}, 12).status == "ok"


def test_a_template_without_tools_is_a_warning() -> None:
    assert template_finding(100, 30).status == "ok"
    assert template_finding(30, 30).status == "WARN"


def test_more_threads_than_processors_are_a_warning() -> None:
    environment = {"cpu": {"usable": 2, "physical": 2}}
    assert threads_finding(environment, NEED).status == "ok"
    assert threads_finding(environment, replace(NEED, threads=4)).status == "WARN"
    unknown = threads_finding({}, replace(NEED, threads=None))
    assert (unknown.status, "None" in unknown.detail) == ("unknown", False)
    assert threads_finding({"cpu": {"logical": 8}}, replace(NEED, threads=64)).status == "WARN"


def test_a_full_disk_is_a_warning() -> None:
    assert disk_finding({"runs": 5 << 30, "models": 5 << 30}).status == "ok"
    assert disk_finding({"runs": 5 << 30, "models": 5 << 20}).status == "WARN"


def test_the_rules_of_a_run_are_applied_to_a_moment() -> None:
    (pair,) = snapshots()
    found = {finding.name: finding for finding in machine_findings(pair["before"], pair["after"], 1)}
    assert found["cpu_load"].status == "WARN"
    assert "25.0%" in found["cpu_load"].detail
    assert set(found) <= {
        "cpu_load",
        "governor",
        "throttling",
        "battery",
        "memory",
        "swap_in",
        "container_cpu",
    }
