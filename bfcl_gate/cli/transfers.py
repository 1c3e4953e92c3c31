"""Progress of downloads and hashes on stderr: a bar with sizes on a terminal, a few plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bfcl_gate.cli.shell import safe_text

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from bfcl_gate.cache import Progress

_WORTH_LINES_BYTES = 16_000_000


@contextmanager
def transfers() -> "Iterator[Progress]":
    """Give the progress callback of bfcl_gate.download and clear away what it drew."""
    if not sys.stderr.isatty():
        yield _PlainLines().show
        return
    bars = _Bars()
    try:
        yield bars.show
    finally:
        bars.close()


class _PlainLines:
    """A line at each quarter of something large."""

    def __init__(self) -> None:
        self._last: tuple[str, int] | None = None

    def show(self, label: str, done: int, total: int | None) -> None:
        if not total or total < _WORTH_LINES_BYTES:
            return
        quarter = done * 4 // total
        if self._last is None or self._last[0] != label or quarter > self._last[1]:
            self._last = label, quarter
            sys.stderr.write(safe_text(f"{label}: {quarter * 25} % of {total / 1e6:,.0f} MB\n"))


class _Bars:
    """One bar for each label, drawn from the first call on."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}

    def show(self, label: str, done: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = _new_bar()
            self._bar.start()
        if label not in self._tasks:
            self._tasks[label] = self._bar.add_task(safe_text(label), total=total)
        self._bar.update(self._tasks[label], completed=done, total=total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _new_bar() -> "Bar":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        refresh_per_second=4,
        transient=True,
    )
