"""Reference marks of known models, a JSON file each, made by scripts/make_reference.py from finished runs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError

SCHEMA_VERSION = 1

_TEXTS = ("name", "model", "model_sha256", "rules", "tool_schemas", "bfcl_sha256", "build", "date")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Marks of one model under one pair of rules and tool schemas.

    `native` and `lenient` map each sample id to whether it was right; `settings` are the engine's
    identity, `build` its llama.cpp, `date` the day of the run (ISO 8601, UTC).
    """

    name: str
    model: str
    model_sha256: str
    rules: str
    tool_schemas: str
    bfcl_sha256: str
    checker_version: int
    build: str
    date: str
    settings: Mapping[str, Any]
    native: Mapping[str, bool]
    lenient: Mapping[str, bool]


def load_references(folder: Path | None = None) -> tuple[Reference, ...]:
    """Return the references of the package, or of the JSON files in `folder`, in name order.

    Raises InputError for a file that is no reference.
    """
    root: Any = resources.files(__name__) if folder is None else folder
    files = sorted(
        (file for file in root.iterdir() if file.name.endswith(".json")), key=lambda file: file.name
    )
    return tuple(parse_reference(file.name, file.read_text(encoding="utf-8")) for file in files)


def parse_reference(where: str, text: str) -> Reference:
    """Build a reference from the text of its file. Raises InputError naming `where` and what is wrong."""
    try:
        document = json.loads(text)
        return _reference(document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{where}: is no gate reference ({type(error).__name__}: {error}); expected what "
            "scripts/make_reference.py writes."
        ) from error


def reference_text(reference: Reference) -> str:
    """Return the file text of a reference: marks as strings of 0 and 1 beside the ids of each subset."""
    subsets = {
        subset: {
            "ids": ids,
            "native": _digits(reference.native, ids),
            "lenient": _digits(reference.lenient, ids),
        }
        for subset, ids in _by_subset(reference.native).items()
    }
    document = {
        "schema_version": SCHEMA_VERSION,
        **{key: getattr(reference, key) for key in _TEXTS},
        "checker_version": reference.checker_version,
        "settings": dict(reference.settings),
        "subsets": subsets,
    }
    return json.dumps(document, indent=1) + "\n"


def _reference(document: Mapping[str, Any]) -> Reference:
    if document["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"schema_version is {document['schema_version']!r}, expected {SCHEMA_VERSION}")
    for key in _TEXTS:
        if not isinstance(document[key], str):
            raise TypeError(f"{key} is {document[key]!r}, expected text")
    subsets = document["subsets"].values()
    return Reference(
        **{key: document[key] for key in _TEXTS},
        checker_version=document["checker_version"],
        settings=document["settings"],
        native=dict(_marks(subsets, "native")),
        lenient=dict(_marks(subsets, "lenient")),
    )


def _marks(subsets: Iterable[Mapping[str, Any]], mode: str) -> Iterator[tuple[str, bool]]:
    for subset in subsets:
        ids, digits = subset["ids"], subset[mode]
        if len(ids) != len(digits) or set(digits) - {"0", "1"}:
            raise ValueError(
                f"{len(digits)} {mode} marks of 0 and 1 expected to be {len(ids)}, one for each id"
            )
        yield from ((sample_id, digit == "1") for sample_id, digit in zip(ids, digits, strict=True))


def _digits(marks: Mapping[str, bool], ids: Iterable[str]) -> str:
    return "".join("1" if marks[sample_id] else "0" for sample_id in ids)


def _by_subset(ids: Iterable[str]) -> dict[str, list[str]]:
    subsets: dict[str, list[str]] = {}
    for sample_id in ids:
        subsets.setdefault(sample_id.rpartition("_")[0], []).append(sample_id)
    return subsets
