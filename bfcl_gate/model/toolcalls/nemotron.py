"""Nemotron Nano v2: `<TOOLCALL>` around one JSON array."""

import re

from bfcl_gate.model.toolcalls.frames import Frame, framed_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_FRAME = Frame(opener=re.compile("<TOOLCALL>"), closer="</TOOLCALL>", shape="array")


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    return framed_calls(_FRAME, source, start)
