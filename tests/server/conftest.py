"""The real llama-server, built once, and tiny models for it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tiny_gguf import write_gguf

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "parity")]

from llama_server import Client, running  # noqa: E402


@pytest.fixture(scope="session")
def llama_server() -> Path:
    """The folder that scripts/build_llama_server.py makes; without it the test is skipped, with its reason."""
    build = [sys.executable, SCRIPTS / "build_llama_server.py"]
    done = subprocess.run(build, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        pytest.skip(done.stderr.strip())
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose answers are some digits."""
    return write_gguf(tmp_path_factory.mktemp("tiny") / "tiny.gguf", trained_ctx=32768)


@pytest.fixture(scope="module")
def serve(llama_server: Path) -> Iterator[Callable[..., Client]]:
    """Start a server, `serve(model, *options)`, that ends with the module."""
    with ExitStack() as stack:

        def start(model: Path, *options: Any) -> Client:
            return stack.enter_context(
                running(llama_server / "bin" / "llama-server", model, *map(str, options))
            )

        yield start
