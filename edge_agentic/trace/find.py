"""From what the user names to a trace file."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from bfcl_gate.errors import InputError

if TYPE_CHECKING:
    from bfcl_gate.cache import Progress

MLPERF = "mlperf"


def bundled_traces() -> dict[str, Path]:
    """Return the traces that come with the distribution, by name."""
    return {path.stem: path for path in sorted(_folder().glob("*.jsonl"))}


def _folder() -> Path:
    """Return the bundled folder: inside the package when installed, beside it in a checkout."""
    package = Path(str(files("edge_agentic")))
    installed = package / "traces"
    return installed if installed.is_dir() else package.parent / "traces"


def find_trace(name_or_path: str | Path, progress: "Progress | None" = None) -> Path:
    """Return the file behind a bundled name, `mlperf` (fetched once, verified) or a path.

    Raises InputError for a name that is none of these, SourceError where the official trace cannot be had.
    """
    bundled = bundled_traces()
    if str(name_or_path) in bundled:
        return bundled[str(name_or_path)]
    if str(name_or_path) == MLPERF:
        from bfcl_gate.download import fetch_mlperf_trace  # no HTTP client for a local file

        return fetch_mlperf_trace(progress)
    path = Path(name_or_path)
    if not path.exists():
        names = ", ".join([*bundled, MLPERF])
        raise InputError(
            f"{name_or_path}: there is no such trace file, and no trace of that name; expected a path or one "
            f"of {names}. `edge-agentic traces list` shows them."
        )
    return path
