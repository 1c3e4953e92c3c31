"""The local engine in a process of its own, behind the Engine protocol.

llama.cpp aborts its whole process on a bad batch or model, and a hung device call cannot be interrupted
from within: in a child neither takes the run with it. The child ignores Ctrl-C (its parent decides),
ends when its parent ends, and speaks only over one pipe: what it or a library prints goes to a file that
is read when it dies.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any, cast

from bfcl_gate.errors import EdgeAgenticError, EngineError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineInfo, EngineSettings, PlannedTurn, TimedResponse

_CLOSE_SECONDS = 5.0
_LAST_WORDS_BYTES = 2000
# By signal number, for Windows knows neither name.
_CAUSES = {
    9: "; the system may be out of memory",  # SIGKILL
    # SIGILL
    4: "; llama.cpp was built for another processor, or its AMX code by a compiler that breaks it: build it again on"
    " this machine with CFLAGS and CXXFLAGS='-mno-amx-tile -mno-amx-int8 -mno-amx-bf16' (x86) and pip install"
    " --force-reinstall --no-deps --no-cache-dir --no-binary llama-cpp-python llama-cpp-python; scripts/run does it"
    " in a new clone",
}


def _serve(pipe: Connection, settings: EngineSettings, stop: Any, output: str) -> None:
    """Child: load the model, then answer calls until told to close."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _redirect_output(output)
    _be_expendable()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from bfcl_gate.model.llama_engine import Cancelled, LlamaEngine, binding

    binding.on_fatal(lambda message: pipe.send(("fatal", message)))
    try:
        engine = LlamaEngine(settings, stop)
    except EdgeAgenticError as error:
        pipe.send(("error", error))
        return
    pipe.send(("ok", engine.info()))
    with suppress(EOFError):
        while True:
            name, arguments = pipe.recv()
            if name == "close":
                break
            try:
                pipe.send(("ok", _result(pipe, getattr(engine, name)(*arguments))))
            except EdgeAgenticError as error:
                pipe.send(("error", error))
            except Cancelled:
                pipe.send(("error", EngineError("The answer was cancelled.")))
    engine.close()


def _result(pipe: Connection, found: Any) -> Any:
    """Return what a call gave; of one that gives item after item each goes to the parent as it comes."""
    if not isinstance(found, Iterator):
        return found
    for item in found:
        pipe.send(("item", item))
    return None


