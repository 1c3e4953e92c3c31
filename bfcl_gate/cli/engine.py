"""From engine options to a loaded engine, for both commands. Heavy imports wait until they are needed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfcl_gate.errors import InputError

if TYPE_CHECKING:
    from bfcl_gate.cache import Progress
    from bfcl_gate.model.chat import ChatRequest
    from bfcl_gate.model.engine import Engine, EngineSettings

_CTX_STEP = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The engine options of the command line as they were given; `model` None is the embedded model."""

    model: str | None = None
    endpoint: str | None = None
    api_key_env: str | None = None
    ctx: int | None = None
    threads: int | None = None
    gpu_layers: int = 0
    kv_type: str = "f16"
    flash_attn: str = "on"
    speculative: str = "none"
    max_tokens: int = 1024
    seed: int = 42
    template_args: tuple[str, ...] = ()
    chat_template: Path | None = None


_LOCAL_ONLY = ("ctx", "threads", "gpu_layers", "kv_type", "flash_attn", "speculative", "chat_template")


def engine_settings(options: EngineOptions, progress: "Progress | None" = None) -> "EngineSettings":
    """Resolve the model to a verified file and return the local engine's settings, ctx 0 where not given.

    Raises InputError for options that do not fit together, SourceError where the model cannot be had.
    """
    _check(options)
    from bfcl_gate.cache import sha256_of
    from bfcl_gate.download import fetch_model
    from bfcl_gate.model import catalog
    from bfcl_gate.model.engine import EngineSettings

    path = fetch_model(options.model or catalog.DEFAULT, progress)
    return EngineSettings(
        model_path=path,
        model_sha256=sha256_of(path, progress),
        ctx=options.ctx or 0,
        threads=options.threads,
        gpu_layers=options.gpu_layers,
        kv_type=options.kv_type,
        flash_attn=options.flash_attn == "on",
        speculative=options.speculative,
        seed=options.seed,
        template_args=tuple(_template_arg(given) for given in options.template_args),
        chat_template=None if options.chat_template is None else _read_template(options.chat_template),
    )


def describe_model(options: EngineOptions, settings: "EngineSettings") -> dict[str, Any]:
    """Return what is kept of the model's identity; no path of this machine."""
    from bfcl_gate.model import catalog

    return {
        "name": Path(options.model or catalog.DEFAULT).name,
        "file": settings.model_path.name,
        "sha256": settings.model_sha256,
        "bytes": settings.model_path.stat().st_size,
    }


def open_engine(settings: "EngineSettings", trajectories: "Sequence[Sequence[ChatRequest]]") -> "Engine":
    """Load the local engine; a ctx of 0 becomes the smallest multiple of 256 that holds every request.

    `trajectories` are the requests that will be made, those of one conversation together.
    """
    from bfcl_gate.model.child_engine import ChildEngine

    if settings.ctx == 0:
        planner = ChildEngine(replace(settings, ctx=_CTX_STEP, vocab_only=True))
        try:
            settings = replace(settings, ctx=needed_ctx(planner, trajectories))
        finally:
            planner.close()
    return ChildEngine(settings)


def needed_ctx(engine: "Engine", trajectories: "Sequence[Sequence[ChatRequest]]") -> int:
    """Return the context in tokens that holds every prompt with its longest answer, a multiple of 256."""
    largest = 1
    for requests in trajectories:
        for request, planned in zip(requests, engine.plan(requests) or (), strict=True):
            answer = max(request.max_tokens, planned.answer_tokens or 0)
            largest = max(largest, planned.prompt_tokens + answer)
    return -(-largest // _CTX_STEP) * _CTX_STEP


def _check(options: EngineOptions) -> None:
    for option, value, allowed in (
        ("--kv-type", options.kv_type, ("f16", "q8_0", "q4_0")),
        ("--flash-attn", options.flash_attn, ("on", "off")),
        ("--speculative", options.speculative, ("none", "prompt-lookup")),
    ):
        if value not in allowed:
            raise InputError(f"{option} {value!r} is unknown; expected one of {', '.join(allowed)}.")
    if options.endpoint is None:
        if options.api_key_env is not None:
            raise InputError("--api-key-env belongs to --endpoint; a local model needs no key. Leave it out.")
        return
    _refuse_local_options(options)
    raise InputError("--endpoint is not supported by this version; give --model NAME or --model PATH.gguf.")


def _refuse_local_options(options: EngineOptions) -> None:
    defaults = {field.name: field.default for field in fields(EngineOptions)}
    changed = [name for name in _LOCAL_ONLY if getattr(options, name) != defaults[name]]
    if changed:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
        raise InputError(
            f"{names}: an endpoint cannot be told this; the server decides it. Leave the option out and "
            "set it where the server is started, or use a local --model."
        )


def _template_arg(given: str) -> tuple[str, Any]:
    """Read K=V; V is taken as JSON where it is JSON (true, 3, "text"), else as text."""
    key, sign, value = given.partition("=")
    if not sign or not key:
        raise InputError(f"--template-arg {given!r}: expected K=V, for example enable_thinking=false.")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _read_template(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"--chat-template {path}: cannot be read as UTF-8 text ({error}).") from error
