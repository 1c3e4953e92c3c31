"""The samples the gate asks: which BFCL entries, in which order, put to the model in which words."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from bfcl_gate.dataset import CATEGORIES, Entry, entries, entry, entry_ids
from bfcl_gate.errors import InputError
from bfcl_gate.files import read_lines
from bfcl_gate.ruleset import KNOWN_SAMPLES
from bfcl_gate.tools import mlperf_tools, official_tools

TOOL_SCHEMAS = ("mlperf", "official")

MLPERF_PERCENT = {"non_live": 62, "live": 10, "hallucination": 10}
"""The share of a category's subsets that MLPerf v6.1 takes, in percent."""

MLPERF_WHOLE = 25
"""MLPerf v6.1 takes subsets of at most this many entries whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question of the gate: OpenAI messages and tools (`[]` where the entry has no function).

    `category` is MLPerf's (non_live, live, hallucination), None for live_relevance.
    """

    id: str
    subset: str
    category: str | None
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def gate_samples(sample: str | Path = "mlperf", *, tools: str = "mlperf") -> tuple[Sample, ...]:
    """Return the samples in the order in which they are asked.

    `sample`: `mlperf` (the 995 of MLPerf v6.1), `quick` (120 of them, for screening), `full` (all 3,641
    single-turn entries), or the path of a UTF-8 file with one id a line. `tools`: `mlperf` or `official`
    (see bfcl_gate.tools). Raises InputError for an unknown name, file or id, SourceError where the data
    cannot be had.
    """
    if tools not in TOOL_SCHEMAS:
        raise InputError(f"Unknown tool schemas {tools!r}; expected one of {', '.join(TOOL_SCHEMAS)}.")
    return tuple(_sample(found, tools) for found in _chosen(sample))


def sample_ids(sample: str | Path) -> tuple[str, ...]:
    """Return the ids of a sample in the order of `gate_samples`, without putting the questions into words."""
    return tuple(found.id for found in _chosen(sample))


def sample_of(sample_id: str, *, tools: str = "mlperf") -> Sample:
    """Return one sample. Raises InputError for an id that BFCL v4 does not have."""
    return _sample(entry(sample_id), tools)


def quick_ids() -> tuple[str, ...]:
    """Return the ids of the quick sample, in the order of the 995 (rule: see quick_sample.json)."""
    listed = json.loads(resources.files("bfcl_gate").joinpath("quick_sample.json").read_text("utf-8"))
    return tuple(listed["ids"])


def _chosen(sample: str | Path) -> Iterable[Entry]:
    if sample == "full":
        return (found for subset in CATEGORIES for found in entries(subset))
    if sample == "mlperf":
        return map(
            entry, (name for subset in CATEGORIES for name in entry_ids(subset)[: mlperf_count(subset)])
        )
    if sample == "quick":
        return (entry(sample_id) for sample_id in quick_ids())
    return _listed(Path(sample))


def mlperf_count(subset: str) -> int:
    """Return how many entries MLPerf v6.1 takes from the head of a subset (it never draws at random)."""
    category, total = CATEGORIES[subset], len(entry_ids(subset))
    if category is None:
        return 0
    return total if total <= MLPERF_WHOLE else max(1, total * MLPERF_PERCENT[category] // 100)


def _listed(path: Path) -> Iterable[Entry]:
    if not path.exists():
        raise InputError(
            f"--sample {str(path)!r} is neither a known sample ({', '.join(KNOWN_SAMPLES)}) nor a file; expected "
            "one of these names, or a text file with one id a line."
        )
    first: dict[str, int] = {}
    for number, line in read_lines(path, "a text file with one sample id a line"):
        yield _entry_at(line.strip(), path, number, first)
    if not first:
        raise InputError(f"{path}: holds no sample id; expected one id a line, such as simple_python_0.")


def _entry_at(sample_id: str, path: Path, number: int, first: dict[str, int]) -> Entry:
    if sample_id in first:
        raise InputError(
            f"{path}:{number}: {sample_id!r} already stands in line {first[sample_id]}; remove one."
        )
    first[sample_id] = number
    try:
        return entry(sample_id)
    except InputError as error:
        raise InputError(f"{path}:{number}: {error}") from error


def _sample(found: Entry, tools: str) -> Sample:
    return Sample(
        id=found.id,
        subset=found.subset,
        category=CATEGORIES[found.subset],
        messages=[
            {"role": message["role"], "content": message.get("content") or ""} for message in found.messages
        ],
        tools=(
            official_tools(found.subset, found.functions)
            if tools == "official"
            else mlperf_tools(found.functions)
        ),
    )
