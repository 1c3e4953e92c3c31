#!/usr/bin/env python3
"""Peak memory of the local engine and of the process that asks it, and what ten loads leave behind.

    scripts/bench/memory.py [--model NAME|PATH]... [--ctx 32768] [--prompt 2048] [--loads 10]

For each model: an engine is loaded in its child process, evaluates a prompt and says a few words. Its peak resident
memory and that of the asking process, which holds what a run holds, must together stay below weights + KV cache +
250 MB. Then one process loads and frees the model again and again, as no run does: what it holds afterwards must not
grow. Exit code 1 where one of the two is not so. Linux only (/proc).
"""

import argparse
import json
import statistics
import subprocess
import sys
from multiprocessing.sharedctypes import RawArray
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SCRIPTS.parent), str(SCRIPTS)]

from bfcl_gate.cache import sha256_of
from bfcl_gate.download import fetch_model
from bfcl_gate.model.catalog import DEFAULT
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.child_engine import ChildEngine
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.model_file import read_gguf
from bfcl_gate.samples import gate_samples

ALLOWANCE = 250_000_000
GROWTH = 0.01
"""Share of one load's memory that the later loads may leave behind in all: allocators keep some pages."""

MB = 1e6


def resident(pid: int | str, field: str) -> int:
    """Return VmRSS or VmHWM (its peak) of a process in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/{pid}/status has no {field}; this needs Linux.")


def kv_bytes(model: Path, ctx: int) -> int:
    """Return the size of an f16 KV cache: two values of each head's length for each layer and token."""
    info = read_gguf(model)
    values, name = info.metadata, info.architecture
    if not info.layers or not info.embedding_length or not isinstance(info.heads, int):
        raise SystemExit(f"{model}: heads that differ by layer; this script knows plain attention models.")
    head = info.embedding_length // info.heads
    lengths = (values.get(f"{name}.attention.{kind}_length", head) for kind in ("key", "value"))
    kv_heads = info.kv_heads if isinstance(info.kv_heads, int) else info.heads
    return 2 * ctx * info.layers * kv_heads * sum(int(str(length)) for length in lengths)


def settings_of(model: Path, ctx: int) -> EngineSettings:
    return EngineSettings(model_path=model, model_sha256=sha256_of(model), ctx=ctx)


def request(tokens: int) -> ChatRequest:
    """Return a request whose prompt has about that many tokens."""
    return ChatRequest(messages=({"role": "user", "content": " the" * tokens},), max_tokens=16)


def peaks(model: Path, ctx: int, prompt: int) -> tuple[int, int, int]:
    """Return the weights' size, and the peak resident memory of the engine's process and of this one.

    This one holds what a run holds besides: its code, every bundled trace, all samples of the gate.
    """
    from edge_agentic import benchmark
    from edge_agentic.cli.job import read_traces

    held = (benchmark, read_traces(["bundled"]), gate_samples())
    engine = ChildEngine(settings_of(model, ctx))
    try:
        engine.generate(request(prompt))
        weights = int(engine.info().details["weights_bytes"])
        return weights, resident(engine._process.pid or 0, "VmHWM"), resident("self", "VmHWM")
    finally:
        engine.close()
        del held


def held_after_loads(model: Path, loads: int) -> list[int]:
    """Return the resident memory of one process after each load, use and release of the model."""
    from bfcl_gate.model.llama_engine import LlamaEngine

    settings, held = settings_of(model, 2048), []
    for _ in range(loads):
        engine = LlamaEngine(settings, RawArray("B", 2))
        engine.generate(request(64))
        engine.close()
        held.append(resident("self", "VmRSS"))
    return held


def in_a_process_of_its_own(*arguments: str) -> list[int]:
    """Run one part of this script alone, so that nothing else is in its figures, and return what it printed."""
    done = subprocess.run(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True, text=True
    )
    return [int(value) for value in json.loads(done.stdout)]


def check_peak(model: Path, ctx: int, prompt: int) -> bool:
    weights, child, parent = in_a_process_of_its_own(
        "--part", "peaks", "--model", str(model), "--ctx", str(ctx), "--prompt", str(prompt)
    )
    kv = kv_bytes(model, ctx)
    limit = weights + kv + ALLOWANCE
    parts = f"weights {weights / MB:,.1f} MB + KV {kv / MB:,.1f} MB + {ALLOWANCE / MB:.0f} MB"
    sys.stdout.write(
        f"{model.name}, context {ctx:,}\n"
        f"  {parts} = limit {limit / MB:,.1f} MB\n"
        f"  peak: engine process {child / MB:,.1f} MB, asking process {parent / MB:,.1f} MB, together "
        f"{(child + parent) / MB:,.1f} MB, {(limit - child - parent) / MB:,.1f} MB below the limit\n"
    )
    return child + parent <= limit


def check_leaks(model: Path, loads: int) -> bool:
    held = in_a_process_of_its_own("--part", "loads", "--model", str(model), "--loads", str(loads))
    half = len(held) // 2
    growth = statistics.median(held[half:]) - statistics.median(held[:half])
    limit = GROWTH * model.stat().st_size
    sys.stdout.write(
        f"  after each of {loads} loads, MB: {', '.join(f'{value / MB:.1f}' for value in held)}\n"
        f"  later half - earlier half (medians): {growth / MB:+.1f} MB, limit {limit / MB:.1f} MB\n"
    )
    return growth <= limit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", action="append")
    parser.add_argument("--ctx", type=int, default=32_768)
    parser.add_argument("--prompt", type=int, default=2048)
    parser.add_argument("--loads", type=int, default=10)
    parser.add_argument("--part", choices=("peaks", "loads"), help="used by the script itself")
    given = parser.parse_args()
    models = [fetch_model(name) for name in given.model or [DEFAULT]]
    if given.part == "peaks":
        sys.stdout.write(json.dumps(peaks(models[0], given.ctx, given.prompt)))
        return 0
    if given.part == "loads":
        sys.stdout.write(json.dumps(held_after_loads(models[0], given.loads)))
        return 0
    kept = []
    for model in models:
        kept += [check_peak(model, given.ctx, given.prompt), check_leaks(model, given.loads)]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
