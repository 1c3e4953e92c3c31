"""The Hugging Face hub: the cache its own tools keep on this machine, and the hub over HTTPS."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from bfcl_gate.cache import Progress, expand, sha256_of
from bfcl_gate.errors import InputError
from bfcl_gate.model.catalog import CatalogModel

_log = logging.getLogger("bfcl_gate.download")


def hub_url(model: CatalogModel) -> str:
    """Return the address of the file on the hub."""
    return f"https://huggingface.co/{model.repository}/resolve/{model.revision}/{model.file}"


def find_in_hub_cache(model: CatalogModel, progress: Progress | None = None) -> Path | None:
    """Return the model's file in the user's hub cache, verified, or None. It is used in place."""
    try:
        candidates = tuple(_candidates(model))
    except (OSError, InputError):  # without a home folder there is no cache below it
        return None
    for path in candidates:
        try:
            if path.is_file() and model.size_bytes in (None, path.stat().st_size):
                if sha256_of(path, progress) == model.sha256:
                    return path
                _log.warning(
                    "%s is not the pinned %s (its SHA-256 differs); it is not used.", path, model.name
                )
        except (OSError, InputError):  # another user's or a broken cache is no reason to stop
            continue
    return None


def _candidates(model: CatalogModel) -> Iterator[Path]:
    folder = hub_cache_dir() / f"models--{model.repository.replace('/', '--')}"
    yield from sorted(folder.glob(f"snapshots/*/{model.file}"))
    yield folder / "blobs" / model.sha256


def hub_cache_dir() -> Path:
    """Return the hub cache folder as the hub's own tools find it."""
    for variable, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if value := os.environ.get(variable):
            return expand(value) / below
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return expand(base) / "huggingface" / "hub"
