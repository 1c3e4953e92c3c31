"""The one folder that keeps what was fetched, and the memory of which files were already hashed."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

from bfcl_gate.errors import InputError

Progress = Callable[[str, int, int | None], None]
"""Called with (label, bytes done, bytes in total or None) while something long is fetched or hashed."""

_CHUNK_BYTES = 1 << 20


def cache_dir() -> Path:
    """Return the folder for models and data, which may not exist yet.

    EDGE_AGENTIC_CACHE overrides the platform's user cache folder.
    """
    override = os.environ.get("EDGE_AGENTIC_CACHE")
    folder = expand(override) if override else Path(platformdirs.user_cache_dir("edge-agentic", False))
    return folder.absolute()


def expand(given: str | Path) -> Path:
    """Return the path with a leading ~ replaced. Raises InputError where there is no such home folder."""
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise InputError(f"{given}: this home folder is not known; write the path out.") from error


def sha256_of(path: Path, progress: Progress | None = None) -> str:
    """Return the SHA-256 of a file in lower-case hex.

    The result is remembered in the cache folder for as long as size, modification and change time stay the
    same, so half a gigabyte is not read again at every start. Raises InputError when it cannot be read.
    """
    try:
        before = _fingerprint(path)
        known = _recall(path, before)
        if known is not None:
            return known
        digest = hash_file(path, progress)
        if _fingerprint(path) == before:
            remember(path, digest)
    except OSError as error:
        raise InputError(f"{path}: cannot read the file ({error.strerror}).") from error
    return digest


def hash_file(path: Path, progress: Progress | None = None) -> str:
    """Read the file and return its SHA-256 in lower-case hex, remembering nothing. Raises OSError."""
    digest, done = hashlib.sha256(), 0
    total = path.stat().st_size
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            if progress is not None:
                progress(f"checking {path.name}", done, total)
    return digest.hexdigest()


def remember(path: Path, digest: str) -> None:
    """Note the hash of a file as it is now; where that cannot be written it is simply hashed again next time.

    Raises OSError when the file itself is gone.
    """
    record = _record_of(path)
    temporary = record.with_suffix(f".{os.getpid()}")
    body = {"path": str(path.resolve()), "fingerprint": _fingerprint(path), "sha256": digest}
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(body), encoding="utf-8")
        temporary.replace(record)
    except OSError:  # a cache that is read-only, full or in the way of a file
        return


def _fingerprint(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _record_of(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return cache_dir() / "hashes" / f"{name}.json"


def _recall(path: Path, fingerprint: list[int]) -> str | None:
    try:
        record = json.loads(_record_of(path).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("fingerprint") != fingerprint:
        return None
    digest = record.get("sha256")
    return digest if isinstance(digest, str) else None
