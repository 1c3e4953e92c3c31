"""What can be said of this machine before a run: does the model fit, and is anything in the way of a fair measurement?

Facts come in, findings go out: the machine's rules are those a run is judged by afterwards (`edge_agentic.validity`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bfcl_gate.model.findings import INFO, INVALID, WARN, Finding
from bfcl_gate.model.model_file import GgufInfo
from edge_agentic.report.content import ADVICE
from edge_agentic.validity.machine_rules import check_machine

_BYTES_PER_VALUE = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
"""Of a key or value in the cache, block scales included."""

_BESIDE_BYTES = 600 << 20
"""Python, llama.cpp's work buffers at 512 tokens a chunk, and the logits: generous for small models."""

LEAST_DISK_BYTES = 1 << 30
_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a run will need: tokens of its largest prompt and answer, and the context it would be given."""

    tokens: int | None
    ctx: int
    kv_type: str
    gpu_layers: int
    threads: int | None


def kv_bytes(model: GgufInfo, ctx: int, kv_type: str) -> int | None:
    """Return the bytes of a full KV cache, at most: every layer counts as attention. None where too little is said.

    ctx x Σ over layers of kv_heads x (key_length + value_length) x bytes a value; a head is embedding / heads long
    where the file does not say (as llama.cpp takes it).
    """
    layers, heads = model.layers, model.heads
    kv_heads = model.kv_heads if model.kv_heads is not None else heads
    if layers is None or heads is None or kv_heads is None or not model.embedding_length:
        return None
    most = max(heads) if isinstance(heads, tuple) else heads
    size = [model.metadata.get(f"{model.architecture}.attention.{name}_length") for name in ("key", "value")]
    usual = model.embedding_length // most if most else 0
    key, value = (length if isinstance(length, int) else usual for length in size)
    total_heads = sum(kv_heads) if isinstance(kv_heads, tuple) else layers * kv_heads
    return round(ctx * total_heads * (key + value) * _BYTES_PER_VALUE[kv_type])


def engine_finding(details: Mapping[str, Any], build: str) -> Finding:
    """Say that llama.cpp loaded, with which devices."""
    devices = ", ".join(str(device) for device in details.get("devices") or ()) or "CPU"
    return Finding(
        name="engine",
        level=INVALID,
        passed=True,
        detail=f"{build}; devices: {devices}",
        meaning="the local engine loads; another build is another engine with another speed",
    )


def offload_finding(details: Mapping[str, Any], gpu_layers: int) -> Finding:
    """Say whether the layers that are asked for can be on a GPU."""
    can = bool(details.get("supports_gpu_offload"))
    asked = "no layer is asked for" if gpu_layers == 0 else f"--gpu-layers {gpu_layers}"
    return Finding(
        name="offload",
        level=INVALID,
        passed=can or gpu_layers == 0,
        detail=f"this build {'can use a GPU' if can else 'has no GPU backend'}; {asked}",
        meaning="a build without the device computes on the CPU; on a Jetson build it with CUDA (README)",
    )


def template_finding(with_tools: int, without: int) -> Finding:
    """Say whether the chat template writes tools into the prompt, by a question's tokens with and without one."""
    return Finding(
        name="template",
        level=WARN,
        passed=with_tools > without,
        detail=f"a question has {without} tokens, with a tool {with_tools}",
        meaning="a template that ignores tools cannot ask for calls; give another with --chat-template FILE",
    )


def context_finding(model: GgufInfo, need: Need) -> Finding:
    """Say whether the context holds the traces' largest prompt with its answer, and what the model was trained for."""
    tokens = "unknown" if need.tokens is None else f"{need.tokens:,}"
    trained = "not stated" if model.context_length is None else f"{model.context_length:,}"
    return Finding(
        name="context",
        level=INVALID,
        passed=None if need.tokens is None else need.tokens <= need.ctx,
        detail=f"the traces need {tokens} tokens, the context has {need.ctx:,}; the model was trained for {trained}",
        meaning="a prompt that does not fit ends the run; leave --ctx out to have it sized by the traces",
    )


def memory_finding(model: GgufInfo, need: Need, available_bytes: int | None) -> Finding:
    """Say whether weights and KV cache fit into the memory that is free now."""
    cache = kv_bytes(model, need.ctx, need.kv_type)
    parts = [("weights", model.size_bytes), ("KV cache at most", cache), ("beside them about", _BESIDE_BYTES)]
    told = ", ".join(f"{name} {size / _GIB:.2f} GiB" for name, size in parts if size is not None)
    wanted = sum(size for _, size in parts if size is not None)
    free = "unknown" if available_bytes is None else f"{available_bytes / _GIB:.2f} GiB"
    on_gpu = need.gpu_layers != 0  # what a GPU of its own has free is not known here
    return Finding(
        name="memory_fit",
        level=WARN if on_gpu else INVALID,
        passed=None if available_bytes is None or cache is None else wanted <= available_bytes,
        detail=f"{told}; available {free}",
        meaning="a model that does not fit swaps or is killed; take a smaller one, a smaller --ctx or --kv-type q8_0",
    )


def threads_finding(environment: Mapping[str, Any], need: Need) -> Finding:
    """Say whether more threads are asked for than processors may be used."""
    cpu = environment.get("cpu") or {}
    # Where a system does not say which processors may be used, the engine takes all.
    usable, physical = cpu.get("usable") or cpu.get("logical"), cpu.get("physical")
    threads = need.threads or usable
    asked, had = ("an unknown number of" if number is None else number for number in (threads, usable))
    detail = f"{asked} threads on {had} usable processors"
    detail += f", {physical} cores in all" if physical else ""
    return Finding(
        name="threads",
        level=WARN,
        passed=None if usable is None or threads is None else threads <= usable,
        detail=detail,
        meaning="more threads than processors wait for each other at every layer",
    )


def disk_finding(free: Mapping[str, int]) -> Finding:
    """Say how much room is left where runs and models are kept."""
    told = ", ".join(f"{name} {size / _GIB:.1f} GiB" for name, size in free.items())
    return Finding(
        name="disk",
        level=WARN,
        passed=all(size >= LEAST_DISK_BYTES for size in free.values()),
        detail=f"free for {told}",
        meaning="a full disk ends a run; what was finished is kept",
    )


def machine_findings(
    before: Mapping[str, Any], after: Mapping[str, Any], model_bytes: int | None
) -> Sequence[Finding]:
    """Apply the rules of a run to two snapshots a moment apart: load, governor, heat, power, memory, swap, quota."""
    manifest = {"engine": {"kind": "local"}, "model": {"bytes": model_bytes}}
    checks = check_machine(manifest, [{"before": before, "after": after}], WARN)
    shown = ("cpu_load", "governor", "throttling", "battery", "memory", "swap_in", "container_cpu")
    return [
        Finding(
            name=check.name,
            level=WARN,
            passed=check.passed,
            detail=check.detail.rstrip("."),
            meaning=ADVICE[check.name],
        )
        for check in checks
        if check.name in shown
    ]


def power_finding(environment: Mapping[str, Any]) -> Finding:
    """Say what the machine is and in which power mode."""
    cpu, power = environment.get("cpu") or {}, environment.get("power") or {}
    modes = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in power.items())
    machine = environment.get("machine") or cpu.get("model") or "unknown machine"
    return Finding(
        name="machine",
        level=INFO,
        passed=True,
        detail=f"{machine}; {modes or 'no power mode is told'}",
        meaning="numbers belong to this power mode; on a Jetson set it with nvpmodel and jetson_clocks",
    )
