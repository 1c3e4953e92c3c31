"""Files kept in the cache folder: fetched once, verified by hash, put under their name in one step."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EACCES, EAGAIN, EDEADLK, EDQUOT, ENOSPC, EPERM, EROFS
from pathlib import Path
from typing import BinaryIO

from bfcl_gate.cache import Progress, hash_file, remember, sha256_of
from bfcl_gate.errors import SourceError

_log = logging.getLogger("bfcl_gate.download")  # without a handler its warnings are plain lines on stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A file as it must be: its place in the cache, its SHA-256 and, where known, its size."""

    path: Path
    sha256: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place that may have the bytes; `fetch` completes the partial file or raises SourceError."""

    name: str
    fetch: Callable[[Path], None]


def is_kept(wanted: Wanted, progress: Progress | None = None) -> bool:
    """Say whether the verified file lies in the cache. Raises SourceError where that cannot be told."""
    try:
        return wanted.path.is_file() and sha256_of(wanted.path, progress) == wanted.sha256
    except OSError as error:
        raise SourceError(_disk_problem(wanted.path, error)) from error


def obtain(wanted: Wanted, sources: Sequence[Source], advice: str, progress: Progress | None = None) -> Path:
    """Return the verified file, taken from the cache or from the first source that has it.

    Raises SourceError, ending in `advice`, when no source has it, and SourceError when the disk refuses.
    """
    if is_kept(wanted, progress):
        return wanted.path
    try:
        wanted.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(wanted.path):
            if not is_kept(wanted, progress):
                wanted.path.unlink(missing_ok=True)
                _from_first(wanted, sources, advice, progress)
    except OSError as error:
        raise SourceError(_disk_problem(wanted.path, error)) from error
    return wanted.path


def part_of(path: Path) -> Path:
    """Return where the bytes of `path` gather until they are complete and verified."""
    return path.with_name(f"{path.name}.part")


def _from_first(wanted: Wanted, sources: Sequence[Source], advice: str, progress: Progress | None) -> None:
    failures: list[str] = []
    for source in sources:
        if failures:
            _log.warning("%s Now trying %s.", failures[-1], source.name)
        try:
            _from_source(wanted, source, progress)
            return
        except SourceError as error:
            failures.append(f"{source.name}: {error}")
    raise SourceError(f"{wanted.path.name} cannot be fetched. {' '.join(failures)} {advice}")


def _from_source(wanted: Wanted, source: Source, progress: Progress | None) -> None:
    """Fetch and verify; where bytes of an earlier attempt turn out wrong, once more from nothing."""
    part = part_of(wanted.path)
    attempts = 2 if part.exists() else 1
    for _ in range(attempts):
        source.fetch(part)
        digest = _settle(part, progress)
        if digest == wanted.sha256:
            part.replace(wanted.path)
            remember(wanted.path, digest)
            return
        part.unlink()
    raise SourceError(
        f"the bytes have SHA-256 {digest} where {wanted.sha256} is expected; they were deleted."
    )


def _settle(part: Path, progress: Progress | None) -> str:
    """Wait until the bytes are on disk, so that no power cut leaves a verified name on a hollow file."""
    with part.open("r+b") as file:
        os.fsync(file.fileno())
    return hash_file(part, progress)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time fetch `path`; the system frees the lock of a process that dies."""
    with path.with_name(f".{path.name}.lock").open("ab") as file:
        if not _try_lock(file):
            _log.warning("Another process is fetching %s; waiting for it.", path.name)
            while not _try_lock(file):
                time.sleep(0.2)
        yield


def _try_lock(file: BinaryIO) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (EACCES, EAGAIN, EDEADLK):
            return False
        raise
    return True


def _disk_problem(path: Path, error: OSError) -> str:
    place = error.filename or path.parent
    if error.errno in (ENOSPC, EDQUOT):
        return (
            f"{path.parent}: not enough free space for {path.name} ({error.strerror}). What arrived is kept; "
            "free some space, or set EDGE_AGENTIC_CACHE to a folder on a larger disk."
        )
    if error.errno in (EACCES, EPERM, EROFS):
        return (
            f"{place}: no permission to store {path.name} ({error.strerror}). Set EDGE_AGENTIC_CACHE to a "
            "folder that you may write."
        )
    return (
        f"{place}: cannot store {path.name} ({error.strerror}). Set EDGE_AGENTIC_CACHE to a folder on a "
        "local disk."
    )
