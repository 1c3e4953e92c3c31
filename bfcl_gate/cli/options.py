"""The engine options of design §3, declared once for every command that runs a model."""

from typing import Annotated

import typer

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", help="Catalogue name, or path of a .gguf file.", show_default="the embedded model"
    ),
]
EndpointOption = Annotated[
    str | None,
    typer.Option(
        "--endpoint", help="Base URL of an OpenAI-compatible server; --model is then the served name."
    ),
]
ApiKeyEnvOption = Annotated[
    str | None, typer.Option("--api-key-env", help="Environment variable that holds the endpoint's key.")
]
RequestTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--request-timeout",
        metavar="SECONDS",
        min=0.001,
        help="Longest time for one answer of an endpoint.",
        show_default="generous, by the length of the prompt",
    ),
]
CtxOption = Annotated[
    int | None,
    typer.Option("--ctx", min=1, help="Context in tokens.", show_default="largest prompt + max tokens"),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, max=1024, help="CPU threads.", show_default="all usable")
]
GpuLayersOption = Annotated[int, typer.Option("--gpu-layers", min=-1, help="Layers on the GPU; -1 is all.")]
KvTypeOption = Annotated[str, typer.Option("--kv-type", help="KV cache type: f16, q8_0 or q4_0.")]
FlashAttnOption = Annotated[str, typer.Option("--flash-attn", help="Flash attention: on or off.")]
SpeculativeOption = Annotated[
    str, typer.Option("--speculative", help="Speculative decoding: none or prompt-lookup.")
]
MaxTokensOption = Annotated[int, typer.Option("--max-tokens", min=1, help="Longest answer in tokens.")]
SeedOption = Annotated[
    int,
    typer.Option("--seed", min=0, max=4294967295, help="Seed (decoding is greedy; recorded for the reader)."),
]
TemplateArgOption = Annotated[
    list[str] | None,
    typer.Option("--template-arg", metavar="K=V", help="Variable for the chat template; repeatable."),
]
ChatTemplateOption = Annotated[
    str | None,
    typer.Option(
        "--chat-template", metavar="FILE", help="Jinja file to use instead of the model's template."
    ),
]
