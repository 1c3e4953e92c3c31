"""A recording from start to trace: listen, wait until it is ended, import the journal."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from types import FrameType

from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.http.passed import Passed
from bfcl_gate.http.proxy import Proxy
from bfcl_gate.http.upstream import Upstream
from edge_agentic.importers.convert import import_trace
from edge_agentic.importers.recording import JOURNAL_ENDING, RECORDING
from edge_agentic.importers.report import Report
from edge_agentic.importers.trajectories import Options
from edge_agentic.recorder.answers import is_conversation
from edge_agentic.recorder.writer import Tally, Writer
from edge_agentic.trace.write import check_output

_LOOK_S = 0.25
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where to listen and what to write. `resume` continues a journal that was left, `force` replaces `output`."""

    upstream: Upstream
    output: Path
    host: str
    port: int
    resume: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The report of a recording; `trouble` where the disk refused a part of it."""

    report: Report
    trouble: SourceError | None


def record(
    settings: Settings,
    options: Options,
    *,
    begun: Callable[[str], None],
    watch: Callable[[Tally], None],
) -> Recorded:
    """Record until a signal ends it, and write the trace.

    `begun` is told the base URL for the agent, `watch` what was recorded so far, four times a second. Raises
    InputError where nothing was recorded or where `output` or its journal is in the way, SourceError where the
    upstream cannot be reached, the address not be listened on or the trace not be written. The journal stays until
    the trace is written.
    """
    journal = _journal_of(settings)
    settings.upstream.require_reachable()
    passed: SimpleQueue[Passed | None] = SimpleQueue()
    writer = Writer(journal, passed)
    proxy = Proxy(
        settings.upstream, wanted=is_conversation, note=passed.put, host=settings.host, port=settings.port
    )
    with _ending_signals() as ended, _prompt_threads(), writer, proxy:
        begun(proxy.url + (settings.upstream.path or "/v1"))
        while not ended.wait(_LOOK_S):
            watch(writer.tally)
    if not writer.tally.exchanges:
        raise writer.trouble or InputError(_nothing(writer.tally))
    try:
        report = import_trace(journal, settings.output, options, format_name=RECORDING, force=settings.force)
    except (InputError, SourceError) as error:
        raise type(error)(f"{error} What was recorded stays in {journal}.") from error
    journal.unlink()
    return Recorded(report=replace(report, source=settings.upstream.url), trouble=writer.trouble)


def _journal_of(settings: Settings) -> Path:
    """Return where the journal goes. Raises InputError where something is in the way."""
    output = settings.output
    check_output(output, force=settings.force)
    journal = output.with_name(output.name + JOURNAL_ENDING)
    if journal.exists() and not settings.resume:
        raise InputError(
            f"{journal}: an earlier recording was cut off and left this journal. Go on with it by --resume, or make "
            f"a trace of it first: `edge-agentic traces import {journal} --output FILE`, then remove it."
        )
    return journal


def _nothing(tally: Tally) -> str:
    seen = ", ".join(f"{what} ({number})" for what, number in tally.passed_on.items())
    return (
        "Nothing was recorded, so no trace is written: no request for a turn (chat/completions, messages, responses) "
        f"came in.{f' What came was passed on: {seen}.' if seen else ''} Make the address above the agent's base URL."
    )


@contextmanager
def _ending_signals() -> Iterator[Event]:
    """Let the signals that end a program set an event instead, while the block lasts."""
    ended = Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    # A shell's nohup has this one ignored, and means it.
    numbers = [
        each for each in numbers if each is signal.SIGINT or signal.getsignal(each) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield ended
    finally:
        for number, action in before.items():
            signal.signal(number, action)


@contextmanager
def _prompt_threads() -> Iterator[None]:
    """Let the proxy's thread have the interpreter at once when bytes come while the journal is written."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
