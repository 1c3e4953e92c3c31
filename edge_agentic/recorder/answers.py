"""What passed through the proxy, read: the text of a request, and the reply with whether it came in full."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bfcl_gate.http.passed import MAX_BODY_BYTES, Body, Passed
from bfcl_gate.model.chat import GIVEN_UP
from edge_agentic.importers.source import parse_json
from edge_agentic.importers.streams import read_stream
from edge_agentic.importers.values import obj, objects, text

_RECORDED = ("/chat/completions", "/messages", "/responses")
_ANY_HEADER = zlib.MAX_WBITS + 32  # gzip or zlib


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply in its protocol's own shape (None where nothing of it came); `complete` if no part is missing."""

    reply: Mapping[str, Any] | None
    complete: bool


def is_conversation(method: str, path: str) -> bool:
    """Whether a request asks for a turn: OpenAI's chat completions and Responses, Anthropic's messages."""
    return method == "POST" and path.rstrip("/").endswith(_RECORDED)


def text_of(body: Body | None) -> str | None:
    """Return a body as text, None where it was not kept or cannot be read."""
    if body is None:
        return None
    try:
        return _plain(body).decode("utf-8")
    except (UnicodeDecodeError, zlib.error):
        return None


def _plain(body: Body) -> bytes:
    """Undo the content coding as far as the bytes reach. Raises zlib.error for a coding that is not known."""
    if body.coding in ("", "identity"):
        return body.data
    if body.coding not in ("gzip", "x-gzip", "deflate"):
        raise zlib.error
    try:
        return zlib.decompressobj(_ANY_HEADER).decompress(body.data, MAX_BODY_BYTES)
    except zlib.error:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body.data, MAX_BODY_BYTES)


def answer_of(passed: Passed) -> Answer:
    """Return the reply of an exchange; what is not one (an error, a web page) is no reply."""
    told = text_of(passed.response)
    if passed.status != 200 or not told:
        return Answer(reply=None, complete=False)
    streamed = told.lstrip().startswith(("data:", "event:", ":"))
    reply = read_stream(told) if streamed else _document(told)
    if not reply or reply.get("error"):
        return Answer(reply=None, complete=False)
    # A client may close an answer that has ended; an orderly end of the body alone proves nothing.
    whole = _finished(reply) or "data: [DONE]" in told[-200:] if streamed else passed.ended == "whole"
    return Answer(reply=reply, complete=whole and _finish_of(reply) not in GIVEN_UP)


def _document(told: str) -> Mapping[str, Any]:
    try:
        return obj(parse_json(told))
    except ValueError:
        return {}


def _finish_of(reply: Mapping[str, Any]) -> str:
    return next((text(choice.get("finish_reason")) for choice in objects(reply.get("choices"))), "")


def _finished(reply: Mapping[str, Any]) -> bool:
    """Whether a streamed reply says why it ended; of a Responses object there is nothing before its last event."""
    if reply.get("choices"):
        return bool(_finish_of(reply))
    return bool(reply.get("output")) or bool(text(reply.get("stop_reason")))
