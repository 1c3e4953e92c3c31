"""`edge-agentic traces record`: a live agent's requests to a trace file."""

import ipaddress
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError
from edge_agentic.cli import import_trace as shared

if TYPE_CHECKING:
    from edge_agentic.recorder import Tally

UpstreamOption = Annotated[
    str, typer.Option("--upstream", metavar="URL", help="The server the agent uses now, as its base URL.")
]
ListenOption = Annotated[
    str, typer.Option("--listen", metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")
]
NetworkOption = Annotated[
    bool, typer.Option("--allow-network", help="Let --listen name an address that other machines reach.")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with the journal of a recording that was cut off.")
]


def record_command(
    upstream: UpstreamOption,
    output: shared.OutputOption,
    *,
    listen: ListenOption = "127.0.0.1:8100",
    allow_network: NetworkOption = False,
    resume: ResumeOption = False,
    force: shared.ForceOption = False,
    max_delay: shared.MaxDelayOption = 10.0,
    max_tokens: shared.MaxTokensOption = 1024,
    min_turns: shared.MinTurnsOption = 1,
    strip_ansi: shared.AnsiOption = False,
    report_format: shared.ReportFormatOption = "text",
) -> None:
    """Record a live agent: pass its requests on to the server, and write them as a trace when Ctrl-C ends it."""
    from bfcl_gate.http.upstream import parse_upstream
    from edge_agentic.importers.report_text import report_text
    from edge_agentic.recorder import Settings, record

    shared.check_report_format(report_format)
    options = shared.options_of(max_delay, max_tokens, min_turns, strip_ansi=strip_ansi)
    host, port = parse_listen(listen)
    settings = Settings(
        upstream=parse_upstream(upstream), output=output, host=host, port=port, resume=resume, force=force
    )
    if not is_this_machine(host):
        _require(allow_network, host)
    done = record(settings, options, begun=_say_where(upstream), watch=_status())
    report = done.report
    print(json.dumps(asdict(report), indent=2) if report_format == "json" else safe_text(report_text(report)))
    if done.trouble is not None:
        raise done.trouble


def parse_listen(address: str) -> tuple[str, int]:
    """Return host and port. Raises InputError for what is no address."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise InputError(
            f"--listen {address!r} is no address; expected HOST:PORT, for instance 127.0.0.1:8100."
        )
    return host, int(port)


def is_this_machine(host: str) -> bool:
    """Whether only programs of this machine reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _require(allowed: bool, host: str) -> None:
    if not allowed:
        raise InputError(
            f"--listen {host}: other machines could reach this address, read what the agent sends and use the server "
            "behind it. Listen on 127.0.0.1, or say --allow-network if that is meant."
        )
    sys.stderr.write(
        safe_text(f"Warning: everyone who reaches {host} can use the server behind it and is recorded.\n")
    )


def _say_where(upstream: str) -> Callable[[str], None]:
    def say(url: str) -> None:
        sys.stderr.write(
            safe_text(
                f"Recording what is asked of {upstream}. Make {url} the base URL of your agent (without its path for "
                "Anthropic clients); Ctrl-C ends the recording and writes the trace.\n"
            )
        )
        sys.stderr.flush()

    return say


def _status() -> "Callable[[Tally], None]":
    """Return what shows the tally: one line that is redrawn on a terminal, a line a conversation elsewhere."""
    from edge_agentic.recorder import Tally

    on_terminal = sys.stderr.isatty()
    shown = _counts(Tally())

    def show(tally: "Tally") -> None:
        nonlocal shown
        line = _counts(tally) if on_terminal else f"{tally.conversations}"
        if line in (shown, "0"):
            return
        shown = line
        sys.stderr.write(f"\r\x1b[2K{line}" if on_terminal else f"{_counts(tally)}\n")
        sys.stderr.flush()

    return show


def _counts(tally: "Tally") -> str:
    others = {
        "without an answer": tally.unanswered,
        "passed on unrecorded": tally.passed_on.total(),
        "from before": tally.earlier,
    }
    more = "".join(f", {number} {what}" for what, number in others.items() if number)
    return f"recorded: conversations {tally.conversations}, turns {tally.turns}{more}"