def _redirect_output(path: str) -> None:
    """Let everything printed here go to a file that only this process and its parent hold open."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    _remove(path)
    for standard in (1, 2):
        os.dup2(file, standard)
    os.close(file)


def _remove(path: str) -> None:
    """Remove a file that is held open; Windows lets nobody, until the last one who holds it removes it."""
    with suppress(PermissionError):
        Path(path).unlink(missing_ok=True)


def _be_expendable() -> None:
    """Crash without a core file of the size of the model, and be the first to go when memory runs out."""
    os.environ["GGML_NO_BACKTRACE"] = "1"  # else llama.cpp starts a debugger when it aborts
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


class ChildEngine:
    """Engine whose model lives in a spawned child process.

    Raises InputError or EngineError when the model cannot be loaded.
    """

    def __init__(self, settings: EngineSettings) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = cast(Any, RawArray("B", 2))
        self._output, self._path = tempfile.mkstemp(prefix="edge-agentic-")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve,
            args=(theirs, settings, self._stop, self._path),
            name="edge-agentic engine",
            daemon=True,
        )
        try:
            _start_ignoring_interrupts(self._process.start)
            theirs.close()
            self._info = cast(EngineInfo, self._receive()[1])
        except BaseException:
            theirs.close()
            self._end(wait_seconds=0)
            raise
        finally:
            _remove(self._path)

    def _receive(self) -> tuple[str, Any]:
        """Wait for the child's reply, "ok" or one "item" of several, and return its kind and value.

        Raises what the child raised, EngineError when it is gone.
        """
        ready = wait([self._pipe, self._process.sentinel])
        try:
            if self._pipe not in ready and not self._pipe.poll():
                raise EOFError
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            raise EngineError(f"The engine process ended unexpectedly ({self._ending()}).") from None
        if kind == "error":
            raise value
        if kind == "fatal":
            raise EngineError(f"llama.cpp gave up ({self._ending()}): {value}")
        return kind, value

    def _ending(self) -> str:
        """Wait for the dying child and say how it ended, in its own last words where it left any."""
        self._process.join(_CLOSE_SECONDS)
        code = self._process.exitcode
        if code is None or code >= 0:
            ending = f"exit code {code}"
        else:
            ending = f"signal {signal.Signals(-code).name}"
            ending += _CAUSES.get(-code, "")
        size = os.fstat(self._output).st_size
        os.lseek(self._output, max(0, size - _LAST_WORDS_BYTES), os.SEEK_SET)
        lines = os.read(self._output, _LAST_WORDS_BYTES).decode(errors="replace").strip().splitlines()
        return f"{ending}; it printed: {' '.join(lines[-3:])}" if lines else ending

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        """Talk to the child; an interrupt ends it, since its reply would be taken for that of the next call."""
        if self._pipe.closed:
            raise EngineError("The engine was closed.")
        try:
            yield
        except (BrokenPipeError, ConnectionResetError):
            raise EngineError(f"The engine process is gone ({self._ending()}).") from None
        except KeyboardInterrupt:
            self._end(wait_seconds=0)
            raise

    def _call(self, name: str, *arguments: Any) -> Any:
        with self._exchange():
            self._pipe.send((name, arguments))
            return self._receive()[1]

    def _each(self, name: str, *arguments: Any) -> Iterator[Any]:
        """Yield what a call gives as it comes; leaving early cancels the rest and waits until the child stopped."""
        with self._exchange():
            self._pipe.send((name, arguments))
            kind, value = self._receive()
        try:
            while kind == "item":
                yield value
                with self._exchange():
                    kind, value = self._receive()
        except GeneratorExit:
            self.cancel()
            with suppress(EngineError):  # it says that it was cancelled, or is gone
                while kind == "item":
                    with self._exchange():
                        kind, _ = self._receive()
            raise

    def info(self) -> EngineInfo:
        return self._info

    def plan(self, requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...]:
        return cast("tuple[PlannedTurn, ...]", self._call("plan", tuple(requests)))

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        self._stop[0] = 0
        return cast(TimedResponse, self._call("generate", request, keep))

    def generate_many(
        self, requests: Sequence[ChatRequest], at_once: int, share_prefix: bool
    ) -> Iterator[tuple[int, TimedResponse]]:
        self._stop[0] = 0
        return self._each("generate_many", tuple(requests), at_once, share_prefix)

    def prompt_tokens(self, request: ChatRequest) -> tuple[int, ...]:
        """Return the token ids of the prompt that a request makes."""
        return cast("tuple[int, ...]", self._call("prompt_tokens", request))

    def text_of(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, control tokens included."""
        return cast(str, self._call("text_of", tuple(tokens)))

    def control_texts(self) -> tuple[str, ...]:
        """Return the texts of the control tokens, which a server leaves out of what it says."""
        return cast("tuple[str, ...]", self._call("control_texts"))

    def forget(self) -> None:
        self._call("forget")

    def cancel(self) -> None:
        self._stop[0] = 1

    def close(self) -> None:
        """End the child: asked first, killed when it does not answer."""
        if self._pipe.closed:
            return
        self.cancel()
        with suppress(OSError, ValueError):
            self._pipe.send(("close", ()))
        self._end(wait_seconds=_CLOSE_SECONDS)

    def _end(self, wait_seconds: float) -> None:
        """Give the child some time to end by itself, then kill it and let go of all that belonged to it."""
        if self._process.pid is not None:
            self._process.join(wait_seconds)
            self._process.kill()
            self._process.join()
        self._process.close()
        self._pipe.close()
        os.close(self._output)
        if os.name == "nt":  # elsewhere its name was free from the beginning
            _remove(self._path)


def _start_ignoring_interrupts(start: Callable[[], None]) -> None:
    """Start a process that ignores Ctrl-C from its first instruction on (the setting is inherited)."""
    if threading.current_thread() is not threading.main_thread():
        start()
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        start()
    finally:
        signal.signal(signal.SIGINT, before)
