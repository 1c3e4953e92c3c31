"""From text to words."""

import re

WORD = re.compile(r"[A-Za-z]+")


def words(text):
    """Return the words of a text in lower case, in order."""
    return [match.group().lower() for match in WORD.finditer(text)]
