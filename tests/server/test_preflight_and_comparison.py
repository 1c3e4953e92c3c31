"""The preflight and the engine comparison at the real llama-server."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from compared_run import CTX, TURNS, compare_at, open_at, run_locally
from llama_server import Client

from bfcl_gate.model.endpoint_engine.server_preflight import server_preflight

pytestmark = pytest.mark.server
Serve = Callable[..., Client]


@pytest.fixture(scope="module")
def url(serve: Serve, tiny: Path) -> str:
    return serve(tiny, "--ctx-size", CTX, "--threads", 1).url


def test_the_preflight_finds_a_server_that_can_be_measured(url: str) -> None:
    with closing(open_at(url)) as engine:
        found = {finding.name: finding for finding in server_preflight(engine)}
    assert found["context"].detail.startswith(f"{CTX:,} tokens for one request")
    good = ("reachable", "slots", "tool_history", "tool_choice", "usage", "repeatable", "cache", "synthetic")
    assert {name: found[name].status for name in good} == dict.fromkeys(good, "ok")
    assert found["ignore_eos"].passed is not False


@pytest.mark.parametrize("decode", ["forced", "natural"])
def test_local_engine_and_server_get_the_same_prompts_and_begin_the_same_answers(
    url: str, tiny: Path, tmp_path: Path, decode: str
) -> None:
    found = compare_at(url, run_locally(tiny, tmp_path, decode), tiny, tmp_path)
    assert found["prompts"] == {"equal": TURNS, "compared": TURNS, "turns": TURNS}
    if decode == "natural":
        assert found["starts"] == {"equal": TURNS, "compared": TURNS}
    else:
        assert found["tokens"]["output"]["local"] == found["tokens"]["output"]["server"]
    assert found["seconds"]["rest"]["turns"] == TURNS
