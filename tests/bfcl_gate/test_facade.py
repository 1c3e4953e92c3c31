import subprocess
import sys

import pytest

import bfcl_gate
from bfcl_gate.marks import judge
from bfcl_gate.samples import gate_samples


def test_the_package_offers_the_python_contract() -> None:
    assert bfcl_gate.gate_samples is gate_samples
    assert bfcl_gate.judge is judge
    assert set(bfcl_gate.__all__) <= set(dir(bfcl_gate))
    with pytest.raises(AttributeError, match="no_such_thing"):
        bfcl_gate.no_such_thing  # noqa: B018


def test_importing_the_package_loads_none_of_its_modules() -> None:
    listing = "import sys, bfcl_gate; print(sorted(m for m in sys.modules if m.startswith('bfcl_gate')))"
    done = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "['bfcl_gate']"


def test_judging_and_scoring_load_nothing_heavy() -> None:
    listing = (
        "import sys, bfcl_gate.marks, bfcl_gate.samples, bfcl_gate.scoring; "
        "print({'numpy', 'llama_cpp', 'httpx2', 'jsonschema', 'rich', 'typer', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
