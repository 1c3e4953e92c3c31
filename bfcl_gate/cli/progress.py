"""Progress on stderr: a bar on a terminal, nothing elsewhere. It shows share done and time left only."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def shown(items: Iterable[Item], label: str, total: int) -> Iterator[Item]:
    """Yield `items`, drawing a bar while somebody watches (at most four times a second)."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=4, transient=True) as bar:
        yield from bar.track(items, total=total, description=label)


def transfer(label: str, done: int, total: int | None) -> None:
    """Say how far a download or a hash is; the Progress callback of bfcl_gate.download."""
    if sys.stderr.isatty():
        share = f"{done / total:.0%}" if total else f"{done / 1e6:.0f} MB"
        sys.stderr.write(f"\r{label} {share}\033[K")
        if total is not None and done >= total:
            sys.stderr.write("\r\033[K")
        sys.stderr.flush()
