"""Keys that must not leave the machine, by the forms their issuers give them.

Only forms that name themselves are looked for: guessing by entropy takes every hash for a secret.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_FORMS = {
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{50,})"),
    "an OpenAI or Anthropic key": re.compile(r"\bsk-(?:ant-|proj-)?[0-9A-Za-z_-]{32,}"),
    "a Slack token": re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{20,}"),
    "a Google API key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
    "a Hugging Face token": re.compile(r"\bhf_[0-9A-Za-z]{30,}\b"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"),
    "a JSON web token": re.compile(
        r"\beyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,2000}\.[0-9A-Za-z_-]{10,}"
    ),
}


def secrets_in(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of rows that hold each kind of secret."""
    found: dict[str, int] = {}
    for row in rows:
        whole = json.dumps(row, ensure_ascii=False)
        for kind, form in _FORMS.items():
            if form.search(whole):
                found[kind] = found.get(kind, 0) + 1
    return found
