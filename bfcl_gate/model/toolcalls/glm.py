"""GLM-4.5 and later: `<tool_call>` name, then `<arg_key>` and `<arg_value>` pairs."""

import re

from bfcl_gate.model.toolcalls.markup import Markup, marked_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_MARKUP = Markup(
    block="<tool_call>",
    block_end="",
    call=re.compile(r"(?P<name>[\w.:/-]+)(?=\s*(?:<arg_key>|</tool_call>))"),
    call_end="</tool_call>",
    argument=re.compile(r"<arg_key>(?P<name>[^<]*)</arg_key>\s*<arg_value>"),
    argument_end="</arg_value>",
)


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    return marked_calls(_MARKUP, source, start)
