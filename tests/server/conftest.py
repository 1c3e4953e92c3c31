"""The real llama-server, built once, llama-cpp-python's own server, and tiny models for them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tiny_gguf import write_gguf

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "parity")]

from llama_server import Client, running, serving  # noqa: E402 - found by the path set above


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


PYTHON_SERVER = ("uvicorn", "fastapi", "sse_starlette", "starlette_context", "pydantic_settings", "yaml")
"""What llama_cpp.server imports beyond the engine: the extra `server` of llama-cpp-python."""


@pytest.fixture(scope="module")
def serve_python() -> Iterator[Callable[..., Client]]:
    """Start llama-cpp-python's own server as `serve` does; skipped where what it imports is not installed."""
    if missing := [name for name in PYTHON_SERVER if find_spec(name) is None]:
        pytest.skip(f"llama_cpp.server needs {', '.join(missing)}: pip install 'llama-cpp-python[server]'")
    with ExitStack() as stack, pytest.MonkeyPatch.context() as environment:
        for name in ("HOST", "PORT", "CONFIG_FILE"):
            environment.delenv(name, raising=False)  # they would win over the options

        def start(model: Path, *options: Any) -> Client:
            command = (sys.executable, "-m", "llama_cpp.server", "--model", str(model), *map(str, options))
            return stack.enter_context(serving(command, ready="/v1/models"))

        yield start
