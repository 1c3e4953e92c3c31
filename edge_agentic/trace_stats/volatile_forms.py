"""Text that is another one each time: time stamps, ids, paths of temporary folders, counters."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[AP]M)?(?:\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_DATE = (
    rf"\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}"
    rf"|(?:{_DAY},?\s)?{_MONTH}\.?\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}})?"
    rf"|(?:{_DAY},?\s)?\d{{1,2}}\s{_MONTH}(?:\s\d{{4}})?"
)
# The first that matches at a place wins, so the longer and more telling come first.
_FORMS = {
    "UUID": r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    "timestamp": rf"\b(?:(?:{_DATE})(?:[T,]?\s?(?:at\s)?{_CLOCK})?|{_CLOCK}|1[5-9]\d{{8}}(?:\d{{3}}|\.\d+)?)\b",
    "temporary path": r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[\w.+~/-]+|[A-Za-z]:\\[\w.\\ -]*\\Temp\\[\w.\\-]+",
    "id": r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b|\b[A-Za-z]{2,12}_[0-9A-Za-z]{16,64}\b",
    "counter": r"\d+",
}
_VOLATILE = re.compile("|".join(f"(?P<f{place}>{form})" for place, form in enumerate(_FORMS.values())))
_KINDS = tuple(_FORMS)


class Piece(NamedTuple):
    """A stretch of a text: volatile of a `kind`, or None where it is expected to stay."""

    kind: str | None
    text: str


def pieces_of(text: str) -> Iterator[Piece]:
    """Yield a text cut into volatile and other stretches; joined they are the text again."""
    end = 0
    for match in _VOLATILE.finditer(text):
        if match.start() > end:
            yield Piece(None, text[end : match.start()])
        yield Piece(_KINDS[int((match.lastgroup or "f0")[1:])], match[0])
        end = match.end()
    if end < len(text):
        yield Piece(None, text[end:])


def masked(text: str) -> str:
    """Return a text with every volatile stretch replaced by its kind."""
    return "".join(piece.text if piece.kind is None else f"\0{piece.kind}\0" for piece in pieces_of(text))
