#!/usr/bin/env python3
"""What a turn costs outside llama.cpp's evaluation: rendering its prompt, and tokenising what it adds.

    scripts/bench/tokenising.py [--model NAME|PATH] [--trace mlperf|PATH]

Every turn of the trace is rendered, tokenised as the engine does it (what is new since the turn before) and, beside
it, whole; the tokens must be the same. Times are processor time of the one thread that does it, so they hold on a busy
machine too. Printed are medians with their range by size of context, and what planning the whole trace costs.
"""

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from time import thread_time_ns
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bfcl_gate.download import fetch_model
from bfcl_gate.model.catalog import DEFAULT
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine import LlamaEngine
from edge_agentic.trace import Turn, find_trace, read_trace

BIN_TOKENS = 5000


class Cost(NamedTuple):
    """Milliseconds of one turn, and the tokens of its prompt."""

    tokens: int
    render: float
    new: float
    whole: float


def costs(engine: LlamaEngine, turns: Sequence[Turn]) -> list[Cost]:
    """Render and tokenise a trajectory's turns in order, both ways."""
    growing = engine._vocabulary.growing()
    found = []
    for turn in turns:
        request = turn.request()
        begin = thread_time_ns()
        text = engine._template.render(request.messages, request.tools, generation_prompt=True)
        rendered = thread_time_ns()
        tokens = growing.tokenise(text)
        grown = thread_time_ns()
        whole = engine._vocabulary.tokenise(text)
        end = thread_time_ns()
        if tokens != whole:
            raise SystemExit(f"{turn.trajectory_id} turn {turn.number}: other tokens")
        found.append(
            Cost(len(tokens), (rendered - begin) / 1e6, (grown - rendered) / 1e6, (end - grown) / 1e6)
        )
    return found


def spread(values: Sequence[float]) -> str:
    """Return the median with the range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} .. {max(values):.2f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--trace", default="mlperf")
    given = parser.parse_args()
    model = fetch_model(given.model)
    settings = EngineSettings(model_path=model, model_sha256="", ctx=256, vocab_only=True)
    engine = LlamaEngine(settings, RawArray("B", 2))
    trajectories = read_trace(find_trace(given.trace)).trajectories
    by_size = defaultdict(list)
    for trajectory in trajectories:
        for cost in costs(engine, trajectory.turns):
            by_size[cost.tokens // BIN_TOKENS].append(cost)
    begin = thread_time_ns()
    for trajectory in trajectories:
        engine.plan([turn.request() for turn in trajectory.turns])
    planning_s = (thread_time_ns() - begin) / 1e9
    engine.close()
    print(f"{model.name}: ms of processor time a turn, median (range)")
    print(
        f"{'context tokens':<16} {'turns':>5}  {'render':<22} {'tokenise what is new':<22} {'tokenise all':<22}"
    )
    for size, found in sorted(by_size.items()):
        columns = [spread([cost[place] for cost in found]) for place in (1, 2, 3)]
        name = f"{size * BIN_TOKENS:,} ..".ljust(16)
        print(f"{name} {len(found):>5}  " + " ".join(f"{column:<22}" for column in columns))
    print(f"planning all turns, each with and without its answer: {planning_s:.1f} s")


if __name__ == "__main__":
    main()
