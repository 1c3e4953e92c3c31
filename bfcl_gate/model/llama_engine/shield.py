"""Keeps the text of control tokens inside content what it is: text.

A tool result that spells out `<|im_end|>` must not end the turn it stands in. While a template renders,
such texts are replaced by marks; the piece of the prompt that holds marks is then tokenised as plain text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bfcl_gate.model.sandbox import MARKED, mark

_MARK_OPENING = mark(0)[0]


class Shield:
    """`texts` are the texts of all control tokens."""

    def __init__(self, texts: Iterable[str]) -> None:
        controls = sorted(set(texts) - {""})
        # The mark's own first character is hidden as well, so that every mark in a prompt is one of ours.
        self._texts = (*controls, _MARK_OPENING)
        self._places = {text: place for place, text in enumerate(self._texts)}
        self._controls = _any_of(controls)
        self._hidden = _any_of(self._texts)

    def hide(self, text: str) -> str:
        """Return content with every control token's text replaced by a mark."""
        return self._hidden.sub(lambda found: mark(self._places[found.group()]), text)

    def count(self, rendered: str) -> int:
        """Return how often content in a rendered prompt spelt a control token."""
        return sum(int(place) < len(self._texts) - 1 for place in MARKED.findall(rendered))

    def spelt(self, value: Any) -> int:
        """Return how often the texts in a JSON value, names of fields too, spell a control token."""
        if isinstance(value, str):
            return sum(1 for _ in self._controls.finditer(value))
        if isinstance(value, Mapping):
            return sum(self.spelt(key) + self.spelt(item) for key, item in value.items())
        return sum(map(self.spelt, value)) if isinstance(value, list | tuple) else 0

    def parts(self, rendered: str) -> Iterator[tuple[str, bool]]:
        """Yield the pieces of a rendered prompt, in order, and whether control tokens count in them."""
        if MARKED.search(rendered) is None:
            yield rendered, True
            return
        trusted = ""
        for piece in re.split(f"({self._controls.pattern})", rendered):
            if MARKED.search(piece):
                yield trusted, True
                yield MARKED.sub(self._reveal, piece), False
                trusted = ""
            else:
                trusted += piece
        yield trusted, True

    def _reveal(self, found: re.Match[str]) -> str:
        place = int(found[1])
        return self._texts[place] if place < len(self._texts) else found.group()


def _any_of(texts: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds the longest of `texts` at a place.

    Built as a tree of characters: vocabularies with thousands of control tokens are searched in a millisecond.
    """
    # A tree of dictionaries all the way down; mypy has no name for a type that holds itself.
    tree: dict[str, dict] = {}  # type: ignore[type-arg]
    for text in texts:
        node = tree
        for character in text:
            node = node.setdefault(character, {})
        node[""] = {}
    return re.compile(_branches(tree) or "(?!)")


def _branches(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
    choices = [re.escape(character) + _branches(below) for character, below in node.items() if character]
    if not choices:
        return ""
    body = choices[0] if len(choices) == 1 and "" not in node else f"(?:{'|'.join(choices)})"
    return f"{body}?" if "" in node else body
