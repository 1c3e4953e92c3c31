"""The single-turn part of BFCL v4, read as data out of the verified wheel; nothing of the wheel is imported.

3,641 entries in 13 subsets. Every file holds one JSON object a line; prompts and possible answers are
joined by id. The three (ir)relevance subsets have no answers, because what counts there is only whether
a call was made.
"""

import json
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError, SourceError

CATEGORIES = {
    "irrelevance": "hallucination",
    "live_irrelevance": "hallucination",
    "live_multiple": "live",
    "live_parallel": "live",
    "live_parallel_multiple": "live",
    "live_relevance": None,
    "live_simple": "live",
    "multiple": "non_live",
    "parallel": "non_live",
    "parallel_multiple": "non_live",
    "simple_java": "non_live",
    "simple_javascript": "non_live",
    "simple_python": "non_live",
}
"""Subset -> MLPerf's category, in name order; live_relevance belongs to none and is shown apart."""

WITHOUT_ANSWERS = ("irrelevance", "live_irrelevance", "live_relevance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One BFCL entry as it is published: raw messages, raw function documents, possible answers.

    `answers` holds one {function name: {parameter: [alternatives]}} for each expected call, in order.
    The nested values are shared between callers and must not be changed.
    """

    id: str
    subset: str
    messages: tuple[dict[str, Any], ...]
    functions: tuple[dict[str, Any], ...]
    answers: tuple[dict[str, dict[str, list[Any]]], ...]


@cache
def entries(subset: str) -> tuple[Entry, ...]:
    """Return all entries of one of `CATEGORIES` in file order.

    Raises SourceError where the data cannot be fetched or does not look like BFCL v4.
    """
    answers = {} if subset in WITHOUT_ANSWERS else _answers(subset)
    rows = _rows(f"BFCL_v4_{subset}.json")
    return tuple(_entry(subset, row, answers.get(row["id"], ())) for row in rows)


def entry(sample_id: str) -> Entry:
    """Return the entry of that id. Raises InputError where BFCL v4 has no such single-turn entry."""
    found = _by_id(sample_id.rpartition("_")[0]).get(sample_id)
    if found is None:
        raise InputError(
            f"{sample_id!r} is not the id of a single-turn BFCL v4 entry; expected one such as "
            f"simple_python_0 or live_multiple_3-2-0, of the subsets {', '.join(CATEGORIES)}."
        )
    return found


@cache
def _by_id(subset: str) -> dict[str, Entry]:
    return {found.id: found for found in entries(subset)} if subset in CATEGORIES else {}


def _entry(subset: str, row: dict[str, Any], answers: tuple[dict[str, Any], ...]) -> Entry:
    messages = tuple(message for turn in row["question"] for message in turn)
    functions = tuple(row["function"])
    return Entry(id=row["id"], subset=subset, messages=messages, functions=functions, answers=answers)


def _answers(subset: str) -> dict[str, tuple[dict[str, Any], ...]]:
    return {row["id"]: tuple(row["ground_truth"]) for row in _rows(f"possible_answer/BFCL_v4_{subset}.json")}


def _rows(name: str) -> list[dict[str, Any]]:
    source = _source()
    root: Any = source if source.is_dir() else zipfile.Path(source)
    try:
        text: str = root.joinpath("bfcl_eval", "data", *name.split("/")).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, KeyError, ValueError) as error:
        raise SourceError(
            f"{source}: cannot read bfcl_eval/data/{name} of the BFCL data ({error})."
        ) from error


@cache
def _source() -> Path:
    """Return the wheel (or unpacked folder) that holds `bfcl_eval/data`."""
    from bfcl_gate.download import fetch_bfcl  # only who reads data pays for what can download it

    return fetch_bfcl()
