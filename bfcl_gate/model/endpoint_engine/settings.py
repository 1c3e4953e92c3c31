"""How a server is asked, and what is recorded of who answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bfcl_gate.model.endpoint_engine.address import Address
from bfcl_gate.model.endpoint_engine.server import Server
from bfcl_gate.model.engine import EngineInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """How a server is asked. `timeout_s` limits one whole answer.

    `as_reference` keeps the body to the fields of the MLPerf reference; otherwise a server that is not llama.cpp's is
    asked for its token counts. `template_args` are sent as `chat_template_kwargs`. The file of the model is not known.
    """

    address: Address
    model: str
    seed: int = 42
    template_args: tuple[tuple[str, Any], ...] = ()
    timeout_s: float | None = None
    as_reference: bool = False
    model_path: None = None
    model_sha256: None = None


def additions_of(settings: EndpointSettings, server: Server) -> dict[str, Any]:
    """Return the fields of a request body that the reference does not send."""
    additions: dict[str, Any] = {}
    if not settings.as_reference and not server.llama_cpp:
        additions["stream_options"] = {"include_usage": True}
    if settings.template_args:
        additions["chat_template_kwargs"] = dict(settings.template_args)
    return additions


def info_of(settings: EndpointSettings, server: Server, additions: Mapping[str, Any]) -> EngineInfo:
    return EngineInfo(
        kind="endpoint",
        identity={
            "served_model": server.name,
            "build": server.build,
            "template_sha256": server.template_sha256,
            "template_args": dict(settings.template_args),
            "request_additions": sorted(additions),
        },
        details={"server": "llama.cpp" if server.llama_cpp else None, **server.details},
        ctx=server.ctx,
    )
