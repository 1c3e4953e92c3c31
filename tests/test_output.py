"""What a command says about an output that cannot be written."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("module", ["edge_agentic", "bfcl_gate"])
def test_a_full_output_is_one_sentence_and_exit_3(module: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", module, "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr.startswith("Error: The output cannot be written (")
    assert done.stderr.count("\n") == 1
