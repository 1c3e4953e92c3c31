"""MiniMax: M1 writes JSON objects, M2 `<invoke>` elements; M3 is in its own module.

Apriel writes a JSON array between M1's tags.
"""

import re

from bfcl_gate.model.toolcalls import minimax_m3
from bfcl_gate.model.toolcalls.frames import Frame, earliest, framed_calls
from bfcl_gate.model.toolcalls.markup import Markup, marked_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_M1 = Frame(opener=re.compile("<tool_calls>"), closer="</tool_calls>", shape="any")
_M2 = Markup(
    block="<minimax:tool_call>",
    block_end="</minimax:tool_call>",
    call=re.compile(r'<invoke name="(?P<name>[^"\n]*)">'),
    call_end="</invoke>",
    argument=re.compile(r'<parameter name="(?P<name>[^"\n]*)">'),
    argument_end="</parameter>",
)


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    marked = marked_calls(_M2, source, start)
    return earliest(minimax_m3.find(source, start), marked, framed_calls(_M1, source, start))
