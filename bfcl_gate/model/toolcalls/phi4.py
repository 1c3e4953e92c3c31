"""Phi-4-mini: `<|tool_call|>` around one JSON array, the end often missing; earlier `functools[...]`."""

import re

from bfcl_gate.model.toolcalls.frames import Frame, earliest, framed_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_TAG = Frame(opener=re.compile(r"<\|tool_call\|>"), closer="<|/tool_call|>", shape="array")
_FUNCTOOLS = Frame(opener=re.compile(r"\bfunctools(?=\[)"), closer=None, shape="array")


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    return earliest(framed_calls(_TAG, source, start), framed_calls(_FUNCTOOLS, source, start))
