#!/usr/bin/env python3
"""Wall time of a gate: samples asked alone, several at once, and llama-server asked one at a time.

    scripts/bench/gate_speed.py [--samples 40] [--blocks 1] [--ways alone,parallel-4,parallel-8-share] [--server FILE]

The samples are the first of each BFCL subset, in the proportions of the 995. In each block of samples every way is
measured, in another order every time, and each block has its own beginning and end, where fewer answers are under
way. Printed are seconds, the ratio to llama-server (else to `alone`) of the sums and its median and range over the
blocks, and how many marks are equal. --server is the program; "build" builds the one of scripts/build_llama_server.py.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SCRIPTS.parent), str(SCRIPTS)]

from llama_server import Client, program, running

from bfcl_gate.answers import Answer, mark_answer
from bfcl_gate.cache import sha256_of
from bfcl_gate.cli.engine import open_engine
from bfcl_gate.download import fetch_model
from bfcl_gate.gate import ask_all, gate_request
from bfcl_gate.model.catalog import DEFAULT
from bfcl_gate.model.engine import Engine, EngineSettings
from bfcl_gate.model.llama_engine import usable_threads
from bfcl_gate.readings import Reply
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.samples import Sample, gate_samples

SERVER = "llama-server"
WAYS = "alone,parallel-4,parallel-8,parallel-8-share"

Way = Callable[[Sequence[Sample]], list[Answer]]


def chosen(count: int) -> list[Sample]:
    """Return the first samples of each subset of the 995, as many as its share of `count`."""
    samples = gate_samples()
    sizes = Counter(sample.subset for sample in samples)
    seen: Counter[str] = Counter()
    picked = []
    for sample in samples:
        seen[sample.subset] += 1
        # The largest remainders would be fairer; this errs by one sample of a subset at most.
        if seen[sample.subset] <= max(1, round(count * sizes[sample.subset] / len(samples))):
            picked.append(sample)
    return picked


def dealt(samples: Sequence[Sample], blocks: int) -> list[list[Sample]]:
    """Deal runs of neighbours to blocks in turn, so that every block has every subset and neighbours stay together."""
    run = max(1, len(samples) // (blocks * 8))
    found: list[list[Sample]] = [[] for _ in range(blocks)]
    for number, start in enumerate(range(0, len(samples), run)):
        found[number % blocks] += samples[start : start + run]
    return found


def policy_of(way: str, max_tokens: int) -> GatePolicy:
    """Read `alone`, `parallel-N` and `parallel-N-share` (N may be 1)."""
    parts = way.split("-")
    number = int(parts[1]) if parts[0] == "parallel" else 1
    return GatePolicy(max_tokens=max_tokens, parallel=number, share_prefix=parts[-1] == "share")


def ours(engine: Engine, policy: GatePolicy) -> Way:
    return lambda samples: list(ask_all(engine, samples, policy))


def server_way(client: Client, max_tokens: int) -> Way:
    """Ask a server's chat completions, one request after the other on one connection, greedily."""

    def answer(sample: Sample) -> Answer:
        body = {
            "messages": sample.messages,
            **({"tools": sample.tools, "tool_choice": "auto"} if sample.tools else {}),
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": 42,
        }
        (choice,) = client.post("/v1/chat/completions", body)["choices"]
        message = choice["message"]
        reply = Reply(text=message.get("content"), message=message, finish_reason=choice["finish_reason"])
        return mark_answer(sample, reply, GatePolicy(max_tokens=max_tokens))

    def answers(samples: Sequence[Sample]) -> list[Answer]:
        client.close()  # the server has closed a connection that was idle while the other ways were measured
        return [answer(sample) for sample in samples]

    return answers


