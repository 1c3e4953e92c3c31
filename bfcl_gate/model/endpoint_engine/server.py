"""What a server tells about itself before it is asked anything: its models, and llama.cpp's /props."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.http import BrokenError, Connection, Limits, UnreachableError
from bfcl_gate.model.endpoint_engine.address import Address

_LIMITS = Limits(first_s=20.0, stall_s=20.0, total_s=20.0)
_MOST_BYTES = 4 << 20
_META = {
    "n_params": "parameters",
    "size": "weights_bytes",
    "n_ctx_train": "trained_context",
    "n_vocab": "vocabulary_tokens",
    "n_embd": "embedding",
}
_PATH = re.compile(r"^(?:[~.]{0,2}[/\\]|[A-Za-z]:[/\\])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """`model` is the name to ask for, `name` the same without any folder of the server's machine.

    What a server does not tell is None. `ctx` is in tokens, for one request. `llama_cpp` says whether it is
    llama.cpp's own server.
    """

    model: str
    name: str
    llama_cpp: bool
    build: str | None
    template_sha256: str | None
    ctx: int | None
    details: Mapping[str, Any]


def served_model(connection: Connection, address: Address, asked: str | None) -> str:
    """Return the name of the model to ask for: the one given, or the only one the server lists.

    Raises InputError where that is none or not clear, EngineError where the server cannot be spoken to.
    """
    return _choose(_models(connection, address), address, asked)


def describe_server(connection: Connection, address: Address, asked: str | None) -> Server:
    """Ask the server what it is. Raises as `served_model` does."""
    models = _models(connection, address)
    model = _choose(models, address, asked)
    props = _get(connection, address, f"{address.root}/props?model={quote(model, safe='')}") or {}
    build = _text(props.get("build_info"))
    version = _get(connection, address, f"{address.root}/version") if build is None else None
    template = _text(props.get("chat_template"))
    return Server(
        model=model,
        name=public_name(model),
        llama_cpp=build is not None,
        build=build or _text((version or {}).get("version")),
        template_sha256=None
        if template is None
        else hashlib.sha256(template.encode(errors="surrogatepass")).hexdigest(),
        ctx=_positive(_inside(props, "default_generation_settings").get("n_ctx")),
        details=_details(props, models or [], model),
    )


def public_name(model: str) -> str:
    """Return a model's name without the folders of its server's machine: some servers name models by their path."""
    return re.split(r"[/\\]", model)[-1] if _PATH.match(model) else model


def _choose(models: Sequence[Mapping[str, Any]] | None, address: Address, asked: str | None) -> str:
    names = None if models is None else [str(model["id"]) for model in models]
    if asked is not None:
        if names is not None and asked not in names:
            raise InputError(
                f"--model {asked}: {address.place} does not serve it; it serves {_listed(names)}."
            )
        return asked
    if names is None:
        raise InputError(
            f"--endpoint: {address.place} does not list its models; name the one to ask with --model."
        )
    if len(names) != 1:
        raise InputError(f"--endpoint: {address.place} serves {_listed(names)}; choose one with --model.")
    return names[0]


def _details(props: Mapping[str, Any], models: Sequence[Mapping[str, Any]], model: str) -> dict[str, Any]:
    meta = next((_inside(entry, "meta") for entry in models if entry["id"] == model), {})
    facts: dict[str, Any] = {own: _positive(meta.get(theirs)) for theirs, own in _META.items()}
    facts["slots"] = _positive(props.get("total_slots"))
    facts["file_type"] = _text(props.get("model_ftype"))
    return {key: value for key, value in facts.items() if value is not None}


def _models(connection: Connection, address: Address) -> list[dict[str, Any]] | None:
    """Return the entries of the server's list of models; None where it has no such list."""
    found = _get(connection, address, f"{address.base}/models", required=True)
    listed = None if found is None else found.get("data")
    if not isinstance(listed, list):
        return None
    return [entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)]


def _get(
    connection: Connection, address: Address, url: str, *, required: bool = False
) -> Mapping[str, Any] | None:
    """Return a JSON object of the server, None where it has none there.

    Raises EngineError where no connection is to be had, and with `required` where the server refuses.
    """
    try:
        with connection.request("GET", url, _LIMITS, headers=address.headers) as (incoming, _):
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
    return _object(body) if incoming.status == 200 else None


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


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, Mapping) else None


def _inside(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _positive(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "") if names else "no model"
