"""The model: engines behind one protocol, chat templates, and what an answer's text says as tool calls."""

from bfcl_gate.model.toolcalls import ParsedAnswer, parse_tool_calls

__all__ = ["ParsedAnswer", "parse_tool_calls"]
