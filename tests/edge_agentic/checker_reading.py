"""What MLCommons' v6.1 submission checker reads of a tree of this benchmark, and what it finds wrong.

Written anew from its behaviour (names and numbers: tests/data/mlperf_checker_v6_1.json): values are looked up by dotted
names in result_summary.json, then accuracy_results.json, then config.yaml; a name's longest part that is a key wins,
and null or an empty block counts as not there.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

RULES = json.loads(
    (Path(__file__).parent.parent / "data/mlperf_checker_v6_1.json").read_text(encoding="utf-8")
)


def find(data: object, dotted: str) -> Any:
    """Return what stands under a dotted name; None where nothing does."""
    if not dotted:
        return None if data in ({}, []) else data
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        key = ".".join(parts[:end])
        if isinstance(data, Mapping) and key in data:
            return find(data[key], ".".join(parts[end:]))
    return None


def read(results: Path) -> dict[str, Any]:
    """Return the checker's fields of one scenario folder."""
    summary = json.loads((results / "performance/result_summary.json").read_text(encoding="utf-8"))
    accuracy = json.loads((results / "accuracy/accuracy_results.json").read_text(encoding="utf-8"))
    config = yaml.safe_load((results / "config.yaml").read_text(encoding="utf-8"))
    entries = accuracy["accuracy_scores"]
    percentiles = {
        f"{metric} {name}": find(summary, f"{metric}.early_stopping_percentiles.{name}")
        for metric in ("latency", "ttft", "tpot")
        for name in ("50.0", "90.0", "95.0", "97.0", "99.0", "99.9")
    }
    return {
        "result_ms": find(summary, "latency.avg") / 1e6,
        **percentiles,
        "issued": summary["n_samples_issued"],
        "failed": summary["n_samples_failed"],
        "duration_ns": summary["duration_ns"],
        "qps": summary["qps"],
        "scenario": config["type"],
        "streaming": find(config, "model_params.streaming"),
        **{name: find(config, f"settings.runtime.{name}") for name in RULES["seeds"]},
        "min_duration_ms": find(config, "settings.runtime.min_duration_ms"),
        "accuracy_score": entries[0]["score"],
        "accuracy_samples": sum(
            entry["total_samples"] for entry in entries if entry.get("dataset_type") in (None, "accuracy")
        ),
    }


def faults(tree: Path) -> list[str]:
    """Return what the checker would call wrong in a tree, in words of our own; none for one it lets pass."""
    found: list[str] = []
    for division in sorted(path for path in tree.iterdir() if path.name in ("closed", "open", "network")):
        for submitter in sorted(division.iterdir()):
            for system in sorted((submitter / "results").iterdir()):
                description = submitter / "systems" / f"{system.name}.json"
                found += _system_faults(json.loads(description.read_text(encoding="utf-8")), submitter)
                for benchmark in sorted(system.iterdir()):
                    scenarios = sorted(path.name for path in benchmark.iterdir())
                    if division.name == "closed" and scenarios != RULES["scenarios"].get(benchmark.name):
                        found.append(f"scenarios {scenarios}")
                    found += [f for name in scenarios for f in _result_faults(benchmark / name)]
            if not (submitter / "src").is_dir():
                found.append("no src")
    return found


def _system_faults(system: Mapping[str, Any], submitter: Path) -> Iterator[str]:
    yield from (f"system: no {name}" for name in RULES["system_required"] if name not in system)
    yield from (f"system: empty {name}" for name in RULES["system_meaningful"] if not system.get(name))
    if system["status"].lower() not in RULES["statuses"]:
        yield f"status {system['status']}"
    if system["system_type"] not in RULES["system_types"]:
        yield f"system type {system['system_type']}"
    if system["submitter"].lower() != submitter.name.lower():
        yield f"submitter {system['submitter']}"
    if system["division"].lower() != submitter.parent.name:
        yield f"division {system['division']}"
    if "is_network" in system:
        yield "network mode"


def _result_faults(results: Path) -> Iterator[str]:
    measurements = json.loads((results / "measurements.json").read_text(encoding="utf-8"))
    yield from (f"measurements: no {n}" for n in RULES["measurements_required"] if not measurements.get(n))
    if not (results / "README.md").read_bytes():
        yield "empty README.md"
    told = read(results)
    yield from (f"{name} {told[name]}" for name, seed in RULES["seeds"].items() if told[name] != seed)
    if told["min_duration_ms"] < RULES["min_duration_ms"]:
        yield f"min_duration_ms {told['min_duration_ms']}"
    if told["accuracy_samples"] != RULES["accuracy_samples"]:
        yield f"accuracy samples {told['accuracy_samples']}"
