"""Tool calls in a model's text: one small module per syntax, one table of them in `parse`.

What a model wrote is data here: nothing is evaluated, nothing raises, and every reader is linear.
"""

from bfcl_gate.model.toolcalls.parse import parse_tool_calls
from bfcl_gate.model.toolcalls.parts import ARGUMENT, FRAMING, FREE_TEXT, parts_of
from bfcl_gate.model.toolcalls.records import Attempt, ParsedAnswer, ToolCall
from bfcl_gate.model.toolcalls.templates import syntax_of_template

__all__ = [
    "ARGUMENT",
    "FRAMING",
    "FREE_TEXT",
    "Attempt",
    "ParsedAnswer",
    "ToolCall",
    "parse_tool_calls",
    "parts_of",
    "syntax_of_template",
]
