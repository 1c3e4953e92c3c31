"""From engine options to a loaded engine, for both commands. Heavy imports wait until they are needed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfcl_gate.cli.options import DEFAULTS, EngineOptions
from bfcl_gate.errors import InputError
from bfcl_gate.files import MAX_DEPTH, NumberError, is_unicode, plain_json, read_text

if TYPE_CHECKING:
    from bfcl_gate.cache import Progress
    from bfcl_gate.model.chat import ChatRequest
    from bfcl_gate.model.endpoint_engine import EndpointSettings
    from bfcl_gate.model.engine import Engine, EngineSettings
    from bfcl_gate.ruleset import GatePolicy
    from bfcl_gate.samples import Sample

_CTX_STEP = 256


LOCAL_ONLY = (
    "ctx",
    "threads",
    "gpu_layers",
    "kv_type",
    "flash_attn",
    "speculative",
    "reuse",
    "special_in_content",
    "chat_template",
)
"""Options that an endpoint cannot be told."""

# The context is no part of an engine's identity, and of a template its hash is told.
_LOCAL_IDENTITY = tuple(name for name in LOCAL_ONLY if name not in ("ctx", "chat_template"))

_ENDPOINT_ONLY = ("api_key_env", "request_timeout")


def engine_settings(
    options: EngineOptions, progress: "Progress | None" = None, *, as_reference: bool = False
) -> "EngineSettings | EndpointSettings":
    """Return how to make the engine that the options ask for: a verified local file, or a server.

    `as_reference` keeps the requests to a server to what the MLPerf reference sends. Raises InputError for options
    that do not fit together, SourceError where the model cannot be had, EngineError where a server that has to name
    its model is not there.
    """
    _check(options)
    if options.endpoint is not None:
        return _endpoint_settings(options, options.endpoint, as_reference)
    return local_settings(options, progress)


def _endpoint_settings(options: EngineOptions, url: str, as_reference: bool) -> "EndpointSettings":
    from bfcl_gate.model.endpoint_engine import EndpointSettings, address_of, model_of

    address = address_of(url, options.api_key_env)
    arguments = _template_args(options)
    return EndpointSettings(
        address=address,
        model=model_of(address) if options.model is None else options.model,
        seed=options.seed,
        template_args=arguments,
        timeout_s=options.request_timeout,
        as_reference=as_reference,
    )


def local_settings(options: EngineOptions, progress: "Progress | None" = None) -> "EngineSettings":
    """Resolve the model to a verified file and return the local engine's settings, ctx 0 where not given.

    Raises InputError for options that do not fit together, SourceError where the model cannot be had.
    """
    _check(options)
    from bfcl_gate.cache import sha256_of
    from bfcl_gate.download import fetch_model
    from bfcl_gate.model import catalog
    from bfcl_gate.model.engine import EngineSettings

    arguments = _template_args(options)
    template = None if options.chat_template is None else _read_template(options.chat_template)
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
        reuse=options.reuse,
        special_in_content=options.special_in_content,
        seed=options.seed,
        template_args=arguments,
        chat_template=template,
    )


def describe_model(options: EngineOptions, settings: "EngineSettings | EndpointSettings") -> dict[str, Any]:
    """Return what is kept of the model's identity: verified by its hash, or as a server states it; no path."""
    from bfcl_gate.model import catalog
    from bfcl_gate.model.endpoint_engine import public_name

    if settings.model_path is None:
        return {"name": public_name(settings.model), "identity": "stated"}
    return {
        "name": Path(options.model or catalog.DEFAULT).name,
        "file": settings.model_path.name,
        "sha256": settings.model_sha256,
        "bytes": settings.model_path.stat().st_size,
        "identity": "verified",
    }


def asked_of(settings: "EngineSettings | EndpointSettings") -> dict[str, Any]:
    """Return what options say of an engine's identity, known before it is loaded: a finished run may be another's."""
    from hashlib import sha256

    told: dict[str, Any] = {"template_args": dict(settings.template_args)}
    if settings.model_path is None:
        return told
    template = settings.chat_template
    told["chat_template"] = None if template is None else sha256(template.encode()).hexdigest()
    return {**told, **{name: getattr(settings, name) for name in _LOCAL_IDENTITY}}


