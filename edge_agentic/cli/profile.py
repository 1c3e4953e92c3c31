"""What a profile fixes and refuses, checked before anything is read or loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfcl_gate.cli.engine import check_gate_speed, require_one_at_a_time
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.errors import InputError

if TYPE_CHECKING:
    from bfcl_gate.model.engine import EngineInfo
    from bfcl_gate.ruleset import Ruleset


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `run` that are not the engine's, as they were given; None is the profile's own."""

    profile: str
    traces: tuple[str, ...]
    limit: int | None
    output: Path | None
    resume: bool
    decode: str | None
    tool_delay: str
    reasoning: str
    concurrency: int
    calls: str | None
    parallel: int
    share_prefix: bool
    gate_result: Path | None
    baseline: Path | None
    reference: str | None
    min_overall: float | None
    min_normalized: float | None
    show_ungated: bool
    sweep: str | None
    slo: str | None
    engine_compare: str | None


_CHOICES = {
    "--decode": ("forced", "natural"),
    "--tool-delay": ("none", "recorded"),
    "--reasoning": ("keep", "strip"),
    "--calls": ("native", "lenient"),
}


def apply_profile(options: RunOptions, engine: EngineOptions) -> "tuple[Ruleset, EngineOptions]":
    """Return the profile's ruleset and the engine options it asks for.

    Raises InputError for an unknown choice and for an option the profile does not allow.
    """
    from bfcl_gate.ruleset import find_ruleset
    from edge_agentic.slo import parse_slo

    ruleset = find_ruleset(options.profile)
    for option, value in zip(
        _CHOICES, (options.decode, options.tool_delay, options.reasoning, options.calls), strict=True
    ):
        if value is not None and value not in _CHOICES[option]:
            raise InputError(f"{option} {value!r} is unknown; expected one of {', '.join(_CHOICES[option])}.")
    require_one_at_a_time(options.concurrency, engine)
    if engine.endpoint is not None and options.decode == "forced":
        raise InputError(
            "--decode forced: an endpoint decodes its own answers and cannot be told which token comes next. Leave the "
            "option out, or use a local --model."
        )
    check_gate_speed(options.parallel, options.share_prefix, engine)
    if options.slo is not None:
        parse_slo(options.slo)
    if ruleset.strict:
        _refuse_changes(ruleset, options, engine)
        engine = _with_limits(ruleset, engine)
    return ruleset, engine


def _with_limits(ruleset: "Ruleset", engine: EngineOptions) -> EngineOptions:
    """Return the engine options with the ruleset's context, or at an endpoint with its limit for one turn."""
    if engine.endpoint is None:
        return replace(engine, ctx=ruleset.ctx)
    return replace(engine, request_timeout=ruleset.turn_timeout_s)


def require_stated(ruleset: "Ruleset", info: "EngineInfo") -> None:
    """Raise InputError where an endpoint states another context than its ruleset has; what it hides is not known."""
    if info.kind == "endpoint" and None not in (ruleset.ctx, info.ctx) and info.ctx != ruleset.ctx:
        raise InputError(
            f"--endpoint: the server states a context of {info.ctx} tokens for one request, the profile {ruleset.name} "
            f"is defined for {ruleset.ctx}. Start it with that context (llama-server --ctx-size {ruleset.ctx} -np 1), "
            "or use --profile standard."
        )


def _refuse_changes(ruleset: "Ruleset", options: RunOptions, engine: EngineOptions) -> None:
    """Raise for what would make the run another workload than the ruleset's."""
    refused = {
        "--limit": options.limit is not None,
        "--decode": options.decode not in (None, ruleset.decode),
        "--calls": options.calls not in (None, ruleset.gate.calls),
        "--parallel": options.parallel != 1,
        "--share-prefix": options.share_prefix,
        "--tool-delay": options.tool_delay != "none",
        "--reasoning": options.reasoning != "keep",
        "--sweep": options.sweep is not None,
        "--concurrency": options.concurrency != (ruleset.concurrency or 1),
        "--ctx": engine.ctx not in (None, ruleset.ctx),
        "--kv-type": engine.kv_type != ruleset.kv_type,
        "--speculative": engine.speculative != "none",
        "--max-tokens": engine.max_tokens != ruleset.gate.max_tokens,
        "--seed": engine.seed != ruleset.seed,
        "--request-timeout": engine.request_timeout is not None,
        "--template-arg": engine.endpoint is not None and bool(engine.template_args),
    }
    if found := [option for option, changed in refused.items() if changed]:
        raise InputError(
            f"{', '.join(found)}: the profile {ruleset.name} fixes this (context {ruleset.ctx}, KV {ruleset.kv_type}, "
            f"{ruleset.decode} decoding, {ruleset.gate.calls} calls, {ruleset.gate.max_tokens} tokens an answer, no "
            "drafts from the prompt, whole trace, one trajectory and one gate sample at a time). Leave the option out, "
            "or use --profile standard."
        )


def require_workload(ruleset: "Ruleset", trace_sha256: str, model_sha256: str | None) -> None:
    """Raise InputError where a ruleset names one trace and one model and these are others."""
    for option, expected, given in (
        ("--traces", ruleset.trace_sha256, trace_sha256),
        ("--model", ruleset.model_sha256, model_sha256),
    ):
        if expected is not None and given is not None and given != expected:
            raise InputError(
                f"{option}: the profile {ruleset.name} is defined for the file with SHA-256 {expected}, this one has "
                f"{given}. Give that file, or use --profile standard."
            )


def finished_result(options: RunOptions) -> Mapping[str, Any] | None:
    """Return the result of a finished run that --resume names; None where there is still something to do.

    Raises InputError for --resume without --output, for an output that holds a run without --resume, and for files
    that were altered.
    """
    from bfcl_gate.run_folder import MANIFEST, RESULT

    if options.output is None:
        if options.resume:
            raise InputError("--resume needs --output DIR: the folder of the run to continue.")
        return None
    if (options.output / MANIFEST).exists() and not options.resume:
        raise InputError(
            f"--output {options.output}: already holds a run. Add --resume to continue it, or choose another folder."
        )
    if not (options.resume and (options.output / RESULT).exists()):
        return None
    from edge_agentic.report.stored import load_run  # most runs are not finished when they begin

    return load_run(options.output).result
