"""llama.cpp as a library: its log, its parameters with checked names, its devices, its stop flag.

Everything here guards against something ctypes lets pass silently: a misspelt field, a callback that
was garbage-collected, a message printed over the user's screen.
"""

import ctypes
import re
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import llama_cpp
import llama_cpp._ggml as ggml
from llama_cpp import llama_cpp as api

from bfcl_gate.errors import EngineError

_DEBUG, _ERROR = 1, 4  # enum ggml_log_level of ggml.h; the bindings do not name them

LOG: deque[str] = deque(maxlen=400)
"""The last lines llama.cpp logged, without debugging; bounded, and silent while decoding."""

ERRORS: deque[str] = deque(maxlen=4)
"""The last errors among them."""


def _log(level: int, text: bytes, _data: object) -> None:
    line = text.decode(errors="replace")
    if level != _DEBUG:
        LOG.append(line)
    if level == _ERROR:
        ERRORS.append(line)


# ctypes keeps no reference to a callback: without these module-level names llama.cpp would call freed memory.
_LOG_CALLBACK = api.llama_log_callback(_log)
api.llama_log_set(_LOG_CALLBACK, ctypes.c_void_p(0))

_ABORT_MESSAGE = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_kept: list[Any] = []

# `bool (*)(void *)` that answers "has the byte at this address been set?": libc's strlen of that byte and a
# terminating zero. llama.cpp asks hundreds of times a token, and this way no Python runs while it decodes.
# A size_t of 0 or 1 is returned in the register whose low byte a caller of a bool function reads: rax and al on
# x86-64 (both conventions), x0 and w0 on AArch64.
_LIBC = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
FLAG_IS_SET = ctypes.cast(_LIBC.strlen, api.ggml_abort_callback)


def on_fatal(report: Callable[[str], None]) -> None:
    """Call `report` with llama.cpp's last words before it aborts the process, instead of printing them."""
    callback = _ABORT_MESSAGE(lambda text: report(text.decode(errors="replace")))
    _kept.append(callback)
    setter = ggml.libggml.ggml_set_abort_callback
    setter.restype = ctypes.c_void_p
    setter(callback)


def with_fields(parameters: ctypes.Structure, **values: Any) -> Any:
    """Set fields of a ctypes structure and return it; raises EngineError for a field it does not have."""
    known = {name for name, *_ in parameters._fields_}
    for name, value in values.items():
        if name not in known:
            raise EngineError(f"llama-cpp-python {llama_cpp.__version__} has no parameter '{name}'.")
        setattr(parameters, name, value)
    return parameters


def build() -> str:
    """Return the engine's build: package version and llama.cpp's own."""
    return f"llama-cpp-python {llama_cpp.__version__}, llama.cpp {api.llama_version().decode()}"


def system_info() -> str:
    """Return the instruction sets and backends llama.cpp was built with."""
    text: bytes = api.llama_print_system_info()
    return text.decode()


def devices() -> tuple[str, ...]:
    """Return the compute devices llama.cpp sees, as "name: description"."""
    library = ggml.libggml
    library.ggml_backend_dev_count.restype = ctypes.c_size_t
    library.ggml_backend_dev_get.restype = ctypes.c_void_p
    library.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    for function in (library.ggml_backend_dev_name, library.ggml_backend_dev_description):
        function.restype = ctypes.c_char_p
        function.argtypes = [ctypes.c_void_p]
    handles = [library.ggml_backend_dev_get(i) for i in range(library.ggml_backend_dev_count())]
    return tuple(
        f"{library.ggml_backend_dev_name(h).decode()}: {library.ggml_backend_dev_description(h).decode()}"
        for h in handles
    )


def offloaded_layers() -> int:
    """Return how many layers the model loaded last has on a GPU, as llama.cpp's log says; 0 where it says nothing."""
    found = re.findall(r"offloaded (\d+)/\d+ layers", "".join(LOG))
    return int(found[-1]) if found else 0


def clear_log() -> None:
    """Forget what was logged, so that what is found later belongs to what is done next."""
    LOG.clear()
    ERRORS.clear()


def log_tail() -> str:
    """Return the last errors of llama.cpp's log, else its last lines, as one line."""
    lines = "".join(ERRORS or LOG).strip().splitlines()
    return " ".join(line.strip() for line in lines[-4:])
