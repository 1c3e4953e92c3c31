"""What the Java and JavaScript readers share: finding and reading literals in untrusted source text.

BFCL describes these literals by regular expressions with nested lazy parts, some of which take exponential
time on text that almost matches. The functions here find exactly the same matches in linear time.
"""

import re
from collections.abc import Iterator
from typing import Any

from bfcl_gate.checker.unscorable import NUMBER_OUT_OF_RANGE, UnscorableError

WHOLE = re.compile(r"-?\d+\n?")
"""Full matches only; like `$`, it tolerates one newline at the end."""


def enclosed(text: str, opening: re.Pattern[str], closing: str, *, least: int = 0) -> Iterator[str]:
    """Yield what stands between an `opening` and the next `closing` on the same line, left to right.

    `least` is the number of characters that must stand between them.
    """
    at, line, barren = 0, -1, -1
    while begin := opening.search(text, at):
        at = begin.end()
        if at <= barren:
            continue
        if at > line:
            line = line_end(text, at)
        end = text.find(closing, at + least, line)
        if end < 0:
            barren = line
        else:
            yield text[at:end]
            at = end + len(closing)


def line_end(text: str, at: int) -> int:
    """Return the index of the first newline from `at` on (or the end)."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def skip_blanks(text: str, at: int) -> int:
    """Return the index of the first character from `at` on that is no white space (or the end)."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def whole(digits: str) -> int:
    """Return the integer. Raises UnscorableError where int() refuses, mostly for more digits than it allows."""
    try:
        return int(digits)
    except ValueError as error:
        raise UnscorableError(NUMBER_OUT_OF_RANGE) from error


def number_or_text(text: str) -> Any:
    """Return the integer or float that Python reads in the text, or else the text."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
