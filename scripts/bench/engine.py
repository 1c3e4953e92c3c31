#!/usr/bin/env python3
"""Decode rate of the replay path beside every other way to run the same file through llama.cpp.

    scripts/bench/engine.py [--model NAME|PATH] [--pairs 5] [--depths 0,2048,8192] [--tokens 64] [--only NAME,…]

All of them are measured in one run, one after the other in each round and in another order every time. Printed are
medians with their range, and the ratio of the rates round by round: above 1 the replay path is the faster one.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SCRIPTS.parent), str(SCRIPTS)]

from llama_cpp import Llama
from llama_cpp import llama_cpp as api
from llama_server import program, running
from standing_bench import StandingBench

from bfcl_gate.cache import sha256_of
from bfcl_gate.download import fetch_model
from bfcl_gate.model.catalog import DEFAULT
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineSettings, TimedResponse
from bfcl_gate.model.llama_engine import LlamaEngine, usable_threads

BATCH = 512
FILLER = " the"  # one token in the vocabularies at hand, which is checked
ANSWER = " a"
PLAIN = "{% for message in messages %}{{ message.content }}{% endfor %}"
QUESTION = "\nCount from one to two hundred in words."
OURS = "replay path"

Seconds = Callable[[int], list[float]]
"""Takes the depth in tokens, decodes there once, and returns the seconds per decoded token that are known by then and
were not before: of this time, or of all of them after the last one."""


class Setup:
    """What all of them are given alike."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.model = fetch_model(given.model)
        self.depths = [int(depth) for depth in given.depths.split(",")]
        self.tokens: int = given.tokens
        self.rounds: int = given.pairs + 1  # the first fills the caches
        self.threads: int = given.threads or usable_threads()
        self.ctx = -(-(max(self.depths) + self.tokens + 64) // 256) * 256


@contextmanager
def replay_engine(setup: Setup) -> Iterator[LlamaEngine]:
    """This product's engine, in this process: a run has the same one in a child, where nothing else happens."""
    settings = EngineSettings(
        model_path=setup.model,
        model_sha256=sha256_of(setup.model),
        ctx=setup.ctx,
        threads=setup.threads,
        chat_template=PLAIN,
    )
    engine = LlamaEngine(settings, RawArray("B", 2))
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def replay_path(setup: Setup, engine: LlamaEngine, seen: list[TimedResponse]) -> Iterator[Seconds]:
    """Forced decoding, from the clock readings the engine reports."""

    def measure(depth: int) -> list[float]:
        request = ChatRequest(
            messages=({"role": "user", "content": FILLER * max(1, depth)},),
            recorded={"role": "assistant", "content": ANSWER * setup.tokens},
            forced=True,
        )
        response = engine.generate(request)
        expected = (max(1, depth), setup.tokens)
        if (response.input_tokens, response.output_tokens) != expected:
            raise SystemExit(f"{FILLER!r} or {ANSWER!r} is not one token in this vocabulary.")
        seen.append(response)
        return [(response.token_ns[-1] - response.token_ns[0]) / 1e9 / (setup.tokens - 1)]

    yield measure


@contextmanager
def own_context(setup: Setup) -> Iterator[tuple[Any, Any]]:
    """A model and a context that the C binding makes by itself."""
    model = api.llama_model_load_from_file(str(setup.model).encode(), api.llama_model_default_params())
    parameters = api.llama_context_default_params()
    parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = setup.ctx, BATCH, BATCH
    parameters.n_threads = parameters.n_threads_batch = setup.threads
    parameters.flash_attn_type = api.LLAMA_FLASH_ATTN_TYPE_ENABLED
    context = api.llama_init_from_model(model, parameters)
    try:
        yield model, context
    finally:
        api.llama_free(context)
        api.llama_model_free(model)


@contextmanager
def raw_loop(setup: Setup, model: Any, context: Any) -> Iterator[Seconds]:
    """The C binding alone: a token a batch, evaluated and waited for; none is chosen, as in llama-bench."""
    memory, batch = api.llama_get_memory(context), api.llama_batch_init(BATCH, 0, 1)
    (token,) = _tokens(model, FILLER)

    def evaluate(start: int, count: int) -> None:
        batch.n_tokens = count
        for i in range(count):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = token, start + i, 1, 0
            batch.logits[i] = i == count - 1
        if api.llama_decode(context, batch):
            raise SystemExit("llama_decode failed")

    def measure(depth: int) -> list[float]:
        depth = max(1, depth)
        held = api.llama_memory_seq_pos_max(memory, 0) + 1
        if held > depth:
            api.llama_memory_seq_rm(memory, 0, depth, -1)
        for start in range(held, depth, BATCH):
            evaluate(start, min(BATCH, depth - start))
        api.llama_synchronize(context)
        begin = time.perf_counter_ns()
        for i in range(setup.tokens - 1):
            evaluate(depth + i, 1)
            api.llama_synchronize(context)
        return [(time.perf_counter_ns() - begin) / 1e9 / (setup.tokens - 1)]

    try:
        yield measure
    finally:
        api.llama_batch_free(batch)


@contextmanager
def raw_loop_apart(setup: Setup) -> Iterator[Seconds]:
    with own_context(setup) as (model, context), raw_loop(setup, model, context) as measure:
        yield measure


def _tokens(model: Any, text: str) -> list[int]:
    data, room = text.encode(), (api.llama_token * 16)()
    count = api.llama_tokenize(api.llama_model_get_vocab(model), data, len(data), room, 16, False, False)
    return list(room[:count])


@contextmanager
def high_level(setup: Setup, *, chat: bool) -> Iterator[Seconds]:
    """llama-cpp-python's own: `Llama.generate`, or chat completion streaming."""
    llama = Llama(
        str(setup.model),
        n_ctx=setup.ctx,
        n_batch=BATCH,
        n_ubatch=BATCH,
        n_threads=setup.threads,
        n_threads_batch=setup.threads,
        flash_attn=True,
        verbose=False,
    )

    def generated(depth: int) -> Iterator[Any]:
        return llama.generate(llama.tokenize((FILLER * max(1, depth)).encode(), add_bos=False), temp=0.0)

    def streamed(depth: int) -> Iterator[Any]:
        content = FILLER * max(0, depth - 48) + QUESTION  # template and question take the rest
        return iter(
            llama.create_chat_completion(
                [{"role": "user", "content": content}], stream=True, temperature=0.0, max_tokens=setup.tokens
            )
        )

    def measure(depth: int) -> list[float]:
        stamps = []
        for piece in (streamed if chat else generated)(depth):
            if not chat or piece["choices"][0]["delta"].get("content"):
                stamps.append(time.perf_counter_ns())
            if len(stamps) == setup.tokens:
                break
        return [(stamps[-1] - stamps[0]) / 1e9 / (len(stamps) - 1)]

    try:
        yield measure
    finally:
        llama.close()


@contextmanager
def llama_bench(setup: Setup) -> Iterator[Seconds]:
    """llama-bench of the same source: a process a measurement at depth 0, else a process a depth."""
    bench, under_way = program("llama-bench"), dict[int, StandingBench]()
    rounds = Counter[int]()

    def command(depth: int, repetitions: int) -> list[str]:
        options = f"-p 0 -n {setup.tokens} -d {depth} -r {repetitions} -t {setup.threads} -fa on"
        return [str(bench), "-m", str(setup.model), *f"{options} -b {BATCH} -ub {BATCH} -o json".split()]

    def measure(depth: int) -> list[float]:
        rounds[depth] += 1
        if depth:
            if depth not in under_way:
                under_way[depth] = StandingBench([*command(depth, setup.rounds), "--progress"])
            taken = under_way[depth].repeat(last=rounds[depth] == setup.rounds)
        else:
            done = subprocess.run(
                command(depth, 1), capture_output=True, check=True, stdin=subprocess.DEVNULL
            )
            taken = [json.loads(done.stdout)[0]["avg_ns"]]
        return [ns / 1e9 / setup.tokens for ns in taken]

    yield measure


@contextmanager
def llama_server(setup: Setup) -> Iterator[Seconds]:
    """llama-server of the same source, streaming, by the arrival of its tokens."""
    options = f"-c {setup.ctx} -t {setup.threads} -tb {setup.threads} -fa on -b {BATCH} -ub {BATCH}"
    with running(program(), setup.model, *options.split()) as client:
        (token,) = client.post("/tokenize", {"content": FILLER})["tokens"]

        def measure(depth: int) -> list[float]:
            body = {
                "prompt": [token] * max(1, depth),
                "n_predict": setup.tokens,
                "temperature": 0.0,
                "ignore_eos": True,
                "cache_prompt": True,
            }
            stamps = [at_ns for at_ns, event in client.lines("/completion", body) if event.get("tokens")]
            return [(stamps[-1] - stamps[0]) / 1e9 / (len(stamps) - 1)]

        yield measure


def contestants(setup: Setup, engine: LlamaEngine, seen: list[TimedResponse]) -> dict[str, Callable[[], Any]]:
    """Return how each is opened, by name."""
    return {
        OURS: lambda: replay_path(setup, engine, seen),
        # In the same context, which holds the prompt: where weights and caches come to lie in memory changes from load
        # to load, and the speed with it by more than what is looked for.
        "raw binding loop": lambda: raw_loop(setup, engine._model.handle, engine._decoder._context),
        "raw loop in its own context": lambda: raw_loop_apart(setup),
        "Llama.generate": lambda: high_level(setup, chat=False),
        "chat completion stream": lambda: high_level(setup, chat=True),
        "llama-bench": lambda: llama_bench(setup),
        "llama-server": lambda: llama_server(setup),
    }


def measure_depth(ways: dict[str, Seconds], depth: int, rounds: int) -> dict[str, list[float]]:
    """Return seconds per token of each way, round by round, without the first one, which fills the caches."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            taken[name] += ways[name](depth)
            sys.stderr.write(f"depth {depth}, round {number}: {name}\n")
    return {name: seconds[1:] for name, seconds in taken.items()}


def spread(values: Sequence[float], digits: int) -> str:
    """Return the median with the range."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} .. {max(values):.{digits}f})"


def print_depth(depth: int, taken: dict[str, list[float]], seen: Sequence[TimedResponse]) -> None:
    """Print one table: times, and the rate of the replay path as a multiple of each other one's."""
    print(f"\nDepth {depth}: ms per token, and the replay path's decode rate / this one's; median (range)")
    for name, seconds in taken.items():
        ratios = [other / own for own, other in zip(taken[OURS], seconds, strict=True)]
        ratio = "" if name == OURS else spread(ratios, 3)
        print(f"  {name:<28} {spread([s * 1e3 for s in seconds], 2):<28} {ratio}")
    tokens = [
        (r.token_ns[-1] - r.token_ns[0] - (r.library_decode_ns or 0)) / 1e3 / (len(r.token_ns) - 1)
        for r in seen
    ]
    print(f"  replay path, outside llama.cpp: {spread(tokens, 1)} us per token")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--depths", default="0,2048,8192")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", help="names of the others, separated by commas")
    given = parser.parse_args()
    setup, seen = Setup(given), list[TimedResponse]()
    wanted = given.only and (OURS, *given.only.split(","))
    print(f"{setup.model.name}, {setup.threads} threads, {setup.tokens} tokens, {given.pairs} rounds")
    with ExitStack() as stack:
        opened = contestants(setup, stack.enter_context(replay_engine(setup)), seen)
        ways = {n: stack.enter_context(way()) for n, way in opened.items() if not wanted or n in wanted}
        for depth in setup.depths:
            seen.clear()
            taken = measure_depth(ways, depth, setup.rounds)
            print_depth(depth, taken, seen[1:])


if __name__ == "__main__":
    main()
