"""The single-turn part of BFCL v4, read as data out of the verified wheel; nothing of the wheel is imported.

3,641 entries in 13 subsets. Every file holds one JSON object a line; prompts and possible answers are
joined by id. The three (ir)relevance subsets have no answers, because what counts there is only whether
a call was made.
"""

import json
import zipfile
from dataclasses import dataclass
from functools import cache, lru_cache
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


def entries(subset: str) -> tuple[Entry, ...]:
    """Return all entries of one of `CATEGORIES` in file order.

    Raises SourceError where the data cannot be had.
    """
    return tuple(_entry(subset, sample_id) for sample_id in entry_ids(subset))


def entry_ids(subset: str) -> tuple[str, ...]:
    """Return the ids of all entries of one of `CATEGORIES` in file order. Raises SourceError as `entries` does."""
    return tuple(_texts(subset))


def entry(sample_id: str) -> Entry:
    """Return the entry of that id. Raises InputError where BFCL v4 has no such single-turn entry."""
    subset = sample_id.rpartition("_")[0]
    if subset not in CATEGORIES or sample_id not in _texts(subset):
        raise InputError(
            f"{sample_id!r} is not the id of a single-turn BFCL v4 entry; expected one such as "
            f"simple_python_0 or live_multiple_3-2-0, of the subsets {', '.join(CATEGORIES)}."
        )
    return _entry(subset, sample_id)


@lru_cache(maxsize=64)
def _entry(subset: str, sample_id: str) -> Entry:
    text, answers = _texts(subset)[sample_id]
    row = json.loads(text)
    return Entry(
        id=sample_id,
        subset=subset,
        messages=tuple(message for turn in row["question"] for message in turn),
        functions=tuple(row["function"]),
        answers=tuple(json.loads(answers)["ground_truth"]) if answers else (),
    )


@cache
def _texts(subset: str) -> dict[str, tuple[str, str | None]]:
    """Return by id the line of each entry and that of its answers, None without.

    Lines, for as objects all entries take 50 MB, and a run needs one at a time.
    """
    with_answers = subset not in WITHOUT_ANSWERS
    answers = _lines_by_id(f"possible_answer/BFCL_v4_{subset}.json") if with_answers else {}
    lines = _lines_by_id(f"BFCL_v4_{subset}.json")
    return {sample_id: (line, answers.get(sample_id)) for sample_id, line in lines.items()}


def _lines_by_id(name: str) -> dict[str, str]:
    return {str(json.loads(line)["id"]): line for line in _lines(name)}


def data_rows(name: str) -> list[dict[str, Any]]:
    """Return the objects of one data file of the wheel. Raises SourceError where it cannot be had."""
    return [json.loads(line) for line in _lines(name)]


def _lines(name: str) -> list[str]:
    wheel = _wheel()
    try:
        with zipfile.ZipFile(wheel) as archive:
            lines = archive.read(f"bfcl_eval/data/{name}").decode("utf-8").split("\n")
    except (OSError, zipfile.BadZipFile) as error:
        raise SourceError(
            f"{wheel}: cannot read bfcl_eval/data/{name} of the BFCL data ({error})."
        ) from error
    return [line for line in lines if line.strip()]


@cache
def _wheel() -> Path:
    from bfcl_gate.download import fetch_bfcl  # only who reads data pays for what can download it

    return fetch_bfcl()
