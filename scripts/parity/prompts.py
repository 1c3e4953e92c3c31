#!/usr/bin/env python3
"""Whether a model's prompts are here the very tokens that llama-server makes of the same requests.

    scripts/parity/prompts.py [--model NAME|PATH] [--trace mlperf|PATH] [--limit N] [--samples 200]

Each turn of the trace and each sample of the gate is rendered by this product (`--special-in-content parse`) and by
llama-server (`/apply-template`, `/tokenize`); those that differ are listed.
"""

import argparse
import sys
from collections.abc import Iterable
from multiprocessing.sharedctypes import RawArray
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SCRIPTS.parent), str(SCRIPTS)]

from llama_server import Client, program, prompt_of, running, tokens_of

from bfcl_gate.download import fetch_model
from bfcl_gate.gate import gate_request
from bfcl_gate.model.catalog import DEFAULT
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine import LlamaEngine
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.samples import gate_samples
from edge_agentic.trace import find_trace, read_trace

Named = tuple[str, ChatRequest]


def turns_of(trace: str, limit: int | None = None) -> list[Named]:
    """Return the requests of a trace's turns, at most `limit`."""
    trajectories = read_trace(find_trace(trace)).trajectories
    named = (
        (f"{turn.trajectory_id} turn {turn.number}", turn.request()) for t in trajectories for turn in t.turns
    )
    return list(named)[:limit]


def samples_of(count: int) -> list[Named]:
    """Return the requests of `count` gate samples, spread evenly over all 995."""
    samples, policy = gate_samples("mlperf"), GatePolicy(sample="mlperf")
    chosen = [samples[i * len(samples) // count] for i in range(count)]
    return [(sample.id, gate_request(sample, policy)) for sample in chosen]


def differing(engine: LlamaEngine, client: Client, requests: Iterable[Named]) -> list[str]:
    """Return the names of the requests whose prompts are other tokens in the server."""
    return [
        name
        for name, request in requests
        if list(engine.prompt(request).tokens)
        != tokens_of(client, prompt_of(client, request.messages, request.tools))
    ]


def tokenizer(model: Path) -> LlamaEngine:
    """Return the engine's tokenizer and template, content parsed as the server does."""
    settings = EngineSettings(
        model_path=model, model_sha256="", ctx=256, vocab_only=True, special_in_content="parse"
    )
    return LlamaEngine(settings, RawArray("B", 2))


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--trace", default="mlperf")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--samples", type=int, default=200)
    given = parser.parse_args()
    model = fetch_model(given.model)
    engine = tokenizer(model)
    with running(program(), model, "--ctx-size", "256") as client:
        for what, requests in (
            (f"turns of {given.trace}", turns_of(given.trace, given.limit)),
            ("gate samples", samples_of(given.samples)),
        ):
            others = differing(engine, client, requests)
            print(
                f"{model.name}: {len(requests) - len(others)} of {len(requests)} {what} have the same tokens"
            )
            for name in others:
                print(f"  {name} differs")
    engine.close()


if __name__ == "__main__":
    main()
