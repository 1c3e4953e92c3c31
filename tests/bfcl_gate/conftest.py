"""The official code in the BFCL wheel, for tests that compare with them."""

from pathlib import Path

import pytest
from bfcl_upstream import Upstream


@pytest.fixture(scope="session")
def upstream(bfcl: Path) -> Upstream:
    """The official checker and tool conversion."""
    return Upstream(bfcl)
