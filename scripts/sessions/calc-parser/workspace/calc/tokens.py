"""Splits an expression into tokens."""

import re
from dataclasses import dataclass

from calc.errors import CalcError

PATTERN = re.compile(
    r"""
    (?P<space>[ \t\n]+|\#.*)
  | (?P<number>[0-9]+(\.[0-9]+)?(e[0-9]+)?)
  | (?P<name>[A-Za-z_]+)
  | (?P<sign><|<=|>|>=|!=|[-+*/%^=?:(),])
    """,
    re.VERBOSE,
)
WORDS = {"and", "or", "not"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    place: tuple


def tokens(text):
    """Return the tokens of a text; the last one is of the kind `end`."""
    found = []
    at = 0
    line, column = 1, 0
    while at < len(text):
        match = PATTERN.match(text, at)
        if not match:
            raise CalcError((line, column), f"unexpected {text[at]!r}")
        kind = match.lastgroup
        if kind != "space":
            word = match.group()
            found.append(Token("sign" if word in WORDS else kind, word, (line, column)))
        line += match.group().count("\n")
        column += len(match.group())
        at = match.end()
    found.append(Token("end", "end of the expression", (line, column)))
    return found
