"""Loads a model file and says what was loaded."""

import ctypes
import hashlib
import math
import os
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from llama_cpp import llama_cpp as api

from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine import binding
from bfcl_gate.model.llama_engine.decoder import KV_TYPES, N_BATCH
from bfcl_gate.model.sandbox import CLOCK

LOAD_MODE = "none"
"""Weights are read, not memory-mapped: on unified memory a mapping would leave a second copy in the page cache."""

SPECULATIVE = ("none", "prompt-lookup")

# llama.cpp's own record of a position of the context (vendored llama-kv-cells.h), before any key or value. It fills
# them before it asks for the large buffers, whose refusal is an error: an absurd context would take the machine along.
_BYTES_PER_POSITION = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """llama.cpp's model and what became of the request to offload it. `load_ns` is the time loading took."""

    handle: Any
    load_ns: int
    offloaded_layers: int


def load_model(settings: EngineSettings) -> LoadedModel:
    """Load the model file of `settings`.

    Raises InputError for settings that no engine has, EngineError when llama.cpp refuses the file.
    """
    _check(settings)
    api.llama_backend_init()
    binding.clear_log()
    parameters = binding.with_fields(
        api.llama_model_default_params(),
        n_gpu_layers=settings.gpu_layers,
        load_mode=api.LLAMA_LOAD_MODE_NONE,
        vocab_only=settings.vocab_only,
    )
    begin = perf_counter_ns()
    handle = api.llama_model_load_from_file(os.fsencode(settings.model_path), parameters)
    if not handle:
        raise EngineError(
            f"{settings.model_path}: llama.cpp could not load this model ({binding.log_tail()}). The file is damaged, "
            f"too large for the memory, or of an architecture that {binding.build()} does not know."
        )
    return LoadedModel(
        handle=handle, load_ns=perf_counter_ns() - begin, offloaded_layers=binding.offloaded_layers()
    )


def _check(settings: EngineSettings) -> None:
    if settings.kv_type not in KV_TYPES:
        raise InputError(f"--kv-type {settings.kv_type}: expected one of {', '.join(KV_TYPES)}.")
    for option, value, known in (
        ("--special-in-content", settings.special_in_content, ("text", "parse")),
        ("--reuse", settings.reuse, ("any", "canonical")),
    ):
        if value not in known:
            raise InputError(f"{option} {value}: expected one of {', '.join(known)}.")
    if settings.kv_type != "f16" and not settings.flash_attn:
        raise InputError(
            f"--kv-type {settings.kv_type} needs flash attention in llama.cpp; leave --flash-attn on."
        )
    if not settings.vocab_only and settings.ctx * _BYTES_PER_POSITION > _physical_memory():
        raise EngineError(
            f"A context of {settings.ctx} tokens cannot be held in this machine's memory. Lower --ctx, or leave it out."
        )
    if settings.speculative not in SPECULATIVE:
        raise InputError(f"--speculative {settings.speculative}: expected one of {', '.join(SPECULATIVE)}.")


def _physical_memory() -> float:
    """Return the machine's memory in bytes, infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def chat_template_of(model: LoadedModel, settings: EngineSettings) -> str:
    """Return the given chat template, else the model's own; raises InputError when there is neither."""
    if settings.chat_template is not None:
        return settings.chat_template
    raw = api.llama_model_chat_template(model.handle, None)
    if not raw:
        raise InputError(
            f"{settings.model_path}: this model holds no chat template, so it cannot be asked as an agent would. "
            "Use an instruction-tuned model or give a template with --chat-template FILE."
        )
    return str(raw.decode(errors="replace"))


def original_context(handle: Any) -> int:
    """Return the context in tokens beyond which a model scales its positions (RoPE), else what it was trained on."""
    architecture = _metadata(handle, "general.architecture")
    original = _metadata(handle, f"{architecture}.rope.scaling.original_context_length")
    return int(original) if original.isdecimal() else int(api.llama_model_n_ctx_train(handle))


def _metadata(handle: Any, key: str) -> str:
    """Return a metadata value of a model as text, "" where it has none; cut at 256 bytes."""
    buffer = ctypes.create_string_buffer(256)
    length = api.llama_model_meta_val_str(handle, key.encode(), buffer, len(buffer))
    return "" if length < 0 else buffer.value.decode(errors="replace")


def identity_of(
    model: LoadedModel, settings: EngineSettings, threads: int, template: str
) -> dict[str, object]:
    """Return what makes this engine this engine: the values that are hashed into engine_id."""
    return {
        "model_sha256": settings.model_sha256,
        "template_sha256": hashlib.sha256(template.encode()).hexdigest(),
        "template_args": dict(settings.template_args),
        "template_clock": CLOCK.isoformat(),
        "special_in_content": settings.special_in_content,
        "reuse": settings.reuse,
        "kv_type": settings.kv_type,
        "flash_attn": settings.flash_attn,
        "n_batch": N_BATCH,
        "n_ubatch": N_BATCH,
        "threads": threads,
        "gpu_layers": settings.gpu_layers,
        "load_mode": LOAD_MODE,
        "speculative": settings.speculative,
        "build": binding.build(),
        "beyond_trained_context": settings.ctx > original_context(model.handle),
    }


def details_of(model: LoadedModel, settings: EngineSettings) -> dict[str, object]:
    """Return what else is worth recording of the model and of the machine's part in it."""
    handle = model.handle
    return {
        "system_info": binding.system_info(),
        "devices": list(binding.devices()),
        "layers": api.llama_model_n_layer(handle),
        "asked_gpu_layers": settings.gpu_layers,
        "offloaded_layers": model.offloaded_layers,
        "supports_gpu_offload": bool(api.llama_supports_gpu_offload()),
        "trained_context": api.llama_model_n_ctx_train(handle),
        "parameters": api.llama_model_n_params(handle),
        "weights_bytes": api.llama_model_size(handle),
        "recurrent": bool(api.llama_model_is_recurrent(handle)),
        "hybrid": bool(api.llama_model_is_hybrid(handle)),
        "sliding_window_tokens": api.llama_model_n_swa(handle),
        "load_ns": model.load_ns,
    }
