"""The formats that can be imported: their names for `--format`, and the module that reads each."""

from collections.abc import Callable, Sequence
from importlib import import_module

from bfcl_gate.errors import InputError
from edge_agentic.importers.normal import Notes, Session
from edge_agentic.importers.shape import SHAPES, read_shapes
from edge_agentic.importers.shape_text import Synthesis
from edge_agentic.importers.source import Source

FORMATS = {
    "openai": "request_log",
    "anthropic": "request_log",
    "recording": "recording",
    "claude-code": "claude_code",
    "mini-swe-agent": "mini_swe_agent",
    "opencode": "opencode",
    "codex": "codex",
    "atif": "atif",
    "gemini-cli": "gemini_cli",
    "qwen-code": "qwen_code",
    "pi": "pi",
    "openhands": "openhands",
    "swe-agent": "swe_agent",
    "kimi": "kimi",
    "inspect": "inspect_log",
    "otlp": "otlp",
    "tau-bench": "tau_bench",
    "lmcache": "lmcache",
    "abench": "abench",
    "mooncake": "shape",
    "weka": "shape",
    "tracelab": "shape",
}


def check_name(name: str | None) -> None:
    """Raise InputError for a `--format` that does not exist."""
    if name is not None and name not in FORMATS:
        raise InputError(f"--format {name!r} is unknown; expected one of {', '.join(sorted(FORMATS))}.")


def read_as(
    name: str, sources: Sequence[Source], notes: Notes, synthesis: Synthesis | None = None
) -> list[Session]:
    """Read sources of one format into sessions; `synthesis` makes text for those that hold lengths only."""
    if name in SHAPES:
        return read_shapes(name, sources, synthesis, notes)
    module = import_module(f"edge_agentic.importers.{FORMATS[name]}")
    read: Callable[[Sequence[Source], Notes], list[Session]] = module.read
    return read(sources, notes)
