"""Kimi K2: `functions.` name `:` counter before the JSON arguments, each call and the section marked."""

import re

from bfcl_gate.model.toolcalls.frames import Named, named_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_FORM = Named(
    mark="<|tool_calls_section_begin|>",
    opener=re.compile(
        r"(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*"
        r"(?:functions\.)?(?P<name>[^\s:<]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>"
    ),
    closers=("<|tool_call_end|>", "<|tool_calls_section_end|>"),
)


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    return named_calls(_FORM, source, start)
