"""Which tokens of an answer are framing, arguments or free text, and how many of each were drafted."""

import codecs
from collections.abc import Iterable, Sequence

from bfcl_gate.model.toolcalls import ARGUMENT, FRAMING, FREE_TEXT

NAMES = {FRAMING: "framing", ARGUMENT: "argument", FREE_TEXT: "free_text"}


def parts_of_tokens(pieces: Iterable[bytes], parts: Sequence[int]) -> list[int]:
    """Return the part each token belongs to, from the bytes of the tokens and the parts of their text's characters.

    A token that reaches into several belongs to the argument, else to the free text it holds a character of.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    found = []
    begin = 0
    for piece in pieces:
        end = begin + len(decoder.decode(piece))
        # A token inside a character is of the character's part.
        held = set(parts[begin : max(end, begin + 1)])
        found.append(ARGUMENT if ARGUMENT in held else FREE_TEXT if FREE_TEXT in held else FRAMING)
        begin = end
    return found


def count_parts(parts: Sequence[int], accepted: Sequence[int]) -> dict[str, int]:
    """Return {part}_tokens and {part}_accepted of an answer: its tokens, and those of them that came from a draft."""
    counts = {}
    for part, name in NAMES.items():
        drafted = [hit for own, hit in zip(parts, accepted, strict=True) if own == part]
        counts[f"{name}_tokens"] = len(drafted)
        counts[f"{name}_accepted"] = sum(drafted)
    return counts
