"""`bfcl-gate run`: ask every sample of a model and judge the answers."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfcl_gate.cli import options as opt
from bfcl_gate.cli.engine import EngineOptions, engine_settings, open_engine
from bfcl_gate.cli.progress import shown, transfer
from bfcl_gate.ruleset import GatePolicy

if TYPE_CHECKING:
    from bfcl_gate.answers import Answer
    from bfcl_gate.model.engine import Engine
    from bfcl_gate.samples import Sample

SampleOption = Annotated[
    str,
    typer.Option(
        "--sample", help="mlperf (995), quick (screening), full (3,641), or a file with one id a line."
    ),
]
RulesOption = Annotated[str, typer.Option("--rules", help="Checker rules: mlperf or official.")]
ToolSchemasOption = Annotated[
    str, typer.Option("--tool-schemas", help="How tools are put: mlperf or official.")
]
CallsOption = Annotated[str, typer.Option("--calls", help="Which reading is judged: native or lenient.")]
OutputOption = Annotated[Path | None, typer.Option("--output", metavar="DIR", help="Keep the run here.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue the run in --output.")]


def run(
    *,
    model: opt.ModelOption = None,
    endpoint: opt.EndpointOption = None,
    api_key_env: opt.ApiKeyEnvOption = None,
    ctx: opt.CtxOption = None,
    threads: opt.ThreadsOption = None,
    gpu_layers: opt.GpuLayersOption = 0,
    kv_type: opt.KvTypeOption = "f16",
    flash_attn: opt.FlashAttnOption = "on",
    speculative: opt.SpeculativeOption = "none",
    max_tokens: opt.MaxTokensOption = 1024,
    seed: opt.SeedOption = 42,
    template_arg: opt.TemplateArgOption = None,
    chat_template: opt.ChatTemplateOption = None,
    sample: SampleOption = "mlperf",
    rules: RulesOption = "mlperf",
    tool_schemas: ToolSchemasOption = "mlperf",
    calls: CallsOption = "lenient",
    output: OutputOption = None,
    resume: ResumeOption = False,
) -> None:
    """Ask a model the samples of BFCL v4 and judge whether it calls functions accurately enough."""
    policy = GatePolicy(
        sample=sample, rules=rules, tool_schemas=tool_schemas, calls=calls, max_tokens=max_tokens
    )
    options = EngineOptions(
        model=model,
        endpoint=endpoint,
        api_key_env=api_key_env,
        ctx=ctx,
        threads=threads,
        gpu_layers=gpu_layers,
        kv_type=kv_type,
        flash_attn=flash_attn,
        speculative=speculative,
        max_tokens=max_tokens,
        seed=seed,
        template_args=tuple(template_arg or ()),
        chat_template=None if chat_template is None else Path(chat_template),
    )
    _run(options, policy, output, resume)


def _run(options: EngineOptions, policy: GatePolicy, output: Path | None, resume: bool) -> None:
    from bfcl_gate.gate import gate_request
    from bfcl_gate.run_folder import open_folder
    from bfcl_gate.samples import gate_samples

    settings = engine_settings(options, transfer)
    samples = gate_samples(policy.sample, tools=policy.tool_schemas)
    if output is not None:
        open_folder(output, resume=resume)
    engine = open_engine(settings, [[gate_request(sample, policy)] for sample in samples])
    try:
        answers = _ask(engine, samples, policy, output)
    finally:
        engine.close()
    right = sum(answer.correct for answer in answers)
    sys.stdout.write(f"{right} of {len(answers)} right ({policy.calls})\n")


def _ask(
    engine: "Engine", samples: "tuple[Sample, ...]", policy: GatePolicy, output: Path | None
) -> "tuple[Answer, ...]":
    from bfcl_gate.gate import ask, ask_and_keep
    from bfcl_gate.run_folder import JOURNAL

    if output is None:
        answers = ask(engine, samples, policy)
    else:
        answers = ask_and_keep(engine, samples, policy, output / JOURNAL)
    return tuple(shown(answers, "gate", len(samples)))
