"""The user's hub cache is used in place, wherever its own tools keep it, and only with the right bytes."""

import hashlib
from pathlib import Path

import pytest

from bfcl_gate.download.hub import find_in_hub_cache, hub_cache_dir, hub_url
from bfcl_gate.errors import InputError
from bfcl_gate.model.catalog import CATALOG, CatalogModel

BODY = b"the right bytes"
MODEL = CatalogModel(
    name="tiny",
    repository="Maker/Tiny-GGUF",
    revision="main",
    file="tiny.gguf",
    size_bytes=len(BODY),
    sha256=hashlib.sha256(BODY).hexdigest(),
    license="Apache-2.0",
)


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("EDGE_AGENTIC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "hub"


def put(path: Path, body: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def test_without_a_home_folder_there_is_no_hub_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(path: str) -> Path:
        raise InputError(f"{path}: this home folder is not known")

    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setattr("bfcl_gate.download.hub.expand", unknown)
    assert find_in_hub_cache(MODEL) is None


@pytest.mark.parametrize(
    ("variable", "value", "folder"),
    [
        ("HF_HUB_CACHE", "/a/hub", "/a/hub"),
        ("HUGGINGFACE_HUB_CACHE", "/b/hub", "/b/hub"),
        ("HF_HOME", "/c", "/c/hub"),
        ("XDG_CACHE_HOME", "/d", "/d/huggingface/hub"),
    ],
)
def test_the_hub_cache_is_where_its_tools_keep_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, folder: str
) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv(variable, value)
    assert hub_cache_dir() == Path(folder)


def test_the_hub_cache_is_in_the_home_folder_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert hub_cache_dir() == Path("/home/somebody/.cache/huggingface/hub")


def test_a_snapshot_is_used_in_place(hub: Path) -> None:
    path = put(hub / "models--Maker--Tiny-GGUF" / "snapshots" / "0123abc" / "tiny.gguf", BODY)
    assert find_in_hub_cache(MODEL) == path


def test_a_blob_without_a_snapshot_is_used_in_place(hub: Path) -> None:
    path = put(hub / "models--Maker--Tiny-GGUF" / "blobs" / MODEL.sha256, BODY)
    assert find_in_hub_cache(MODEL) == path


def test_a_snapshot_that_points_nowhere_is_passed_over(hub: Path) -> None:
    link = hub / "models--Maker--Tiny-GGUF" / "snapshots" / "0123abc" / "tiny.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(hub / "gone")
    assert find_in_hub_cache(MODEL) is None


def test_a_file_of_another_size_is_passed_over_unread(hub: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(hub / "models--Maker--Tiny-GGUF" / "snapshots" / "0123abc" / "tiny.gguf", b"short")
    assert find_in_hub_cache(MODEL) is None
    assert caplog.messages == []


def test_other_bytes_of_the_same_size_are_refused_and_named(
    hub: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = put(hub / "models--Maker--Tiny-GGUF" / "snapshots" / "0123abc" / "tiny.gguf", b"the wrong bytes")
    assert find_in_hub_cache(MODEL) is None
    assert caplog.messages == [f"{path} is not the pinned tiny (its SHA-256 differs); it is not used."]
    assert path.read_bytes() == b"the wrong bytes"


def test_a_machine_without_a_hub_cache_has_nothing() -> None:
    assert find_in_hub_cache(MODEL) is None


def test_every_model_of_the_catalogue_has_an_https_address() -> None:
    assert [hub_url(model) for model in CATALOG] == [
        "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "https://huggingface.co/unsloth/Qwen3.6-27B-GGUF/resolve/82d411acf4a06cfb8d9b073a5211bf410bfc29bf/"
        "Qwen3.6-27B-Q4_K_M.gguf",
    ]
