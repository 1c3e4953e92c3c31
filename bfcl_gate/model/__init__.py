"""The model: engines behind one protocol, chat templates, and what an answer's text says as tool calls."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfcl_gate.model.toolcalls import ParsedAnswer, parse_tool_calls

__all__ = ["ParsedAnswer", "parse_tool_calls"]


def __getattr__(name: str) -> Any:
    """Load the readers of all syntaxes on first use; who only looks up a model has no need of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.toolcalls"), name)
