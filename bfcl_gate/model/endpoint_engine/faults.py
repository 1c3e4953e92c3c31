"""Why no complete answer came back: one word for machines, one sentence for people, nothing private in either."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfcl_gate.http import BrokenError, Incoming

MOST_ERROR_BYTES = 64 * 1024
_MOST_QUOTED = 200

_OF_BROKEN = {
    "reset": ("connection_reset", "the server broke the connection"),
    "closed": ("connection_closed", "the server closed the connection before the answer was whole"),
    "protocol": ("bad_http", "the server does not speak HTTP/1.1"),
}
_HINTS = {
    401: "name the variable that holds the key with --api-key-env",
    403: "the key may not be good for this",
    404: "the address or the model's name is not known there",
    429: "nothing is asked twice",
    503: "nothing is asked twice",
}
_OVERFLOW = re.compile(
    r"exceed_context_size|context_length_exceeded|context (size|length|window)", re.IGNORECASE
)


class FaultError(Exception):
    """A failed request. `kind` is the class that docs/endpoints.md lists; the text is `kind: sentence`."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(f"{kind}: {sentence}")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Discretion:
    """Takes out of a server's words what must not get into files: the key and the server's own address."""

    secrets: tuple[str, ...] = field(repr=False)

    def quote(self, text: str) -> str:
        """Return at most 200 characters of one line."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        text = " ".join(text.split())
        return text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 1]}…"


def fault_of_broken(broken: BrokenError) -> FaultError:
    """Return the fault of a connection that failed while an answer was due."""
    if broken.kind == "overdue":
        return FaultError("timeout", f"{broken}; the request was given up and its connection closed")
    kind, sentence = _OF_BROKEN[broken.kind]
    return FaultError(kind, sentence)


def require_stream(incoming: Incoming, discretion: Discretion) -> None:
    """Raise FaultError unless this is the beginning of an event stream."""
    encoding = incoming.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise FaultError(
            "bad_encoding", f"the answer is encoded as {discretion.quote(encoding)}, which nobody asked for"
        )
    if incoming.status != 200:
        raise _fault_of_status(incoming, discretion)
    content = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content in ("", "text/event-stream"):
        return
    said = _said(_read(incoming.pieces)) if content == "application/json" else None
    if said is not None:
        raise fault_of_error(said, discretion)
    what = discretion.quote(content)
    raise FaultError("not_a_stream", f"a stream of events was asked for, the server sent {what} in one piece")


def fault_of_error(error: Any, discretion: Discretion) -> FaultError:
    """Return the fault of an error that a server stated, whatever its shape."""
    return (
        FaultError("context_overflow", _overflow(error, discretion))
        if _overflows(error)
        else FaultError("server_error", f"the server reported: {discretion.quote(_message(error))}")
    )


def _fault_of_status(incoming: Incoming, discretion: Discretion) -> FaultError:
    status, body = incoming.status, _read(incoming.pieces)
    if 300 <= status < 400:
        return FaultError(f"http_{status}", "the server leads elsewhere; redirects are not followed")
    error = _said(body)
    if error is not None and status in (400, 413, 422) and _overflows(error):
        return FaultError("context_overflow", _overflow(error, discretion))
    said = f"{status} {incoming.reason}".strip()
    if error is not None:
        said += f" ({_message(error)})"
    hint = f"; {_HINTS[status]}" if status in _HINTS else ""
    return FaultError(f"http_{status}", f"the server answered {discretion.quote(said)}{hint}")


def _read(pieces: Iterable[bytes]) -> bytes:
    body = b""
    for piece in pieces:
        body += piece
        if len(body) > MOST_ERROR_BYTES:
            break
    return body[:MOST_ERROR_BYTES]


def _said(body: bytes) -> Any:
    """Return the error that a JSON body states; None where it states none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, Mapping):
        return None
    return next((document[key] for key in ("error", "detail", "message") if document.get(key)), None)


def _message(error: Any) -> str:
    if isinstance(error, Mapping) and isinstance(error.get("message"), str):
        return str(error["message"])
    return error if isinstance(error, str) else json.dumps(error)


def _overflows(error: Any) -> bool:
    kinds = [error.get("type"), error.get("code")] if isinstance(error, Mapping) else []
    return any(_OVERFLOW.search(str(text)) for text in (*kinds, _message(error)))


def _overflow(error: Any, discretion: Discretion) -> str:
    counts = [error.get(key) for key in ("n_prompt_tokens", "n_ctx")] if isinstance(error, Mapping) else []
    if len(counts) == 2 and all(type(count) is int for count in counts):
        return f"the prompt of {counts[0]} tokens does not fit the server's context of {counts[1]}"
    return f"the prompt does not fit the server's context ({discretion.quote(_message(error))})"
