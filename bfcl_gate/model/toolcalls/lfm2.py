"""LFM2 and LFM2.5: a Python list of calls between `<|tool_call_start|>` and `<|tool_call_end|>`."""

from bfcl_gate.model.toolcalls.pythonic import tagged_lists
from bfcl_gate.model.toolcalls.records import Block, Source


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on; text may follow them."""
    return tagged_lists(source, start, "<|tool_call_start|>", "<|tool_call_end|>")
