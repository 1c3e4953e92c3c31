"""The engine options, declared once for every command that runs a model."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

Command = Callable[..., None]

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", help="Catalogue name, or path of a .gguf file.", show_default="the embedded model"
    ),
]
TemplateArgOption = Annotated[
    list[str] | None,
    typer.Option("--template-arg", metavar="K=V", help="Variable for the chat template; repeatable."),
]
ChatTemplateOption = Annotated[
    Path | None,
    typer.Option(
        "--chat-template", metavar="FILE", help="Jinja file to use instead of the model's template."
    ),
]

MOST = 2**31 - 1
"""The largest count an option takes: llama.cpp's have 32 bits, and what is written has to be read back."""

MOST_AT_ONCE = 4096
"""The most requests at once: each is a connection and a thread of the server, and has a row in a sweep's table."""

MOST_SECONDS = 1_000_000.0
"""The longest time an option takes: the system's own limit for a wait on a socket is little above it."""


def number(value: float | None) -> float | None:
    """Return the number an option was given. Refuses NaN, which no bound of the framework stops."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number to reckon with.")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The engine options of the command line as they were given; `model` None is the embedded model."""

    model: ModelOption = None
    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint", help="Base URL of an OpenAI-compatible server; --model is then the served name."
        ),
    ] = None
    api_key_env: Annotated[
        str | None, typer.Option("--api-key-env", help="Environment variable that holds the endpoint's key.")
    ] = None
    request_timeout: Annotated[
        float | None,
        typer.Option(
            "--request-timeout",
            metavar="SECONDS",
            min=0.001,
            max=MOST_SECONDS,
            callback=number,
            help="Longest time for one answer of an endpoint.",
            show_default="generous, by the length of the prompt",
        ),
    ] = None
    ctx: Annotated[
        int | None,
        typer.Option(
            "--ctx", min=1, max=MOST, help="Context in tokens.", show_default="largest prompt + max tokens"
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, max=1024, help="CPU threads.", show_default="all usable"),
    ] = None
    gpu_layers: Annotated[
        int, typer.Option("--gpu-layers", min=-1, max=MOST, help="Layers on the GPU; -1 is all.")
    ] = 0
    kv_type: Annotated[str, typer.Option("--kv-type", help="KV cache type: f16, q8_0 or q4_0.")] = "f16"
    flash_attn: Annotated[str, typer.Option("--flash-attn", help="Flash attention: on or off.")] = "on"
    speculative: Annotated[
        str,
        typer.Option(
            "--speculative", help="Drafts: none, or prompt-lookup (what the conversation repeats, verified)."
        ),
    ] = "none"
    reuse: Annotated[
        str,
        typer.Option(
            "--reuse",
            help="Prefix kept from turn to turn: any, or canonical (whole chunks of 512 tokens, so that every answer "
            "has the very logits of an empty cache).",
        ),
    ] = "any"
    special_in_content: Annotated[
        str,
        typer.Option(
            "--special-in-content",
            help="What the text of a control token in a message becomes: text, or with parse the token, as in "
            "llama-server.",
        ),
    ] = "text"
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, max=MOST, help="Longest answer in tokens.")
    ] = 1024
    seed: Annotated[
        int,
        typer.Option(
            "--seed", min=0, max=4294967295, help="Seed (decoding is greedy; recorded for the reader)."
        ),
    ] = 42
    template_args: tuple[str, ...] = ()
    chat_template: ChatTemplateOption = None


DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(EngineOptions)}
"""Every engine option by name, in the order of --help."""


def with_engine_options(**instead: Any) -> Callable[[Command], Command]:
    """Put the engine options in the place of a command's parameter `engine`, which gets them as EngineOptions.

    `instead` declares an option in another way for this command.
    """
    hints = get_type_hints(EngineOptions, include_extras=True)
    declared = {**hints, "template_args": TemplateArgOption, **instead}
    shared = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=None if default == () else default,
            annotation=declared[name],
        )
        for name, default in DEFAULTS.items()
    ]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(**given: Any) -> None:
            engine = {name: given.pop(name) for name in DEFAULTS}
            engine["template_args"] = tuple(engine["template_args"] or ())
            command(**given, engine=EngineOptions(**engine))

        own = list(signature(command).parameters.values())
        place = next(at for at, parameter in enumerate(own) if parameter.name == "engine")
        own[place : place + 1] = shared
        # typer reads this attribute, which the type of a function does not declare.
        with_options.__signature__ = signature(command).replace(parameters=own)  # type: ignore[attr-defined]
        return with_options

    return decorate
