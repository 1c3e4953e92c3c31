"""The simulated APIs of one conversation, in a process of their own that cannot reach anything."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from bfcl_gate.errors import SourceError
from bfcl_gate.multi_turn.data import Call, Conversation

CALL_ENDED = "gate_error:call_ended_the_simulation"
"""Error type of a conversation in which a call took too long or too much; the official runner would hang or die."""

_SCRIPT = Path(__file__).with_name("api_process.py")
CALL_SECONDS = 5.0

_WALL_SECONDS = 300.0
"""Last resort where processor time is not limited, or not used: a call that sleeps. Generous, for a busy device."""

_KEPT_ENVIRONMENT = ("LD_LIBRARY_PATH", "SYSTEMROOT")


class CallEndedError(Exception):
    """A call the model made ended the process of the APIs; says how."""


class Simulation:
    """The process with instances of some API classes; one conversation at a time, begun anew by `begin`.

    `call_seconds` is the processor time one call may take. Raises SourceError where it cannot be started.
    """

    def __init__(self, wheel: Path, classes: Sequence[str], call_seconds: float = CALL_SECONDS) -> None:
        # -I: no user site, no PYTHON* variables, no current folder; the wheel is the only path added before the rest.
        given = [str(call_seconds), str(wheel), _home_of_mpmath(), *classes]
        command = [sys.executable, "-I", "-B", str(_SCRIPT), *given]
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=tempfile.gettempdir(),
                env={**kept, "TZ": "UTC"},
            )
        except OSError as error:
            raise SourceError(f"The process of the simulated APIs cannot be started ({error}).") from error
        try:
            self._ours(self._read)
        except SourceError:
            self.close()
            raise

    def begin(self, conversation: Conversation) -> None:
        """Set the APIs to the conversation's initial state, for the model and for the truth apart."""
        classes, config = list(conversation.classes), dict(conversation.config)
        self._ours(self._ask, "begin", classes, config, conversation.long_context)

    def call(self, name: str, arguments: str) -> str:
        """Make one call of the model, arguments as JSON text; return the result. Raises CallEndedError."""
        return str(self._ask("call", "model", name, [], arguments))

    def expected(self, call: Call) -> str:
        """Make one expected call on the truth's side and return its result."""
        return str(self._ours(self._ask, "call", "truth", call.name, list(call.positional), dict(call.named)))

    def difference(self) -> str | None:
        """Return the first public attribute in which model and truth differ. Raises CallEndedError."""
        found = self._ask("difference")
        return None if found is None else str(found)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # what could not be sent any more is flushed into a closed pipe
                continue

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ours(self, work: Any, *arguments: Any) -> Any:
        """Do what no model has a part in; that it fails is the wheel's or the system's fault."""
        try:
            return work(*arguments)
        except CallEndedError as error:
            raise SourceError(
                f"The process of the simulated APIs ended ({error}); expected the classes of bfcl-eval and mpmath "
                "to load. Install the package with its dependencies."
            ) from error

    def _ask(self, *request: Any) -> Any:
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(json.dumps(request).encode("ascii") + b"\n")
            stream.flush()
        except OSError:
            raise CallEndedError(self._ending()) from None
        return self._read()

    def _read(self) -> Any:
        stream = self._process.stdout
        assert stream is not None
        timer = threading.Timer(_WALL_SECONDS, self._process.kill)
        timer.start()
        try:
            line = stream.readline()
        finally:
            timer.cancel()
        if not line.endswith(b"\n"):
            raise CallEndedError(self._ending())
        return json.loads(line)

    def _ending(self) -> str:
        code = self._process.wait()
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


def _home_of_mpmath() -> str:
    """Return the folder mpmath lies in, which a user's own site folder is not looked up for."""
    spec = importlib.util.find_spec("mpmath")
    return "" if spec is None or spec.origin is None else str(Path(spec.origin).parent.parent)
