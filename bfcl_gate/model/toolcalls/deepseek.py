"""DeepSeek: marked JSON (V3, R1 and V3.1) or DSML elements (V3.2, V4)."""

import re

from bfcl_gate.model.toolcalls.frames import Named, earliest, named_calls
from bfcl_gate.model.toolcalls.markup import Markup, marked_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_BEGIN = r"(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>"
_END = ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")
_V3 = Named(
    mark="<｜tool▁calls▁begin｜>",
    opener=re.compile(_BEGIN + r"function<｜tool▁sep｜>(?P<name>[^\n<]+)\n`{3}(?:json)?[ \t]*\n?"),
    closers=("```", *_END),
)
_V31 = Named(
    mark="<｜tool▁calls▁begin｜>",
    opener=re.compile(_BEGIN + r"(?P<name>[^\n<]+)<｜tool▁sep｜>"),
    closers=_END,
)


def _dsml(block: str) -> Markup:
    return Markup(
        block=f"<｜DSML｜{block}>",
        block_end=f"</｜DSML｜{block}>",
        call=re.compile(r'<｜DSML｜invoke name="(?P<name>[^"\n]*)">'),
        call_end="</｜DSML｜invoke>",
        argument=re.compile(
            r'<｜DSML｜parameter name="(?P<name>[^"\n]*)"(?: string="(?P<string>true|false)")?>'
        ),
        argument_end="</｜DSML｜parameter>",
    )


_DSML = (_dsml("function_calls"), _dsml("tool_calls"))


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    if "<｜" not in source.text:
        return []  # four forms, each searched for twice
    marked = [marked_calls(markup, source, start) for markup in _DSML]
    return earliest(*marked, named_calls(_V3, source, start), named_calls(_V31, source, start))
