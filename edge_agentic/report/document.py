"""result.json: built from a run's facts, checked against its schema, written once."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.run_folder import write_json
from edge_agentic import metrics
from edge_agentic.load import load
from edge_agentic.slo import parse_slo
from edge_agentic.turns import TurnResult
from edge_agentic.validity import Check, valid

SCHEMA_VERSION = 1

_FROM_MANIFEST = ("ruleset", "engine_id", "config_id", "model", "engine", "trace", "environment")


def build_result(
    manifest: Mapping[str, Any],
    turns: Sequence[TurnResult],
    gate: Mapping[str, Any] | None,
    checks: Sequence[Check],
    *,
    seams: Collection[tuple[str, int]] = (),
    starts: Collection[int] = (),
    snapshots: Sequence[Mapping[str, Any]] = (),
    roofline: Mapping[str, Any] | None = None,
    energy: Mapping[str, Any] | None = None,
    complete: bool = True,
) -> dict[str, Any]:
    """Return the document of result.json.

    `manifest` is run.json; `gate` the object of `bfcl_gate.verdict`, None before there is a verdict; `seams`
    and `starts` as `edge_agentic.metrics` takes them; `snapshots` the {"before", "after"} pairs that the
    checks were made from. `performance` is null unless the gate passed. `complete` is false for the report
    of an interrupted run, which is shown and never written.
    """
    passed = gate is not None and gate["passed"]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": manifest.get("tool_version"),
        "created_at": manifest.get("created_at"),
        "complete": complete,
        "valid": complete and valid(checks),
        "reduced": bool(manifest.get("reduced", False)),
        "profile": manifest.get("profile"),
        **{key: manifest.get(key) for key in _FROM_MANIFEST},
        "options": dict(manifest.get("options", {})),
        "planned": dict(manifest.get("planned", {})),
        "validity": [check.to_dict() for check in checks],
        **({"preflight": manifest["preflight"]} if manifest.get("preflight") else {}),
        "snapshots": [dict(pair) for pair in snapshots],
        "gate": None if gate is None else dict(gate),
        "performance": _performance(turns, seams, starts, _slo(manifest), roofline, energy)
        if passed
        else None,
    }


def _slo(manifest: Mapping[str, Any]) -> str | None:
    given: str | None = manifest.get("options", {}).get("slo")
    return given


def ungated_performance(
    turns: Sequence[TurnResult],
    seams: Collection[tuple[str, int]] = (),
    starts: Collection[int] = (),
    slo: str | None = None,
) -> dict[str, Any]:
    """Return the performance of turns whose gate did not pass, for `--show-ungated` and nothing else.

    `slo` are the objectives as `--slo` gave them.
    """
    return _performance(turns, seams, starts, slo, None, None)


def _performance(
    turns: Sequence[TurnResult],
    seams: Collection[tuple[str, int]],
    starts: Collection[int],
    slo: str | None,
    roofline: Mapping[str, Any] | None,
    energy: Mapping[str, Any] | None,
) -> dict[str, Any]:
    return {
        **metrics.performance(turns, seams=seams, starts=starts),
        **load(turns, seams=seams, starts=starts, slo=None if slo is None else parse_slo(slo)),
        "roofline": dict(roofline or {}),
        "energy": None if energy is None else dict(energy),
    }


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write result.json so that a reader sees all of it or nothing.

    Raises InputError where it exists already, SourceError when the disk refuses.
    """
    if path.exists():
        raise InputError(f"{path}: this run already has a result, and a result is written once.")
    write_json(path, result)


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of result.json as shipped in the package."""
    text = (files("edge_agentic") / "result_schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def check_result(result: Any, where: str) -> None:
    """Raise InputError naming the first field of a result document that breaks the schema."""
    if (fault := fault_in(result, schema())) is not None:
        raise InputError(
            f"{where}: {fault}. Expected a result of schema version {SCHEMA_VERSION}; delete it and run "
            "`edge-agentic run --resume` to have it made again."
        )


_SHARED = (
    "schema_version",
    "tool_version",
    "created_at",
    "reduced",
    "profile",
    "options",
    "planned",
    "preflight",
)


def check_manifest(manifest: Any, where: str) -> None:
    """Raise InputError naming the first field of a run.json that a result could not be made from."""
    own = schema()["properties"]
    facts = {name: own[name] for name in (*_FROM_MANIFEST, *_SHARED)}
    form = {"required": list(_FROM_MANIFEST), "properties": {**facts, "identity": {"type": "object"}}}
    if (fault := fault_in(manifest, form)) is not None:
        raise InputError(
            f"{where}: {fault}. Expected the manifest that `edge-agentic run` of schema version {SCHEMA_VERSION} "
            "writes; restore the file, or run again in another folder."
        )


def fault_in(document: Any, form: Mapping[str, Any]) -> str | None:
    """Return the first field of a document, in the order of their paths, that breaks a JSON Schema, and how."""
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(form).iter_errors(document), key=lambda error: str(error.json_path))
    if not errors:
        return None
    told = errors[0].message  # a long value stands first in it, the reason last
    return f"field {errors[0].json_path}: {told if len(told) <= 200 else f'{told[:100]} … {told[-100:]}'}"
