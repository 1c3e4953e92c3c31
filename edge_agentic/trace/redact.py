"""The same trace with other keys: every secret becomes a text of its length and its kinds of characters.

All other bytes stay what they are. A secret gets one stand-in wherever it appears, so what was equal is equal
afterwards; the stand-in follows from the order of secrets in the file and tells nothing about them.
"""

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits

from bfcl_gate.errors import InputError
from bfcl_gate.words import count
from edge_agentic.trace.rows import lines_of, open_trace
from edge_agentic.trace.scan import Scan
from edge_agentic.trace.secrets import find_secrets
from edge_agentic.trace.validate import validate
from edge_agentic.trace.write import new_trace

# In JSON text inside a text, an escape keeps its meaning.
_PARTS = re.compile(r"\\u[0-9A-Fa-f]{4}|\\.|[A-Z]|[a-z]|[0-9]", re.DOTALL)
_ALPHABETS = (ascii_uppercase, ascii_lowercase, digits)
# One for each character of a text in a JSON file: pairs of surrogates are one character.
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CHARACTERS = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)


@dataclass(slots=True)
class Redaction:
    """What was replaced: the number of places by kind of secret, and the stand-in of each secret."""

    places: Counter[str] = field(default_factory=Counter)
    stand_ins: dict[str, str] = field(default_factory=dict)


def redact_trace(source: Path, output: Path, *, force: bool = False) -> Redaction:
    """Write `source` to `output` with every secret replaced. Redacting the result again changes nothing.

    Raises InputError where `source` is no valid trace and as `new_trace` does.
    """
    _require_valid(source)
    redaction = Redaction()
    with open_trace(source) as file, new_trace(output, source=source, force=force) as new:
        for _, line in lines_of(file):
            new.write(_LITERAL.sub(lambda found: _literal(found[0], redaction), line.decode()).encode())
    return redaction


def _require_valid(source: Path) -> None:
    with open_trace(source) as file:
        errors = validate(Scan(file), keep=1).errors
    if errors.count:
        raise InputError(
            f"{errors.first[0].describe(source)} {count(errors.count, 'error')} in all; "
            "`edge-agentic traces validate` lists them."
        )


def _literal(literal: str, redaction: Redaction) -> str:
    """Return the literal of a text in JSON, as it is written in the file, without secrets."""
    text = json.loads(literal)
    clean = redact_text(text, redaction)
    if clean == text:
        return literal
    written = _CHARACTERS.findall(literal[1:-1])
    return '"' + "".join(w if a == b else b for w, a, b in zip(written, text, clean, strict=True)) + '"'


def redact_text(text: str, redaction: Redaction) -> str:
    """Return a text without secrets, as long as it was."""
    while secrets := find_secrets(text):
        for start, end, kind in secrets:
            redaction.places[kind] += 1
            text = text[:start] + _stand_in(text[start:end], redaction) + text[end:]
    return text


def _stand_in(secret: str, redaction: Redaction) -> str:
    known = redaction.stand_ins.get(secret)
    if known is None:
        chance = random.Random(len(redaction.stand_ins))
        known = _PARTS.sub(lambda found: _other(found[0], chance), secret)
        while find_secrets(known):
            known = _PARTS.sub(lambda found: _other(found[0], chance), secret)
        redaction.stand_ins[secret] = known
    return known


def _other(part: str, chance: random.Random) -> str:
    """Return another character of the same kind; an escape stays."""
    for alphabet in _ALPHABETS:
        if part in alphabet:
            return alphabet[int(chance.random() * len(alphabet))]
    return part
