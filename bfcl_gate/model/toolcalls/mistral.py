"""Mistral: `[TOOL_CALLS]` before an array (v3), or before a name, perhaps `[CALL_ID]`, and `[ARGS]`."""

import re

from bfcl_gate.model.toolcalls.frames import Frame, Named, earliest, framed_calls, named_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_ARRAY = Frame(opener=re.compile(r"\[TOOL_CALLS\](?=\s*(?:\[\s*[{\]]|\Z))"), closer=None, shape="array")
_NAMED = Named(
    mark="[TOOL_CALLS]",
    opener=re.compile(r"\[TOOL_CALLS\]\s*(?P<name>[^\s\[\]{}]+)(?:\[CALL_ID\]\w*)?(?P<exact>\[ARGS\])?"),
    closed=False,
)


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on; a name without `[ARGS]` behind it is not the exact form."""
    return earliest(framed_calls(_ARRAY, source, start), named_calls(_NAMED, source, start))
