"""What an installed wheel would lack is seen in the checkout already."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def declared_packages() -> list[str]:
    listed = re.search(r"\[tool\.setuptools\]\npackages = \[(.*?)\]", PYPROJECT, re.DOTALL)
    assert listed
    return re.findall(r'"([\w.]+)"', listed[1])


def test_every_package_of_the_tree_is_declared_for_the_wheel() -> None:
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for top in ("bfcl_gate", "edge_agentic")
        for path in (ROOT / top).rglob("__init__.py")
    }
    assert found - set(declared_packages()) == set()


def test_every_declared_package_is_a_folder_of_the_tree() -> None:
    folders = dict(re.findall(r'^"([\w.]+)" = "(\w+)"$', PYPROJECT, re.MULTILINE))
    missing = [p for p in declared_packages() if not (ROOT / folders.get(p, p.replace(".", "/"))).is_dir()]
    assert missing == []


@pytest.mark.parametrize("pattern", ["*.json", "*.jsonl", "py.typed", "SHA256SUMS"])
def test_every_data_file_of_a_package_is_declared_for_the_wheel(pattern: str) -> None:
    section = PYPROJECT.split("[tool.setuptools.package-data]")[1].split("\n[")[0]
    data = {
        name: re.findall(r'"([^"]+)"', globs)
        for name, globs in re.findall(r'^"?([\w.]+)"? = \[(.*)\]$', section, re.MULTILINE)
    }
    folders = {ROOT / "traces": "edge_agentic.traces"} | {
        ROOT / p.replace(".", "/"): p for p in declared_packages()
    }
    undeclared = [
        str(file.relative_to(ROOT))
        for folder, package in folders.items()
        for file in folder.glob(pattern)
        if not any(file.match(glob) for glob in data.get(package, ()))
    ]
    assert undeclared == []