def open_engine(
    settings: "EngineSettings | EndpointSettings", trajectories: "Sequence[Sequence[ChatRequest]]"
) -> "Engine":
    """Load the local engine, or ask the server what it is.

    `trajectories` are the requests that will be made, those of one conversation together: a local ctx of 0 becomes the
    smallest multiple of 256 that holds every one of them. Raises EngineError when there is nothing to ask.
    """
    if settings.model_path is None:
        from bfcl_gate.model.endpoint_engine import EndpointEngine

        return EndpointEngine(settings)
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
    return -(-_largest(engine, trajectories) // _CTX_STEP) * _CTX_STEP


def _largest(engine: "Engine", trajectories: "Sequence[Sequence[ChatRequest]]") -> int:
    """Return the tokens of the largest prompt with its longest answer."""
    largest = 1
    for requests in trajectories:
        for request, planned in zip(requests, engine.plan(requests) or (), strict=True):
            answer = max(request.max_tokens, planned.answer_tokens or 0)
            largest = max(largest, planned.prompt_tokens + answer)
    return largest


def require_room_for_gate(
    options: EngineOptions, engine: "Engine", samples: "Sequence[Sample]", policy: "GatePolicy"
) -> None:
    """Raise InputError where --ctx was given and does not hold every gate sample: they may be asked hours from now."""
    from bfcl_gate.gate import gate_request

    if options.ctx is None:
        return
    needed = _largest(engine, [[gate_request(sample, policy)] for sample in samples])
    if needed > options.ctx:
        raise InputError(
            f"--ctx {options.ctx}: the longest prompt of the gate with an answer of up to {policy.max_tokens} tokens "
            f"needs a context of {needed}. Leave --ctx out, give at least that, or lower --max-tokens."
        )


def _check(options: EngineOptions) -> None:
    for option, value, allowed in (
        ("--kv-type", options.kv_type, ("f16", "q8_0", "q4_0")),
        ("--flash-attn", options.flash_attn, ("on", "off")),
        ("--speculative", options.speculative, ("none", "prompt-lookup")),
        ("--reuse", options.reuse, ("any", "canonical")),
        ("--special-in-content", options.special_in_content, ("text", "parse")),
    ):
        if value not in allowed:
            raise InputError(f"{option} {value!r} is unknown; expected one of {', '.join(allowed)}.")
    for option, name in (("--model", options.model), ("--endpoint", options.endpoint)):
        if name is not None and not is_unicode(name):
            raise InputError(
                f"{option} {name!a}: is not UTF-8, so no result can keep it; rename what it names."
            )
    if options.endpoint is None and (names := _changed(options, _ENDPOINT_ONLY)):
        raise InputError(f"{names}: belongs to --endpoint; a local model has no use for it. Leave it out.")
    if options.endpoint is not None and (names := _changed(options, LOCAL_ONLY)):
        raise InputError(
            f"{names}: an endpoint cannot be told this; the server decides it. Leave the option out and "
            "set it where the server is started, or use a local --model."
        )


def require_one_at_a_time(concurrency: int, options: EngineOptions) -> None:
    """Raise InputError where more than one request at once is asked of the local engine."""
    if concurrency != 1 and options.endpoint is None:
        raise InputError(
            f"--concurrency {concurrency}: the local engine answers one request at a time; more than one needs "
            "--endpoint. Leave the option out."
        )


def check_gate_speed(parallel: int, share_prefix: bool, options: EngineOptions) -> None:
    """Raise InputError where the gate cannot be asked several samples at once, or on a shared prefix."""
    given = {"--parallel": parallel > 1, "--share-prefix": share_prefix}
    names = ", ".join(name for name, is_given in given.items() if is_given)
    if names and options.endpoint is not None:
        raise InputError(
            f"{names}: belongs to a local model; a server decides itself what it evaluates together and keeps. "
            "Leave it out, or use --concurrency."
        )
    if names and options.speculative != "none":
        raise InputError(
            f"{names}: samples that are evaluated together are not drafted for, so --speculative "
            f"{options.speculative} would not be what the gate proves. Leave one of the two out."
        )


def _changed(options: EngineOptions, names: Sequence[str]) -> str:
    """Return those of the options that were given, as the command line spells them."""
    changed = [name for name in names if getattr(options, name) != DEFAULTS[name]]
    return ", ".join(f"--{name.replace('_', '-')}" for name in changed)


def _template_args(options: EngineOptions) -> tuple[tuple[str, Any], ...]:
    return tuple(_template_arg(given) for given in options.template_args)


def _template_arg(given: str) -> tuple[str, Any]:
    """Read K=V; V is taken as JSON where it is JSON (true, 3, "text"), else as text."""
    key, sign, text = given.partition("=")
    if not sign or not key:
        raise InputError(f"--template-arg {given!r}: expected K=V, for example enable_thinking=false.")
    try:
        value = plain_json(text)
    except json.JSONDecodeError:
        value = text
    except NumberError as error:
        raise _unfit(given, f"it holds the number {error}") from error
    except RecursionError as error:
        raise _unfit(given, "it is nested too deeply") from error
    if not is_unicode(json.dumps([key, value], ensure_ascii=False)):
        raise _unfit(given, "its text is not UTF-8")
    return key, value


def _unfit(given: str, reason: str) -> InputError:
    return InputError(
        f"--template-arg {given[:60]!a}: no template can be given that ({reason}); expected K=V with V a text or "
        f"JSON, its numbers finite and of 64 bits, at most {MAX_DEPTH} levels deep."
    )


def _read_template(path: Path) -> str:
    try:
        return read_text(path, "a Jinja chat template")
    except InputError as error:
        raise InputError(f"--chat-template {error}") from error
