"""The process in which the simulated APIs run; started as a script by `simulation`, never imported by the product.

It talks in JSON lines. Before the first call it gives up what an API has no need of: whatever Python audits, which
is opening files, sockets, processes, imports and code, is refused from then on, and memory, processor time and the
size of files are limited. Standard library only, since it runs without the product's own path.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from importlib import import_module
from typing import Any

TOTAL_SECONDS = 600
MEMORY_BYTES = 1 << 30
RESULT_CHARACTERS = 1_000_000

HOME = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
STATELESS = ("MathAPI",)

FAILURES = (
    *(ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, ImportError, LookupError),
    *(MemoryError, NameError, OSError, RuntimeError, StopIteration, SyntaxError, TypeError, ValueError),
)
"""What a call may raise; its text is then the result, as in the official runner."""

HARMLESS_EVENTS = ("builtins.id", "object.__getattr__", "sys._getframe")


class Simulation:
    """Two sets of instances with the same initial state: what the model changes, and what the truth changes."""

    def __init__(self, classes: Mapping[str, type]) -> None:
        self._classes = classes
        self._instances: dict[str, dict[str, Any]] = {}
        self._methods: dict[str, dict[str, Callable[..., Any]]] = {}

    def begin(self, names: list[str], config: Mapping[str, Any], long_context: bool) -> None:
        """Make new instances of the named classes."""
        for side in ("model", "truth"):
            made = {name: self._new(name, config.get(name, {}), long_context) for name in names}
            self._instances[side] = made
            self._methods[side] = {
                method: getattr(instance, method)
                for instance in made.values()
                for method in dir(instance)
                if not method.startswith("_") and callable(getattr(instance, method))
            }

    def _new(self, name: str, config: Any, long_context: bool) -> Any:
        instance = self._classes[name]()
        if name not in STATELESS:
            instance._load_scenario(deepcopy(config), long_context=long_context)
        return instance

    def call(self, side: str, name: str, positional: list[Any], named: Any) -> str:
        """Return the result of a call as the official runner puts it; `named` may be JSON text."""
        try:
            method = self._methods[side].get(name)
            if method is None:
                raise NameError(f"name '{name}' is not defined")
            arguments = json.loads(named) if isinstance(named, str) else named
            return _short(_text(method(*positional, **arguments)))
        except FAILURES as error:
            return f"Error during execution: {_short(str(error))}"

    def difference(self) -> str | None:
        """Return the first public attribute in which the two sides differ, as Class.attribute."""
        for name, expected in self._instances["truth"].items():
            found = self._instances["model"][name]
            for attribute in vars(expected):
                if not attribute.startswith("_") and not _same(found, expected, attribute):
                    return f"{name}.{attribute}"
        return None


def _same(found: Any, expected: Any, attribute: str) -> bool:
    """Compare as the official checker does; what cannot be compared, such as a folder within itself, differs."""
    try:
        return bool(getattr(found, attribute) == getattr(expected, attribute))
    except FAILURES:
        return False


def _text(value: Any) -> str:
    if isinstance(value, dict):
        try:
            return json.dumps(value)
        except FAILURES:
            return str(value)
    return str(value)


def _short(text: str) -> str:
    if len(text) > RESULT_CHARACTERS:
        raise ValueError(f"the result has more than {RESULT_CHARACTERS} characters")
    return text


def _load(names: list[str]) -> dict[str, type]:
    import_module("_strptime")  # datetime.strptime imports it on first use, and nothing can be imported later
    return {name: getattr(import_module(f"{HOME}.{MODULES[name]}"), name) for name in names}


def _limit(name: str, value: int) -> None:
    """Set a limit where the system knows it."""
    try:
        import resource

        resource.setrlimit(getattr(resource, name), (value, value))
    except (ImportError, AttributeError, ValueError, OSError):
        pass


def _give_up_everything() -> None:
    """Limit what can be limited, and refuse every audited operation from now on."""
    for name, value in (("AS", MEMORY_BYTES), ("CPU", TOTAL_SECONDS), ("FSIZE", 0), ("CORE", 0)):
        _limit(f"RLIMIT_{name}", value)
    # None makes a later import fail, as the import system documents; the type stubs know modules only.
    sys.modules["socket"] = sys.modules["_socket"] = None  # type: ignore[assignment]

    def refuse(event: str, _: Any) -> None:
        if event not in HARMLESS_EVENTS:
            raise PermissionError(f"{event} is not available to a simulated API")

    sys.addaudithook(refuse)


def _timed(seconds: float, work: Callable[..., Any], *arguments: Any) -> Any:
    """Do the work; beyond so much processor time the system ends this process, in C code too."""
    if not hasattr(signal, "setitimer"):
        return work(*arguments)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return work(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    """Serve requests from stdin until it closes; what an API prints goes nowhere.

    Arguments: seconds a call may take, the wheel, the folder of mpmath, the classes.
    """
    seconds, wheel, home_of_mpmath, *classes = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    sys.path = [wheel, *sys.path, home_of_mpmath]
    simulation = Simulation(_load(classes))
    work: dict[str, Callable[..., Any]] = {
        "begin": simulation.begin,
        "call": simulation.call,
        "difference": simulation.difference,
    }
    _give_up_everything()
    answers.write(b'"ready"\n')
    answers.flush()
    for line in requests:
        name, *arguments = json.loads(line)
        answers.write(json.dumps(_timed(float(seconds), work[name], *arguments)).encode("ascii") + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
