"""The local engine in a process of its own, behind the Engine protocol.

llama.cpp aborts its whole process on a bad batch or model, and a hung device call cannot be interrupted
from within: in a child neither takes the run with it. The child ignores Ctrl-C (its parent decides),
ends when its parent ends, and speaks only over one pipe.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import RawArray
from typing import Any, cast

from bfcl_gate.errors import EdgeAgenticError, EngineError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineInfo, EngineSettings, PlannedTurn, TimedResponse

_CLOSE_SECONDS = 5.0


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _serve(pipe: Connection, settings: EngineSettings, stop: Any) -> None:
    """Child: load the model, then answer calls until told to close."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from bfcl_gate.model.llama_engine import LlamaEngine, binding
    from bfcl_gate.model.llama_engine.decoder import Cancelled

    binding.on_fatal(lambda message: pipe.send(("fatal", message)))
    try:
        engine = LlamaEngine(settings, stop)
    except EdgeAgenticError as error:
        pipe.send(("error", error))
        return
    pipe.send(("ok", engine.info()))
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        if name == "close":
            engine.close()
            return
        try:
            pipe.send(("ok", getattr(engine, name)(*arguments)))
        except EdgeAgenticError as error:
            pipe.send(("error", error))
        except Cancelled:
            pipe.send(("error", EngineError("The answer was cancelled.")))


class ChildEngine:
    """Engine whose model lives in a spawned child process.

    Raises InputError or EngineError when the model cannot be loaded.
    """

    def __init__(self, settings: EngineSettings) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = cast(Any, RawArray("B", 2))
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, settings, self._stop), name="edge-agentic engine", daemon=True
        )
        _start_ignoring_interrupts(self._process.start)
        theirs.close()
        self._info = cast(EngineInfo, self._receive())

    def _receive(self) -> Any:
        """Wait for the child's reply; raises what the child raised, EngineError when it is gone."""
        ready = wait([self._pipe, self._process.sentinel])
        try:
            if self._pipe not in ready and not self._pipe.poll():
                raise EOFError
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            raise EngineError(f"The engine process ended unexpectedly ({self._ending()}).") from None
        if kind == "error":
            raise value
        if kind == "fatal":
            self._process.join(_CLOSE_SECONDS)
            raise EngineError(f"llama.cpp aborted ({self._ending()}): {value}")
        return value

    def _ending(self) -> str:
        code = self._process.exitcode
        if code is None or code >= 0:
            return f"exit code {code}"
        hint = "; the system may be out of memory" if code == -signal.SIGKILL else ""
        return f"signal {signal.Signals(-code).name}{hint}"

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            self._pipe.send((name, arguments))
        except (OSError, ValueError):
            self._process.join(_CLOSE_SECONDS)
            raise EngineError(f"The engine process is gone ({self._ending()}).") from None
        return self._receive()

    def info(self) -> EngineInfo:
        return self._info

    def plan(self, requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...]:
        return cast("tuple[PlannedTurn, ...]", self._call("plan", tuple(requests)))

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        self._stop[0] = 0
        return cast(TimedResponse, self._call("generate", request, keep))

    def forget(self) -> None:
        self._call("forget")

    def cancel(self) -> None:
        self._stop[0] = 1

    def close(self) -> None:
        """End the child: asked first, killed when it does not answer."""
        if self._pipe.closed:
            return
        self.cancel()
        try:
            self._pipe.send(("close", ()))
        except (OSError, ValueError):
            pass
        self._process.join(_CLOSE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()


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
