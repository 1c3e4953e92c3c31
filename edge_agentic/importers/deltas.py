"""Request bodies as what they add to an earlier one: each request of a conversation repeats the whole one before."""

from collections.abc import Mapping
from typing import Any

_KEPT = 32
"""Bodies that the next one is compared with: about as many conversations as may run side by side."""


class Deltas:
    """Shortens texts for one reader, who restores them in the same order. Both keep the same earlier texts."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def shorten(self, number: int, text: str) -> dict[str, Any]:
        """Return what `restore` needs: head and tail in characters of text number `base`, `middle` between."""
        heads = {base: _same(text, other) for base, other in self._texts.items()}
        base = max(heads, key=lambda each: heads[each], default=None)
        if base is None:
            self._keep(number, text, None, 0)
            return {"middle": text}
        head, other = heads[base], self._texts[base]
        tail = _same(text[head:][::-1], other[head:][::-1])
        self._keep(number, text, base, head + tail)
        return {"base": base, "head": head, "tail": tail, "middle": text[head : len(text) - tail]}

    def restore(self, number: int, row: Mapping[str, Any]) -> str | None:
        """Return the text, None where the row is damaged or the text it builds on is not there."""
        base, middle = row.get("base"), row.get("middle")
        head, tail = row.get("head", 0), row.get("tail", 0)
        if not isinstance(middle, str) or not isinstance(head, int) or not isinstance(tail, int):
            return None
        if base is None:
            self._keep(number, middle, None, 0)
            return middle
        other = self._texts.get(base) if isinstance(base, int) else None
        if other is None or min(head, tail) < 0 or head + tail > len(other):
            return None
        text = other[:head] + middle + other[len(other) - tail :]
        self._keep(number, text, base, head + tail)
        return text

    def _keep(self, number: int, text: str, base: int | None, shared: int) -> None:
        if base is not None and shared >= 0.9 * len(self._texts[base]):
            del self._texts[base]  # the same conversation, grown
        self._texts[number] = text
        if len(self._texts) > _KEPT:
            del self._texts[next(iter(self._texts))]


def _same(one: str, other: str) -> int:
    """Return how many characters at their beginning are the same."""
    at = 0
    for size in (4096, 256, 16, 1):
        while (block := one[at : at + size]) and other.startswith(block, at):
            at += len(block)
    return at
