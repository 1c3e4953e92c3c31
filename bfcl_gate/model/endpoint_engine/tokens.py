"""A prompt's tokens as the server itself makes them: by its own template and tokenizer, where it lends them.

llama.cpp: /apply-template and /tokenize. vLLM: /tokenize of messages.
"""

import json
from collections.abc import Mapping
from typing import Any

from bfcl_gate.http import Connection
from bfcl_gate.model.endpoint_engine.address import Address
from bfcl_gate.model.endpoint_engine.documents import document


def rendered(connection: Connection, address: Address, body: bytes) -> str | None:
    """Return the prompt that llama.cpp's server makes of a chat request's body; None at any other server."""
    found = document(connection, address, f"{address.root}/apply-template", sent=body)
    prompt = None if found is None else found.get("prompt")
    return prompt if isinstance(prompt, str) else None


def tokens_of(
    connection: Connection, address: Address, body: bytes, *, llama_cpp: bool
) -> tuple[int, ...] | None:
    """Return the token ids of the prompt that a chat request's body becomes; None where the server does not tell.

    Raises EngineError where no connection is to be had.
    """
    asked = _of_text(rendered(connection, address, body)) if llama_cpp else _of_messages(body)
    return None if asked is None else _tokens(connection, address, asked)


def text_tokens(connection: Connection, address: Address, text: str) -> tuple[int, ...] | None:
    """Return the token ids of a text alone by llama.cpp's tokenizer; None at a server that lends none."""
    return _tokens(connection, address, {"content": text, "add_special": False, "parse_special": True})


def _tokens(connection: Connection, address: Address, asked: Mapping[str, Any]) -> tuple[int, ...] | None:
    found = document(connection, address, f"{address.root}/tokenize", sent=json.dumps(asked).encode())
    tokens = None if found is None else found.get("tokens")
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        return None
    return tuple(tokens)


def _of_text(prompt: str | None) -> dict[str, Any] | None:
    # As llama.cpp's server does with a prompt it made itself.
    return None if prompt is None else {"content": prompt, "add_special": True, "parse_special": True}


def _of_messages(body: bytes) -> Mapping[str, Any]:
    sent = json.loads(body)
    kept = ("model", "messages", "tools", "chat_template_kwargs")
    return {key: sent[key] for key in kept if key in sent} | {"add_generation_prompt": True}
