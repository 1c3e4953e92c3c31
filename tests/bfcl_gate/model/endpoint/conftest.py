"""Servers that answer from a script, and engines that ask them; all are closed when the test is over."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from bfcl_gate.model.endpoint_engine import EndpointEngine, EndpointSettings, address_of
from bfcl_gate.model.scripted_server import Said, ScriptedServer

SAID = Said(text="I look.", calls=(("ls", '{"path": "/tmp"}'),))


@pytest.fixture
def serve() -> Iterator[Callable[..., ScriptedServer]]:
    """Start a scripted server that says SAID, with the options given."""
    with ExitStack() as servers:
        yield lambda said=SAID, **options: servers.enter_context(ScriptedServer(lambda body: said, **options))


@pytest.fixture
def ask() -> Iterator[Callable[..., EndpointEngine]]:
    """Open an engine at a server's URL, with the settings given."""
    with ExitStack() as engines:

        def open_at(url: str, *, api_key_env: str | None = None, **settings: Any) -> EndpointEngine:
            settings = {"model": "scripted", "address": address_of(url, api_key_env), **settings}
            engine = EndpointEngine(EndpointSettings(**settings))
            engines.callback(engine.close)
            return engine

        yield open_at
