"""Fixtures every test may use."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference inputs beside the checkout; tests that need it are skipped where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("the reference inputs (../shared/data) are not beside this checkout")
    return folder
