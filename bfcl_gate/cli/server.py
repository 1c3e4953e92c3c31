"""A live server is looked at before a run depends on it, and what is found is shown as it comes."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bfcl_gate.cli.findings_text import findings_lines
from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError
from bfcl_gate.model.findings import Finding, broken

if TYPE_CHECKING:
    from bfcl_gate.model.chat import ChatRequest
    from bfcl_gate.model.engine import Engine


def look_at_server(
    engine: "Engine", largest: "ChatRequest | None" = None, concurrency: int = 1
) -> tuple[Finding, ...]:
    """Probe the server of an endpoint engine, tell on stderr what was found, and return it; nothing for a local engine.

    `largest` is the largest request of the run to come. Raises InputError where it does not fit the server's context,
    EngineError where the server is gone.
    """
    from bfcl_gate.model.endpoint_engine import EndpointEngine
    from bfcl_gate.model.endpoint_engine.server_preflight import server_preflight

    if not isinstance(engine, EndpointEngine):
        return ()
    found: list[Finding] = []
    followed = _kept(server_preflight(engine, largest, concurrency), found)
    for line in findings_lines("Server preflight", followed):
        sys.stderr.write(line)
    _require_room(found)
    if names := broken(found):
        told = (
            f"INVALID: no run at this server can be valid ({', '.join(names)}). It goes on; Ctrl-C stops it."
        )
        sys.stderr.write(safe_text(f"{told}\n"))
    return tuple(found)


def at_concurrency(found: tuple[Finding, ...], engine: "Engine", concurrency: int) -> tuple[Finding, ...]:
    """Return what was found, with the slots judged for another number of requests at once."""
    from bfcl_gate.model.endpoint_engine.server_preflight import slots

    return tuple(
        slots(engine.info(), concurrency) if finding.name == "slots" else finding for finding in found
    )


def prompt_tokens(engine: "Engine", request: "ChatRequest") -> "tuple[int, ...] | None":
    """Return a prompt's token ids as the server of an endpoint engine makes them; None where it does not tell."""
    from bfcl_gate.model.endpoint_engine import EndpointEngine

    return engine.prompt_tokens(request) if isinstance(engine, EndpointEngine) else None


def _kept(findings: Iterable[Finding], found: list[Finding]) -> Iterator[Finding]:
    for finding in findings:
        found.append(finding)
        yield finding


def _require_room(found: Iterable[Finding]) -> None:
    for finding in found:
        if finding.name == "context" and finding.passed is False:
            raise InputError(
                f"--endpoint: {finding.detail}. Start the server with that much context for each request "
                "(llama-server divides --ctx-size by its slots, -np), or lower --max-tokens or --limit."
            )
