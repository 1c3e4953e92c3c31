"""How fast a trace is validated, beside reading its lines as JSON, and how much memory that takes.

validate.py [TRACE] [--megabytes N] [--rounds N]

TRACE (path, bundled name or mlperf) is repeated under new ids until the file has N megabytes. Three jobs take turns,
each in a new process that has imported what it needs: `json.loads` of every line (the peer), `traces validate`'s pass,
`traces stats --characters`' pass. Rates are of the processor's time in that process (one thread), with the wall's in
brackets, which on a busy machine is longer; memory is the process's peak. Medians with their range.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter, process_time
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts" / "bench")]

from startup import ranged

from edge_agentic.trace import Scan, find_trace, open_trace

PEER = "json.loads of each line"


def main() -> None:
    """Measure, or do one job where this is the process of one."""
    arguments = _arguments()
    if arguments.job:
        print(json.dumps(_timed(JOBS[arguments.job], Path(arguments.trace))))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "repeated.jsonl"
        trajectories = _repeat(find_trace(arguments.trace), path, arguments.megabytes * 1_000_000)
        megabytes = path.stat().st_size / 1e6
        print(f"{megabytes:,.1f} MB, {trajectories:,} trajectories, {arguments.rounds} rounds in turns")
        _report(_interleaved(path, arguments.rounds), megabytes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", nargs="?", default="mlperf")
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    return parser.parse_args()


def _repeat(source: Path, path: Path, size: int) -> int:
    """Write the source's rows again and again, each time under new ids; return the number of trajectories."""
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row.get("_type") != "dataset_metadata"]
    trajectories, number = 0, 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            number += 1
            for row in rows:
                file.write(
                    json.dumps({**row, "conversation_id": f"{row['conversation_id']}.{number}"}) + "\n"
                )
                trajectories += row["turn"] == 1
    return trajectories


def _loads(path: Path) -> int:
    with path.open("rb") as file:
        return sum("turn" in json.loads(line) for line in file)


def _validate(path: Path) -> int:
    from edge_agentic.trace.validate import validate

    with open_trace(path) as file:
        verdict = validate(Scan(file), keep=20)
    if verdict.errors.count:
        raise SystemExit(f"{path} has {verdict.errors.count} errors")
    return verdict.turns


def _stats(path: Path) -> int:
    from edge_agentic.trace_stats import Survey

    survey = Survey(plan=None)
    survey.read(path, lambda label, done, total: None)
    return int(survey.to_dict()["turns"])


JOBS: dict[str, Callable[[Path], int]] = {PEER: _loads, "traces validate": _validate, "traces stats": _stats}


def _timed(job: Callable[[Path], int], path: Path) -> dict[str, Any]:
    """Do a job, first on a small file: what is imported and compiled once is start-up."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.jsonl"
        _repeat(find_trace("smoke"), small, 1)
        job(small)
    cpu, wall = process_time(), perf_counter()
    job(path)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    peak = getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"cpu_s": cpu, "wall_s": wall, "peak_bytes": peak}


def _interleaved(path: Path, rounds: int) -> dict[str, list[dict[str, Any]]]:
    measured: dict[str, list[dict[str, Any]]] = {job: [] for job in JOBS}
    for _ in range(rounds):
        for job in JOBS:
            command = [sys.executable, __file__, str(path), "--job", job]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            measured[job].append(json.loads(done.stdout))
    return measured


def _report(measured: dict[str, list[dict[str, Any]]], megabytes: float) -> None:
    def rate(job: str) -> float:
        return median(megabytes / run["cpu_s"] for run in measured[job])

    for job, runs in measured.items():
        rates = [(megabytes / run["cpu_s"], megabytes / run["wall_s"]) for run in runs]
        peak = max(run["peak_bytes"] for run in runs) / 1e6
        print(
            f"  {job:<24} {ranged(rates, ',.1f')} MB/s   {rate(job) / rate(PEER):.2f} x the peer   peak {peak:,.0f} MB"
        )


if __name__ == "__main__":
    main()
