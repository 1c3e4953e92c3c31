"""The folder of one gate run: run.json (written first), gate.jsonl (journal), result.json (written once)."""

import json
import os
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError, SourceError

SCHEMA_VERSION = 1

JOURNAL = "gate.jsonl"
MANIFEST = "run.json"
RESULT = "result.json"


def open_folder(folder: Path, *, resume: bool) -> None:
    """Make the folder of a run. Raises InputError where it holds a run and `resume` is not set."""
    held = [name for name in (MANIFEST, JOURNAL, RESULT) if (folder / name).exists()]
    if held and not resume:
        raise InputError(
            f"--output {folder}: already holds a run ({', '.join(held)}). Add --resume to continue it, or "
            "choose another folder."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"--output {folder}: cannot make the folder ({error.strerror}).") from error


def new_manifest(header: Mapping[str, Any], **facts: Any) -> dict[str, Any]:
    """Return a run.json: when and with what the run began, the ids its journal's header holds, and `facts`."""
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
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(document, file, indent=1, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot write the file ({error.strerror}).") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises InputError where there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: cannot be read as JSON ({error}); expected a file this tool wrote."
        ) from error
    if not isinstance(document, dict):
        raise InputError(f"{path}: expected a JSON object, as this tool writes it.")
    return document
