"""Functionary 3.1: `<function=f>` around the JSON arguments; 3.2: `>>>f`, a line break and the arguments.

In 3.2 the generation prompt ends in `>>>`, and `all` in a tool's place begins what is said to the user.
"""

import re

from bfcl_gate.model.toolcalls.frames import Named, earliest, named_calls
from bfcl_gate.model.toolcalls.records import Block, Source

_TAG = Named(mark="<function=", opener=re.compile(r"<function=(?P<name>[^<>\s]+)>"), closers=("</function>",))
_ARROWS = Named(mark=None, opener=re.compile(r">>>(?!all\n)(?P<name>[^\s>]+)\n"), closed=False)
_PROMPTED = Named(mark=None, opener=re.compile(r"(?:>>>|\A)(?!all\n)(?P<name>[^\s>{<]+)\n"), closed=False)
_TO_USER = re.compile(r">>>all\n|\Aall\n")


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on, and the markup before what is said to the user."""
    prompted = source.prefix.endswith(">>>")
    arrows = named_calls(_PROMPTED if prompted else _ARROWS, source, start)
    calls = earliest(named_calls(_TAG, source, start), arrows)
    said = _TO_USER.search(source.text, start, calls[0].start if calls else len(source.text))
    if said is None or (said.group() == "all\n" and not prompted):
        return calls
    return [Block(start=said.start(), end=said.end(), attempts=(), native=True), *calls]
