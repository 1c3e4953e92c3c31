"""JSON documents that a server has about itself and its tokens, beside the answers of its model."""

import json
from collections.abc import Mapping
from typing import Any

from bfcl_gate.errors import EngineError
from bfcl_gate.http import BrokenError, Connection, Limits, UnreachableError
from bfcl_gate.model.endpoint_engine.address import Address

_LIMITS = Limits(first_s=20.0, stall_s=20.0, total_s=20.0)
_MOST_BYTES = 4 << 20


def document(
    connection: Connection, address: Address, url: str, *, sent: bytes | None = None, required: bool = False
) -> Mapping[str, Any] | None:
    """Return a JSON object of the server as `fetch` does, None for any other value."""
    found = fetch(connection, address, url, sent=sent, required=required)
    return found if isinstance(found, Mapping) else None


def fetch(
    connection: Connection, address: Address, url: str, *, sent: bytes | None = None, required: bool = False
) -> Any:
    """Return a JSON value of the server, None where it has none there; `sent` is a JSON text to post.

    Raises EngineError where no connection is to be had, and with `required` where the server refuses.
    """
    method, headers = ("GET", {}) if sent is None else ("POST", {"Content-Type": "application/json"})
    headers.update(address.headers)
    try:
        with connection.request(method, url, _LIMITS, body=sent, headers=headers) as (incoming, _):
            if required:
                _require_willing(incoming.status, address)
            body = b""
            for piece in incoming.pieces:
                body += piece
                if len(body) > _MOST_BYTES:
                    return None
    except UnreachableError as error:
        raise EngineError(
            f"{address.place} cannot be reached ({error}). Start the server, or correct --endpoint; proxies of the "
            "environment are not used."
        ) from None
    except BrokenError as error:
        if not required:
            return None
        raise EngineError(
            f"{address.place} does not answer as an HTTP server would ({error}). Correct --endpoint."
        ) from None
    return _value(body) if incoming.status == 200 else None


def _require_willing(status: int, address: Address) -> None:
    why = {
        401: "asks for a key; put it into a variable and name that with --api-key-env",
        403: "refuses this key; look at the variable that --api-key-env names",
        429: "answers 429, too many requests; try again when others are done",
        503: "answers 503: it is still loading its model, or overloaded; try again when it is ready",
    }.get(status)
    if 300 <= status < 400:
        why = "leads elsewhere, and redirects are not followed; give the address it leads to"
    if why is None and status >= 500:
        why = f"answers {status} to the question for its models; look at its log"
    if why is not None:
        raise EngineError(f"{address.place} {why}.")


def _value(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
