"""Rules about a server or the local engine, as they were found before the run."""

from collections.abc import Mapping
from typing import Any

from bfcl_gate.model.findings import INFO, finding_of
from edge_agentic.validity.check import Check


def check_server(manifest: Mapping[str, Any]) -> tuple[Check, ...]:
    """Return a rule for every finding of the preflight that could be told; what is only good to know is none."""
    who = "engine" if manifest.get("engine", {}).get("kind") == "local" else "server"
    found = [finding_of(row) for row in manifest.get("preflight") or ()]
    return tuple(
        Check(f"{who}_{f.name}", f.level, f.passed, f"{f.detail}.")
        for f in found
        if f.level != INFO and f.passed is not None
    )
