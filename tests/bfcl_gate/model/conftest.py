"""Tiny models, written once, and engines on them that are closed after the test."""

from collections.abc import Callable, Iterator
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any

import pytest
from tiny_gguf import write_gguf

from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine import LlamaEngine

Write = Callable[..., Path]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Return the path of a tiny model: `model(kind, **options)` as `write_gguf` takes them."""
    folder = tmp_path_factory.mktemp("models")
    written: dict[object, Path] = {}

    def write(kind: str = "attention", **options: Any) -> Path:
        key = (kind, *sorted(options.items()))
        if key not in written:
            written[key] = write_gguf(folder / f"{len(written)}.gguf", kind, **options)
        return written[key]

    return write


@pytest.fixture(scope="session")
def settings_of() -> Callable[..., EngineSettings]:
    """Return settings for a model file, one thread and a context of 2,048 tokens unless told otherwise."""

    def settings(path: Path, **changes: Any) -> EngineSettings:
        given: dict[str, Any] = {"model_sha256": "0" * 64, "ctx": 2048, "threads": 1, **changes}
        return EngineSettings(model_path=path, **given)

    return settings


@pytest.fixture
def engine_on(settings_of: Callable[..., EngineSettings]) -> Iterator[Callable[..., LlamaEngine]]:
    """Return an engine in this process: `engine_on(path, **settings)`."""
    opened: list[LlamaEngine] = []

    def open_engine(path: Path, **changes: Any) -> LlamaEngine:
        opened.append(LlamaEngine(settings_of(path, **changes), RawArray("B", 2)))
        return opened[-1]

    yield open_engine
    for engine in opened:
        engine.close()
