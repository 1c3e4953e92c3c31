"""Progress on stderr: bars with share and time left on a terminal, a few plain lines elsewhere."""

import atexit
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from bfcl_gate.cli.shell import safe_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Item = TypeVar("Item")


def shown(items: Iterable[Item], label: str, total: int) -> Iterator[Item]:
    """Yield `items`, drawing a bar while somebody watches (at most four times a second)."""
    if not sys.stderr.isatty():
        yield from _in_lines(items, label, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=4, transient=True) as bar:
        yield from bar.track(items, total=total, description=label)


def _in_lines(items: Iterable[Item], label: str, total: int) -> Iterator[Item]:
    """Say every tenth part in a line of its own, for logs."""
    told = 0
    for done, item in enumerate(items, start=1):
        yield item
        if done * 10 // total > told:
            told = done * 10 // total
            sys.stderr.write(f"{label}: {done} of {total}\n")


def transfer(label: str, done: int, total: int | None) -> None:
    """Say how far a download or a hash is; the Progress callback of bfcl_gate.download.

    On a terminal a bar with sizes in bytes, gone when it is full; elsewhere a line at each quarter of
    something large.
    """
    if sys.stderr.isatty():
        _bar.show(label, done, total)
    else:
        _quarters.show(label, done, total)


class _Quarters:
    """Plain lines for logs."""

    _WORTH_A_LINE_BYTES = 16_000_000

    def __init__(self) -> None:
        self._last = ("", -1)

    def show(self, label: str, done: int, total: int | None) -> None:
        if not total or total < self._WORTH_A_LINE_BYTES:
            return
        quarter = done * 4 // total
        if label != self._last[0] or quarter > self._last[1]:
            self._last = (label, quarter)
            sys.stderr.write(safe_text(f"{label}: {quarter * 25} % of {total / 1e6:,.0f} MB\n"))


class _Bar:
    """The bar of the transfer under way; an interrupted one is cleared away at exit."""

    def __init__(self) -> None:
        self._label = ""
        self._drawn: tuple[Progress, TaskID] | None = None

    def show(self, label: str, done: int, total: int | None) -> None:
        if self._drawn is None or label != self._label:
            self.clear()
            self._label, self._drawn = label, _new_bar(label)
            atexit.register(self.clear)
        progress, task = self._drawn
        progress.update(task, completed=done, total=total)
        if total is not None and done >= total:
            self.clear()

    def clear(self) -> None:
        if self._drawn is not None:
            self._drawn[0].stop()
            self._drawn = None
            atexit.unregister(self.clear)


def _new_bar(label: str) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        refresh_per_second=4,
        transient=True,
        redirect_stdout=False,  # results go to stdout, whatever is drawn meanwhile
    )
    progress.start()
    return progress, progress.add_task(safe_text(label), total=None)


_bar = _Bar()
_quarters = _Quarters()
