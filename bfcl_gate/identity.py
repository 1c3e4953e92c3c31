"""Identities: hashes that say whether two runs asked the same engine the same thing.

`engine_id` covers what `EngineInfo.identity` holds; `gate_id` covers the engine and how the gate asks and
judges. Limits and output folders are in no identity.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from bfcl_gate.checker import VERSION
from bfcl_gate.download import BFCL_SHA256
from bfcl_gate.errors import InputError
from bfcl_gate.model.engine import EngineInfo
from bfcl_gate.ruleset import GatePolicy


def engine_id(info: EngineInfo) -> str:
    """Return the SHA-256 (hex) of what answers: model, template, settings and build."""
    return digest(info.identity)


def samples_id(ids: Iterable[str]) -> str:
    """Return the SHA-256 (hex) of the sample ids in the order in which they are asked."""
    return digest(list(ids))


def gate_fields(engine: str | None, policy: GatePolicy, ids: Iterable[str]) -> dict[str, Any]:
    """Return the fields that gate_id hashes; `engine` is an engine_id or None, `ids` are the sample ids in order."""
    return {"engine_id": engine, **policy_fields(policy, ids)}


def policy_fields(policy: GatePolicy, ids: Iterable[str]) -> dict[str, Any]:
    """Return the fields of gate_id that no engine is needed for."""
    return {
        "rules": policy.rules,
        "tool_schemas": policy.tool_schemas,
        "calls": policy.calls,
        "sample": policy.sample_name,
        "samples_sha256": samples_id(ids),
        "bfcl_sha256": BFCL_SHA256,
        "max_tokens": policy.max_tokens,
        "checker_version": VERSION,
        # A server that answers several at once may answer otherwise: its batches differ.
        **({"concurrency": policy.concurrency} if policy.concurrency > 1 else {}),
        # A sample asked alone needs no word here, so that gates made before there was a choice keep their id.
        **({"parallel": policy.parallel, "share_prefix": policy.share_prefix} if policy.batched else {}),
    }


def gate_id(info: EngineInfo, policy: GatePolicy, ids: Iterable[str]) -> str:
    """Return the SHA-256 (hex) of the engine and of everything that decides a mark."""
    return digest(gate_fields(engine_id(info), policy, ids))


def digest(value: Any) -> str:
    """Return the SHA-256 (hex) of a JSON value in one canonical spelling."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def differing(stored: Mapping[str, Any], present: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return "field: stored -> present" for every field that differs, nested objects field by field."""
    found = []
    for key in sorted(stored.keys() | present.keys()):
        before, now = stored.get(key), present.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            found += differing(before, now, f"{prefix}{key}.")
        # As JSON: 0, False and 0.0 are equal to Python, and not to a template.
        elif json.dumps(before, sort_keys=True) != json.dumps(now, sort_keys=True):
            found.append(f"{prefix}{key}: {json.dumps(before)} -> {json.dumps(now)}")
    return found


def require_same(where: str, stored: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Raise InputError naming the differing fields where a run cannot be continued."""
    if found := differing(stored, present):
        raise InputError(
            f"{where} was made by another run than the one asked for, so --resume cannot continue it. "
            f"Different: {'; '.join(found)}. Repeat the options of that run, or choose another --output."
        )
