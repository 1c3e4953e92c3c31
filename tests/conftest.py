"""Fixtures every test may use."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from bfcl_gate.cache import cache_dir
from bfcl_gate.download import BFCL_WHEEL, fetch_bfcl
from bfcl_gate.errors import SourceError

# How long an example takes is the machine's business.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# A shell that starts the tests in its background lets them ignore Ctrl-C, and what they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of BFCL's data need the network only until its wheel is in the cache."""
    if not (cache_dir() / "data" / BFCL_WHEEL).exists():
        for item in items:
            if "bfcl" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.network)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference inputs beside the checkout; tests that need it are skipped where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("the reference inputs (../shared/data) are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def bfcl() -> Path:
    """The verified BFCL wheel; without it and without a package index the test is skipped."""
    try:
        return fetch_bfcl()
    except SourceError as error:
        pytest.skip(f"the BFCL data cannot be had: {error}")