@contextmanager
def every_way(given: argparse.Namespace, samples: Sequence[Sample]) -> Iterator[dict[str, Way]]:
    """Load the engine, and the server where there is one, and yield the ways to ask."""
    path = fetch_model(given.model)
    threads = given.threads or usable_threads()
    settings = EngineSettings(
        model_path=path, model_sha256=sha256_of(path), ctx=given.ctx or 0, threads=threads
    )
    policies = {way: policy_of(way, given.max_tokens) for way in given.ways.split(",")}
    asked = [[gate_request(sample, GatePolicy(max_tokens=given.max_tokens))] for sample in samples]
    with ExitStack() as stack:
        engine = open_engine(settings, asked)
        stack.callback(engine.close)
        ways = {way: ours(engine, policy) for way, policy in policies.items()}
        if given.server is not None:
            ctx = str(engine.info().ctx)
            options = ("--ctx-size", ctx, "--threads", str(threads), "--threads-batch", str(threads))
            options += ("--batch-size", "512", "--ubatch-size", "512", "--flash-attn", "on", "--jinja")
            file = program() if given.server == "build" else Path(given.server)
            sys.stdout.write(f"llama-server {' '.join(options)}\n")
            ways[SERVER] = server_way(stack.enter_context(running(file, path, *options)), given.max_tokens)
        for way in ways.values():  # warm up: page faults of a fresh load
            way(samples[:1])
        yield ways


def measure(
    ways: Mapping[str, Way], blocks: Sequence[Sequence[Sample]]
) -> tuple[dict[str, list[float]], dict[str, list[Answer]]]:
    """Return seconds by way and block, and the answers by way."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    answers: dict[str, list[Answer]] = {way: [] for way in ways}
    names = list(ways)
    for number, block in enumerate(blocks):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            begin = time.perf_counter()
            answers[name] += ways[name](block)
            seconds[name].append(time.perf_counter() - begin)
            sys.stderr.write(f"block {number + 1} of {len(blocks)}, {name}: {seconds[name][-1]:.1f} s\n")
    return seconds, answers


def equal(first: Sequence[Answer], second: Sequence[Answer]) -> str:
    """Return how many answers have the same marks, natively and leniently, and how many the same text."""
    pairs = list(zip(first, second, strict=True))
    marks = [(a.correct_native, a.correct_lenient) == (b.correct_native, b.correct_lenient) for a, b in pairs]
    texts = [(a.text or "") == (b.text or "") for a, b in pairs]
    return f"{sum(marks)}/{len(pairs)} ({sum(texts)})"


def table(seconds: Mapping[str, list[float]], answers: Mapping[str, list[Answer]]) -> str:
    base = SERVER if SERVER in seconds else next(iter(seconds))
    against = [way for way in (next(iter(seconds)), SERVER) if way in seconds]
    head = f"{'':20}{'seconds':>10}{f'of {base}':>18}{'median of blocks':>20}{'range':>16}"
    lines = [head + "".join(f"{f'marks as {way}':>26}" for way in dict.fromkeys(against))]
    for way, took in seconds.items():
        ratios = [one / other for one, other in zip(took, seconds[base], strict=True)]
        cells = f"{way:20}{sum(took):10.1f}{sum(took) / sum(seconds[base]):18.3f}{statistics.median(ratios):20.3f}"
        cells += f"{min(ratios):9.3f}-{max(ratios):.3f} "
        lines.append(
            cells + "".join(f"{equal(answers[way], answers[other]):>26}" for other in dict.fromkeys(against))
        )
    return "\n".join([*lines, "marks as: equal marks (equal texts)", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--ways", default=WAYS)
    parser.add_argument("--server")
    parser.add_argument("--ctx", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--max-tokens", type=int, default=1024)
    given = parser.parse_args()
    samples = chosen(given.samples)
    blocks = dealt(samples, given.blocks)
    sys.stdout.write(f"{len(samples)} samples in {len(blocks)} blocks, at most {given.max_tokens} tokens\n")
    with every_way(given, samples) as ways:
        seconds, answers = measure(ways, blocks)
    some = next(iter(answers.values()))
    tokens = [
        statistics.mean(getattr(a, f"{kind}_tokens") or 0 for a in some) for kind in ("input", "output")
    ]
    sys.stdout.write(f"mean tokens of a prompt {tokens[0]:.0f}, of an answer {tokens[1]:.0f}\n")
    sys.stdout.write(table(seconds, answers))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
