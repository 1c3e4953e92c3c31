"""How long commands that need no model take to start, beside the interpreter and its CLI framework.

startup.py [--rounds N]

Every command is a new process, in turns. Prints the median and range of the processor time, with that of the wall in
brackets, which on a busy machine is longer, and the ratio to `import typer`, which every command has to pay for.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter

ROOT = Path(__file__).resolve().parents[2]

PEERS = {"python -c pass": ("-c", "pass"), "import typer": ("-c", "import typer")}
COMMANDS = (
    *("bfcl_gate --help", "bfcl_gate score --help", "edge_agentic --help", "edge_agentic run --help"),
    *("edge_agentic traces list", "edge_agentic models list", "edge_agentic serve-scripted --fault list"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    commands = {**PEERS, **{name: ("-m", *name.split()) for name in COMMANDS}}
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            measured[name].append(timed_command([sys.executable, *arguments]))
    peer = median(cpu for cpu, _ in measured["import typer"])
    print(f"{rounds} rounds; seconds")
    for name, times in measured.items():
        ratio = median(cpu for cpu, _ in times) / peer
        print(f"  {name:<42} {ranged(times, '.3f')}   {ratio:.2f} x import typer")


def timed_command(command: Sequence[str]) -> tuple[float, float]:
    """Run a command to its end and return its seconds of the processor and of the wall."""
    before, begin = getrusage(RUSAGE_CHILDREN), perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    wall, after = perf_counter() - begin, getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def ranged(measured: Sequence[tuple[float, float]], form: str) -> str:
    """Return "median (from-to) [wall median (from-to)]" of (processor, wall) pairs."""
    told = [
        f"{median(values):{form}} ({min(values):{form}}-{max(values):{form}})"
        for values in zip(*measured, strict=True)
    ]
    return f"{told[0]} [{told[1]}]"


if __name__ == "__main__":
    main()
