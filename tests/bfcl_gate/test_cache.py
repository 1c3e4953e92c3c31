"""Hashes are computed once for each state of a file, and the cache folder is where the user wants it."""

import hashlib
import os
from pathlib import Path

import pytest

from bfcl_gate.cache import cache_dir, remember, sha256_of
from bfcl_gate.errors import InputError

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("EDGE_AGENTIC_CACHE", str(folder))
    return folder


def test_the_variable_names_the_cache_folder(cache: Path) -> None:
    assert cache_dir() == cache


def test_without_the_variable_the_platform_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDGE_AGENTIC_CACHE")
    assert cache_dir().is_absolute()
    assert "edge-agentic" in cache_dir().parts


def test_a_relative_cache_folder_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDGE_AGENTIC_CACHE", "here")
    assert cache_dir() == tmp_path / "here"


def test_an_unknown_home_folder_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGE_AGENTIC_CACHE", "~nobody-of-this-name/cache")
    with pytest.raises(InputError, match="home folder is not known"):
        cache_dir()


def test_the_hash_is_that_of_the_content(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    assert sha256_of(file) == ABC


def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    calls: list[int] = []
    assert sha256_of(file, lambda label, done, total: calls.append(done)) == ABC
    assert sha256_of(file, lambda label, done, total: calls.append(done)) == ABC
    assert calls == [3]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    sha256_of(file)
    file.write_bytes(b"abd")
    assert sha256_of(file) == hashlib.sha256(b"abd").hexdigest()


def test_a_file_of_equal_size_with_a_set_back_time_is_read_again(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(b"abc")
    sha256_of(file)
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    other.write_bytes(b"abd")
    os.utime(other, ns=times)
    other.replace(file)
    assert sha256_of(file) == hashlib.sha256(b"abd").hexdigest()


@pytest.mark.parametrize("record", [b"", b"[]", b"{}", b"\xff", b'{"fingerprint": null, "sha256": "0"}'])
def test_a_damaged_record_is_ignored(tmp_path: Path, cache: Path, record: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    sha256_of(file)
    for path in (cache / "hashes").iterdir():
        path.write_bytes(record)
    assert sha256_of(file) == ABC


def test_what_was_remembered_is_believed_without_reading(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    remember(file, "0" * 64)
    assert sha256_of(file) == "0" * 64


def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    cache.write_bytes(b"a file where the folder should be")
    assert sha256_of(file) == ABC
    assert sha256_of(file) == ABC


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read_is_an_input_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot read the file"):
        sha256_of(tmp_path / name)
