"""How fast stored answers are judged, beside the official checker: score.py [--rounds N]

Judges the right answer to each of the 3,641 single-turn entries, and the same answers with one argument changed, in
turns with the official checker out of the pinned wheel, in one process and on one core; then times `bfcl-gate score` of
3,641 rows from a cold start. Prints medians with their range; times are of the processor, and of the wall in brackets,
which on a busy machine is longer.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT),
    str(ROOT / "scripts"),
    str(ROOT / "scripts" / "bench"),
    str(ROOT / "tests" / "bfcl_gate"),
]

from bfcl_gold_answers import gold_message
from bfcl_upstream import Upstream
from startup import ranged, timed_command

from bfcl_gate.dataset import CATEGORIES, Entry, entries
from bfcl_gate.download import fetch_bfcl
from bfcl_gate.marks import judge

Case = tuple[Entry, dict[str, Any]]


def main() -> None:
    rounds = _arguments().rounds
    cases = [case for subset in CATEGORIES for found in entries(subset) for case in _answers(found)]
    upstream = Upstream(fetch_bfcl())
    judges: dict[str, Callable[[Case], object]] = {
        "official checker": lambda case: upstream.verdict(
            case[0].subset, case[0].functions, case[0].answers, case[1]
        ),
        "judge, official rules": lambda case: judge(case[0].id, case[1], rules="official"),
        "judge, mlperf rules": lambda case: judge(case[0].id, case[1]),
    }
    _require_equal(cases, judges)
    rates = _interleaved(judges, cases, rounds)
    peer = median(cpu for cpu, _ in rates["official checker"])
    print(f"{len(cases):,} answers, {rounds} rounds in turns; samples per second of one core")
    for name, measured in rates.items():
        ratio = median(cpu for cpu, _ in measured) / peer
        print(f"  {name:<22} {ranged(measured, ',.0f')}   {ratio:.2f} x the official checker")
    _time_command(rounds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def _answers(found: Entry) -> Iterable[Case]:
    """Yield the right answer and one that is wrong in its last argument."""
    message = gold_message(found)
    yield found, message
    calls = json.loads(json.dumps(message["tool_calls"] or []))
    if calls and (arguments := json.loads(calls[-1]["function"]["arguments"])):
        arguments[list(arguments)[-1]] = "something else"
        calls[-1]["function"]["arguments"] = json.dumps(arguments)
    yield found, {**message, "tool_calls": calls or None}


def _require_equal(cases: Iterable[Case], judges: dict[str, Callable[[Case], Any]]) -> None:
    """A checker that is quick and wrong would prove nothing."""
    for case in cases:
        theirs, ours = judges["official checker"](case), judges["judge, official rules"](case)
        assert theirs == (ours.correct, ours.error), (case, theirs, ours)


def _interleaved(
    judges: dict[str, Callable[[Case], object]], cases: list[Case], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Return (per second of the processor, per second of the wall) of each round."""
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in judges}
    for _ in range(rounds):
        for name, judged in judges.items():
            cpu, wall = process_time(), perf_counter()
            for case in cases:
                judged(case)
            rates[name].append((len(cases) / (process_time() - cpu), len(cases) / (perf_counter() - wall)))
    return rates


def _time_command(rounds: int) -> None:
    found = [found for subset in CATEGORIES for found in entries(subset)]
    fenced = "```json\n{}\n```"
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("messages with calls", "fenced text"):
            rows = []
            for one in found:
                message = gold_message(one)
                if kind == "fenced text" and message["tool_calls"]:
                    said = [fenced.format(_as_text(call["function"])) for call in message["tool_calls"]]
                    message = {"role": "assistant", "content": "\n".join(said)}
                rows.append(json.dumps({"id": one.id, "message": message}) + "\n")
            path = Path(folder, "responses.jsonl")
            path.write_text("".join(rows))
            command = [sys.executable, "-m", "bfcl_gate", "score", str(path), "--min-overall", "0.9"]
            measured = [timed_command(command) for _ in range(rounds)]
            print(f"bfcl-gate score, {len(rows):,} rows of {kind}, cold start: {ranged(measured, '.2f')} s")


def _as_text(function: dict[str, str]) -> str:
    return f'{{"name": {json.dumps(function["name"])}, "arguments": {function["arguments"]}}}'


if __name__ == "__main__":
    main()
