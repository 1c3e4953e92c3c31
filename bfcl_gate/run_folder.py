"""The folder of one gate run: run.json (written first), gate.jsonl (journal), result.json (written once)."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.files import parse_object, read_text

SCHEMA_VERSION = 1

JOURNAL = "gate.jsonl"
MANIFEST = "run.json"
RESULT = "result.json"


KINDS = {"gate_id": "bfcl-gate run", "multi_turn_id": "bfcl-gate multi-turn", "config_id": "edge-agentic run"}
"""The identity that a run.json holds, and the command whose runs hold it."""


def require_usable(folder: Path, *, resume: bool, kind: str = "gate_id") -> None:
    """Raise InputError for a folder that holds a run, unless `resume` is set and it is of this `kind` (of KINDS).

    It is raised for a path that is no folder too. Nothing is made yet, so that a run which never begins leaves nothing
    behind.
    """
    require_no_file(folder, "--output ")
    held = [name for name in (MANIFEST, JOURNAL, RESULT) if (folder / name).exists()]
    if held and not resume:
        raise InputError(
            f"--output {folder}: already holds a run ({', '.join(held)}). Add --resume to continue it, or "
            "choose another folder."
        )
    if (folder / MANIFEST).exists():
        manifest = read_json(folder / MANIFEST)
        if kind not in manifest:
            raise InputError(
                f"--output {folder}: holds a run of {maker_of(manifest)}, which {KINDS[kind]} cannot continue "
                "and would overwrite. Choose another folder."
            )


def maker_of(manifest: Mapping[str, Any]) -> str:
    """Return the command that wrote a run.json, as its identity tells."""
    return next((KINDS[name] for name in KINDS if name in manifest), "another tool")


def require_no_file(folder: Path, option: str = "") -> None:
    """Raise InputError where a file stands in the place of the folder, or of one that it would be in."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise InputError(
            f"{option}{folder}: {nearest} is a file; expected a folder, which may not exist yet. Choose another one."
        )


def begin(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Make the folder of a run and write run.json, its first file. Raises SourceError when the disk refuses."""
    begin_as(folder, MANIFEST, manifest)


def begin_as(folder: Path, name: str, document: Mapping[str, Any]) -> None:
    """Make a folder and write the JSON file that stands first in it. Raises SourceError when the disk refuses."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"--output {folder}: cannot make the folder ({error.strerror}).") from error
    write_json(folder / name, document)


def how_to_continue(folder: Path | None) -> str:
    """Return what someone whose run ended early should know."""
    if folder is None:
        return "Nothing was kept; with --output DIR a run can be continued."
    if not (folder / MANIFEST).exists():
        return "Nothing was begun yet."
    return (
        f"What was finished is in {folder}; continue with the same options, --output {folder} and --resume."
    )


def new_manifest(header: Mapping[str, Any], **facts: Any) -> dict[str, Any]:
    """Return a run.json: when and with what the run began, the ids its journal's header holds, and `facts`."""
    from importlib.metadata import version  # slow to load, and most commands begin no run

    return {
        "schema_version": SCHEMA_VERSION,
        "tool": "bfcl-gate",
        "tool_version": version("edge-agentic"),
        "created_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **{name: header[name] for name in ("engine_id", "gate_id", "multi_turn_id") if name in header},
        **facts,
    }


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all. Raises SourceError when the disk refuses."""
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all, in the place of what stands there.

    Raises SourceError when the disk refuses.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise SourceError(f"{path}: cannot write the file ({error.strerror}).") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises InputError where there is none."""
    expected = "the JSON object that this tool wrote"
    return parse_object(read_text(path, expected), path, 1, expected, plain=True)
