"""The shape of the code is a tested fact: layers by import-linter (scripts/check), sizes and start-up here."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# The code that recorded agents work on is faulty on purpose and no part of this project.
WORKSPACE = "workspace"
SOURCES = sorted(
    path
    for part in ("bfcl_gate", "edge_agentic", "scripts")
    for path in (ROOT / part).rglob("*.py")
    if WORKSPACE not in path.relative_to(ROOT).parts
)
HEAVY = ("numpy", "llama_cpp", "httpx2", "jsonschema", "rich", "jinja2")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_module_is_longer_than_350_lines() -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in SOURCES}
    assert {name: n for name, n in lengths.items() if n > 350} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    lengths = {
        f"{p.relative_to(ROOT)}:{f.name}": (f.end_lineno or 0) - f.lineno + 1
        for p in SOURCES
        for f in functions(p)
    }
    assert {name: n for name, n in lengths.items() if n > 60} == {}


def loaded_by(code: str) -> set[str]:
    report = f"{code}\nimport sys; print(*(m for m in {(*HEAVY, 'edge_agentic')!r} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["bfcl_gate", "bfcl_gate.model", "bfcl_gate.cli"])
def test_the_gate_loads_neither_the_benchmark_nor_anything_heavy(module: str) -> None:
    assert loaded_by(f"import {module}") == set()


@pytest.mark.parametrize("module", ["edge_agentic", "edge_agentic.cli"])
def test_the_command_line_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}") - {"edge_agentic"} == set()


def test_no_two_helper_modules_of_the_tests_have_one_name() -> None:
    """pytest puts the folders of all tests on one path, so the second of two namesakes is never imported."""
    names = Counter(
        path.name for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("conftest")
    )
    assert [name for name, count in names.items() if count > 1 and name != "__init__.py"] == []
