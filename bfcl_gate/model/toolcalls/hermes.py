"""Hermes 2/3, Qwen2.5, Qwen3, QwQ, Granite 4, SmolLM3: `<tool_call>` around one JSON object."""

import re

from bfcl_gate.model.toolcalls.frames import Frame, framed_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_FRAME = Frame(opener=re.compile("<tool_call>"), closer="</tool_call>", shape="object")


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    return framed_calls(_FRAME, source, start)
