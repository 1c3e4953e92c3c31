"""The standard streams of a command: there whatever the caller closed, and never a reason to stop midway."""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# A pipe whose reader left; Windows calls it an invalid argument.
_LEFT = (errno.EPIPE, errno.EINVAL) if os.name == "nt" else (errno.EPIPE,)


class _Pipe(io.FileIO):
    """A stream whose reader may leave (`… | head`): the work goes on unseen, and its exit code still says how it ended.

    Raises OSError for a full disk where what is written is the result; what goes to stderr is never a reason to end.
    """

    def __init__(self, number: int, *, is_result: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self._is_result = is_result

    def write(self, data: "ReadableBuffer", /) -> int:
        """Return how many bytes are dealt with: all of them where nobody reads any more."""
        try:
            return super().write(data)
        except OSError as error:
            if self._is_result and error.errno not in _LEFT:
                raise
            return memoryview(data).nbytes


def open_streams() -> None:
    """Let there be a stdin, stdout and stderr, and let stdout write what its encoding lacks as an escape.

    Where one was closed (`>&-`), the next file opened would take its number, and who prints would write into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is taken, which is this one; child processes are to have it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = _lasting(sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False), is_result=True)
    sys.stderr = _lasting(sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False), is_result=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def leave_stdout() -> None:
    """Point stdout elsewhere, so that the interpreter does not try it again on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lasting(stream: TextIO, *, is_result: bool) -> TextIO:
    """Return the same stream with a reader who may leave; a terminal has none who could."""
    if type(stream) is not io.TextIOWrapper or stream.isatty():
        return stream
    raw = _Pipe(stream.fileno(), is_result=is_result)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )
