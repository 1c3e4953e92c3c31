"""Tokenises a conversation that grows: what a text shares with the one before is not tokenised again.

llama.cpp's tokenizers first look for special tokens in a text and then treat what lies between them on its own. So a
text may be cut before a special token, and its two parts tokenised separately, wherever it is certain that this token
is found there whatever follows or precedes it.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from bfcl_gate.model.prefix import common_prefix

_FIRST_WINDOW = 4096  # characters searched for a place to cut; four times as many each further time


class Special(NamedTuple):
    """A special token of a vocabulary: one that is looked for in a text as a whole.

    `control` tokens are the template's own; `strips_left` ones take the white space before them along.
    """

    token: int
    text: str
    control: bool
    strips_left: bool


def certain_tokens(specials: Iterable[Special]) -> dict[str, int]:
    """Return text and token of the control tokens that are found wherever a text spells them.

    None of the others overlaps them: not inside, not around, not at an end. Marks of the shield (numbers in
    parentheses) do not either.
    """
    given = [special for special in specials if special.text]
    joined = "\0".join(special.text for special in given)
    beginnings = {special.text[:n] for special in given for n in range(1, len(special.text))}
    endings = {special.text[n:] for special in given for n in range(1, len(special.text))}
    texts = {special.text for special in given}

    def certain(text: str) -> bool:
        parts = range(1, len(text))
        inside = (
            text[a:b] for a in range(len(text)) for b in range(a + 1, len(text) + 1) if b - a < len(text)
        )
        return (
            re.fullmatch(r"[^\d\u2e28\u2e29](?:[^\u2e28\u2e29]*[^\d\u2e28\u2e29])?", text) is not None
            and joined.count(text) == 1
            and not any(text[:n] in endings or text[n:] in beginnings for n in parts)
            and not any(part in texts for part in inside)
        )

    return {
        special.text: special.token
        for special in given
        if special.control and not special.strips_left and certain(special.text)
    }


class GrowingTokens:
    """Remembers the last text and its tokens.

    `whole` tokenises a text, `rest` one that continues another; both must find every one of `certain`, and their
    results must not be changed by the caller's use of them: they are copied here.
    """

    def __init__(
        self,
        certain: Mapping[str, int],
        whole: Callable[[str], "array[int]"],
        rest: Callable[[str], "array[int]"],
    ) -> None:
        self._certain = certain
        self._anywhere = re.compile("|".join(map(re.escape, certain)) or "(?!)")
        self._whole = whole
        self._rest = rest
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._text, self._tokens = "", array("i")

    def tokenise(self, text: str) -> "array[int]":
        """Return the tokens of `text`: those that `whole` gives."""
        place = self._last_certain(text, common_prefix(self._text, text))
        if place is None:
            tokens = self._whole(text)
        else:
            start, spelt = place
            kept = _from_the_end(self._tokens, self._certain[spelt], self._text.count(spelt, start))
            tokens = self._tokens[:kept] + self._rest(text[start:])
        self._text, self._tokens = text, tokens[:]
        return tokens

    def _last_certain(self, text: str, end: int) -> tuple[int, str] | None:
        """Return place and text of the last certain token in text[:end], None where there is none after its start."""
        begin, window = end, _FIRST_WINDOW
        while begin > 0:
            begin, window = max(0, end - window), window * 4
            if found := list(self._anywhere.finditer(text, begin, end)):
                return (found[-1].start(), found[-1].group()) if found[-1].start() else None
        return None


def _from_the_end(tokens: "array[int]", token: int, times: int) -> int:
    """Return the place of a token that stands there for the `times`-th time, counted from the end."""
    place = len(tokens)
    while times:
        place -= 1
        times -= tokens[place] == token
    return place
