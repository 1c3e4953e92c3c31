"""Command-R7B: `<|START_ACTION|>` around one JSON array; Command-R and R+: `Action:` and a fenced array.

R and R+ answer without a tool by calling one of their own, `directly_answer`: that is no call.
"""

import re
from dataclasses import replace

from bfcl_gate.model.toolcalls.frames import Frame, earliest, framed_calls
from bfcl_gate.model.toolcalls.json_calls import Keys
from bfcl_gate.model.toolcalls.records import Attempt, Block, Source

_KEYS = Keys(name="tool_name", arguments="parameters")
_ACTION = Frame(opener=re.compile(r"<\|START_ACTION\|>"), closer="<|END_ACTION|>", shape="array", keys=_KEYS)
_FENCED = Frame(opener=re.compile(r"\bAction:\s*`{3}(?:json)?"), closer="```", shape="array", keys=_KEYS)


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    blocks = earliest(framed_calls(_ACTION, source, start), framed_calls(_FENCED, source, start))
    return [replace(block, attempts=_without_direct(block)) for block in blocks]


def _without_direct(block: Block) -> tuple[Attempt, ...]:
    kept = (a for a in block.attempts if a.declared or a.name.replace("-", "_") != "directly_answer")
    return tuple(kept)
