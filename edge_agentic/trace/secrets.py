"""Keys that must not leave the machine, by the forms their issuers give them.

Only forms that name themselves are looked for: guessing by entropy takes every hash for a secret.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple


class Secret(NamedTuple):
    """A key in a text, from character `start` up to `end`."""

    start: int
    end: int
    kind: str


class _Form(NamedTuple):
    """A kind of key: `needles` are texts of which one opens it, `pattern` is matched where one stands."""

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]


def _pattern(form: str) -> re.Pattern[str]:
    """Return a form compiled; a letter of another script ends a key as a space does."""
    return re.compile(form, re.ASCII)


_PRIVATE = r"[A-Z ]{0,20}PRIVATE KEY-----"
_FORMS = (
    _Form("an AWS access key", ("AKIA", "ASIA"), _pattern(r"A[KS]IA[0-9A-Z]{16}\b")),
    _Form(
        "an AWS secret key",
        ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey"),
        _pattern(r"\w+[\"'\\]{0,4}\s{0,4}[=:]\s{0,4}[\"'\\]{0,4}[0-9A-Za-z/+]{40}(?![0-9A-Za-z/+=])"),
    ),
    _Form(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _pattern(r"gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{50,}"),
    ),
    _Form("a GitLab token", ("glpat-",), _pattern(r"glpat-[0-9A-Za-z_-]{20,}")),
    _Form("an OpenAI or Anthropic key", ("sk-",), _pattern(r"sk-(?:ant-|proj-)?[0-9A-Za-z_-]{32,}")),
    _Form("a Groq or xAI key", ("gsk_", "xai-"), _pattern(r"gsk_[0-9A-Za-z]{40,}|xai-[0-9A-Za-z]{60,}")),
    _Form("a Slack token", ("xox", "xapp-"), _pattern(r"(?:xox[abeprs]|xapp)-[0-9A-Za-z-]{20,}")),
    _Form("a Google API key", ("AIza",), _pattern(r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_])")),
    _Form("a Hugging Face token", ("hf_",), _pattern(r"hf_[0-9A-Za-z]{30,}\b")),
    _Form(
        "a token of a package index",
        ("npm_", "pypi-AgEI"),
        _pattern(r"npm_[0-9A-Za-z]{36}\b|pypi-AgEI[0-9A-Za-z_-]{50,}"),
    ),
    _Form("a Stripe key", ("sk_live_", "rk_live_"), _pattern(r"[sr]k_live_[0-9A-Za-z]{24,}")),
    _Form(
        # Up to its end, or as far as it goes where an output was cut; line breaks may be spelt \n in JSON text.
        "a private key",
        ("-----BEGIN ",),
        _pattern(
            rf"-----BEGIN {_PRIVATE}"
            rf"(?:(?:[^-]|-(?!----)){{0,16384}}-----END {_PRIVATE}|(?:(?:\s|\\[nr]){{1,4}}[0-9A-Za-z+/=]{{40,76}})*)"
        ),
    ),
    _Form(
        "a JSON web token",
        ("eyJ",),
        _pattern(r"eyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,2000}\.[0-9A-Za-z_-]{10,}"),
    ),
)
_NEEDLES = tuple((needle, form) for form in _FORMS for needle in form.needles)
_SHORTEST = 20
# What may stand right before a key though it ends with a letter: a line break spelt \n, a terminal colour.
_ESCAPE_BEFORE = re.compile(r"(?:\\[bfnrt]|(?:\x1b|\\u001b)\[[0-9;]{0,12}[A-Za-z])\Z")
_ESCAPE_CHARACTERS = 24


def find_secrets(text: str) -> list[Secret]:
    """Return the keys in a text, in order, none inside another."""
    if len(text) < _SHORTEST:
        return []
    found = [secret for needle, form in _NEEDLES if needle in text for secret in _find(text, form, needle)]
    kept: list[Secret] = []
    for secret in sorted(found):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept


def _find(text: str, form: _Form, needle: str) -> Iterator[Secret]:
    at = text.find(needle)
    while at >= 0:
        match = form.pattern.match(text, at) if _opens(text, at) else None
        if match:
            yield Secret(*match.span(), form.kind)
        at = text.find(needle, match.end() if match else at + 1)


def _opens(text: str, at: int) -> bool:
    """Whether a word may begin at this place."""
    before = text[at - 1 : at]
    # Other scripts write no space before a key.
    if not (before.isascii() and (before.isalnum() or before == "_")):
        return True
    return _ESCAPE_BEFORE.search(text[max(0, at - _ESCAPE_CHARACTERS) : at]) is not None


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from texts_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_of(inner)


def secrets_in(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of rows that hold each kind of secret."""
    found: dict[str, int] = {}
    for row in rows:
        for kind in {secret.kind for text in texts_of(row) for secret in find_secrets(text)}:
            found[kind] = found.get(kind, 0) + 1
    return dict(sorted(found.items()))
