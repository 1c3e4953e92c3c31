"""What a server tells about itself before it is asked anything: its models, and llama.cpp's /props."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bfcl_gate.errors import InputError
from bfcl_gate.http import Connection
from bfcl_gate.model.endpoint_engine.address import Address
from bfcl_gate.model.endpoint_engine.documents import document, fetch

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

    `listed` says whether the server has a list of models. What it does not tell is None. `ctx` is in tokens, for one
    request. `llama_cpp` says whether it is llama.cpp's own server.
    """

    model: str
    name: str
    listed: bool
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
    props = document(connection, address, f"{address.root}/props?model={quote(model, safe='')}") or {}
    build = _text(props.get("build_info"))
    slots = [] if build is None else _slots(connection, address)
    version = document(connection, address, f"{address.root}/version") if build is None else None
    template = _text(props.get("chat_template"))
    return Server(
        model=model,
        name=public_name(model),
        listed=models is not None,
        llama_cpp=build is not None,
        build=build or _text((version or {}).get("version")),
        template_sha256=None
        if template is None
        else hashlib.sha256(template.encode(errors="surrogatepass")).hexdigest(),
        ctx=_context(props, slots, models or [], model),
        details=_details(props, slots, models or [], model),
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


def _slots(connection: Connection, address: Address) -> list[Mapping[str, Any]]:
    """Return llama.cpp's slots, each of which answers one request at a time; none where it hides them."""
    found = fetch(connection, address, f"{address.root}/slots")
    return [slot for slot in found if isinstance(slot, Mapping)] if isinstance(found, list) else []


def _context(
    props: Mapping[str, Any],
    slots: Sequence[Mapping[str, Any]],
    models: Sequence[Mapping[str, Any]],
    model: str,
) -> int | None:
    """Return the smallest context stated for one request: of llama.cpp's slots, or as vLLM and SGLang list it."""
    listed = _entry(models, model).get("max_model_len")
    told = [
        _inside(props, "default_generation_settings").get("n_ctx"),
        listed,
        *(s.get("n_ctx") for s in slots),
    ]
    return min((ctx for ctx in map(_positive, told) if ctx is not None), default=None)


def _entry(models: Sequence[Mapping[str, Any]], model: str) -> Mapping[str, Any]:
    return next((entry for entry in models if entry["id"] == model), {})


def _details(
    props: Mapping[str, Any],
    slots: Sequence[Mapping[str, Any]],
    models: Sequence[Mapping[str, Any]],
    model: str,
) -> dict[str, Any]:
    meta = _inside(_entry(models, model), "meta")
    facts: dict[str, Any] = {own: _positive(meta.get(theirs)) for theirs, own in _META.items()}
    facts["slots"] = _positive(props.get("total_slots")) or len(slots) or None
    drafting = [slot["speculative"] for slot in slots if isinstance(slot.get("speculative"), bool)]
    facts["speculative"] = any(drafting) if drafting else None
    facts["file_type"] = _text(props.get("model_ftype"))
    return {key: value for key, value in facts.items() if value is not None}


def _models(connection: Connection, address: Address) -> list[dict[str, Any]] | None:
    """Return the entries of the server's list of models; None where it has no such list."""
    found = document(connection, address, f"{address.base}/models", required=True)
    listed = None if found is None else found.get("data")
    if not isinstance(listed, list):
        return None
    return [entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)]


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
