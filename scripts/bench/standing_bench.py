"""A llama-bench whose repetitions can be measured in turns with something else."""

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

PAGE = 4096  # bytes: what the smallest pipe holds


class StandingBench:
    """A llama-bench of one depth that stands still between its repetitions.

    It tells each repetition on stderr just before its clock starts. That pipe is kept full (one page, Linux) until
    the repetition is wanted, so the prompt is evaluated once and its state, which llama-bench keeps, serves them all.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._read, given = os.pipe()
        fcntl.fcntl(given, fcntl.F_SETPIPE_SZ, PAGE)
        # A description of its own: the program must wait where it cannot write, this side must not.
        self._write = os.open(f"/proc/self/fd/{given}", os.O_WRONLY | os.O_NONBLOCK)
        self._program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=given
        )
        os.close(given)

    def repeat(self, last: bool) -> list[int]:
        """Let it do one repetition; return after the `last` the nanoseconds of all of them, else nothing."""
        told = b""
        while b"generation run" not in told.replace(b"warmup generation run", b""):
            told += os.read(self._read, PAGE)
        if last:
            printed, _ = self._program.communicate()
            os.close(self._read)
            os.close(self._write)
            (found,) = json.loads(printed)
            return list(found["samples_ns"])
        os.write(self._write, bytes(PAGE))
        while not self._waits():
            time.sleep(0.01)
        return []

    def _waits(self) -> bool:
        """Whether it is inside write(2) to stderr: number, then the descriptor. Raises SystemExit if it has ended."""
        if self._program.poll() is not None:
            raise SystemExit(f"llama-bench ended with code {self._program.returncode}")
        doing = Path(f"/proc/{self._program.pid}/syscall").read_text().split()
        return doing[0] != "running" and doing[1] == "0x2"
