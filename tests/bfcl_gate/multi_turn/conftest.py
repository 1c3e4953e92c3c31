"""One process of simulated APIs for the tests that may share it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bfcl_gate.multi_turn.api_process import MODULES
from bfcl_gate.multi_turn.simulation import Simulation


@pytest.fixture(scope="module")
def simulation(bfcl: Path) -> Iterator[Simulation]:
    """Every API class; a conversation begins it anew."""
    with Simulation(bfcl, tuple(MODULES)) as process:
        yield process
