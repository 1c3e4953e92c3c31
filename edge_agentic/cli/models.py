"""`edge-agentic models`: the catalogue, downloads, and what a model file is."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfcl_gate.cli.shell import new_app, safe_text
from bfcl_gate.errors import InputError

if TYPE_CHECKING:
    from bfcl_gate.cache import Progress
    from bfcl_gate.model.catalog import CatalogModel

app = new_app("Models: the catalogue, downloads, and what a model file is.")

FormatOption = Annotated[str, typer.Option("--format", help="text or json.")]
_TEMPLATE_LINES = 4
_TEMPLATE_WIDTH = 100


@app.command("list")
def list_models(output: FormatOption = "text") -> None:
    """List the models known by name, and which of them are on this machine."""
    from bfcl_gate.cli.progress import transfer
    from bfcl_gate.model.catalog import CATALOG

    _check_format(output)
    rows = [_catalog_facts(model, transfer) for model in CATALOG]
    if output == "json":
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        size = "size unknown" if row["size_bytes"] is None else f"{row['size_bytes']:,} bytes"
        cached = "not cached" if row["path"] is None else "cached"
        default = "  (default)" if row["default"] else ""
        print(f"{row['name']:<20}{size:>20}  {row['license']:<11} {row['source']:<62} {cached}{default}")


@app.command("pull")
def pull_model(name: Annotated[str, typer.Argument(help="A name that `models list` shows.")]) -> None:
    """Download a model, verify it by its SHA-256 and print where it lies."""
    from bfcl_gate.cli.progress import transfer
    from bfcl_gate.download import fetch_catalog_model
    from bfcl_gate.model.catalog import find

    path = fetch_catalog_model(find(name), transfer)
    print(safe_text(str(path)))


@app.command("info")
def show_model(
    model: Annotated[str, typer.Argument(metavar="NAME|PATH", help="A catalogue name or a .gguf file.")],
    output: FormatOption = "text",
    template: Annotated[bool, typer.Option("--template", help="Show the whole chat template.")] = False,
) -> None:
    """Say what a model file is, from its header; nothing is loaded or downloaded."""
    from bfcl_gate.cli.progress import transfer

    _check_format(output)
    facts = _facts(model, transfer)
    if output == "json":
        print(json.dumps(facts, indent=2))
        return
    for label, value in _lines(facts):
        print(f"{label:<17}{safe_text(value).replace(chr(10), ' ')}")
    if facts.get("chat_template"):
        _show_template(facts["chat_template"], whole=template)


def _check_format(output: str) -> None:
    if output not in ("text", "json"):
        raise InputError(f"--format {output}: unknown; expected text or json.")


def _facts(given: str, progress: "Progress") -> dict[str, Any]:
    """Return what is known of a catalogue name or a file, in JSON values."""
    from bfcl_gate.download import named
    from bfcl_gate.model.catalog import CATALOG
    from bfcl_gate.model.model_file import sha256_of

    meant = named(given)
    if not isinstance(meant, Path):
        listed = _catalog_facts(meant, progress)
        return listed if listed["path"] is None else listed | _file_facts(Path(listed["path"]), meant.license)
    facts = _file_facts(meant)
    digest = sha256_of(meant, progress)
    known = next((model for model in CATALOG if model.sha256 == digest), None)
    license_name = facts["license"] or (known and known.license)
    return {"name": known and known.name} | facts | {"license": license_name, "sha256": digest}


def _catalog_facts(model: "CatalogModel", progress: "Progress") -> dict[str, Any]:
    from bfcl_gate.download import local_model
    from bfcl_gate.model.catalog import DEFAULT

    path = local_model(model, progress)
    return {
        "name": model.name,
        "default": model.name == DEFAULT,
        "size_bytes": model.size_bytes,
        "license": model.license,
        "source": f"https://huggingface.co/{model.repository}",
        "file": model.file,
        "sha256": model.sha256,
        "path": None if path is None else str(path),
    }


def _file_facts(path: Path, license_name: str | None = None) -> dict[str, Any]:
    from bfcl_gate.model.model_file import read_gguf

    info = read_gguf(path)
    return {
        "path": str(path),
        "size_bytes": info.size_bytes,
        "gguf_version": info.version,
        "architecture": info.architecture,
        "model_name": info.name,
        "license": info.license or license_name,
        "parameters": info.parameters,
        "file_type": info.file_type,
        "mix": [{"type": s.type, "tensors": s.tensors, "bytes": s.bytes} for s in info.mix],
        "context_length": info.context_length,
        "layers": info.layers,
        "heads": info.heads,
        "kv_heads": info.kv_heads,
        "embedding_length": info.embedding_length,
        "tokenizer": info.tokenizer,
        "vocabulary": info.vocabulary,
        "chat_template": info.chat_template,
    }


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (label, value) of every fact worth a line of text; what a file does not say is named so."""
    lines = [("catalogue name", facts["name"] or "none")]
    if facts["path"] is None:
        hint = f"not on this machine; `edge-agentic models pull {facts['name']}` fetches it"
        return [
            *lines,
            ("file", facts["file"]),
            ("source", facts["source"]),
            *_identity(facts),
            ("path", hint),
        ]
    return [
        *lines,
        ("path", facts["path"]),
        *_identity(facts),
        ("architecture", _said(facts["architecture"])),
        ("model name", _said(facts["model_name"])),
        ("parameters", f"{facts['parameters']:,}"),
        ("quantisation", f"{_said(facts['file_type'])} by its label; tensors by type:"),
        *(("", _share(share)) for share in facts["mix"]),
        ("context length", _said(facts["context_length"])),
        ("layers", _said(facts["layers"])),
        ("heads", f"{_said(facts['heads'])}; key/value heads {_said(facts['kv_heads'])}"),
        ("embedding size", _said(facts["embedding_length"])),
        ("tokenizer", f"{_said(facts['tokenizer'])}, vocabulary {_said(facts['vocabulary'])}"),
        ("chat template", "present" if facts["chat_template"] else "none in the file"),
    ]


def _identity(facts: dict[str, Any]) -> list[tuple[str, str]]:
    size = "unknown" if facts["size_bytes"] is None else f"{facts['size_bytes']:,} bytes"
    return [("size", size), ("SHA-256", facts["sha256"]), ("licence", _said(facts["license"]))]


def _share(share: dict[str, Any]) -> str:
    size = "of unknown size" if share["bytes"] is None else f"{share['bytes']:>15,} bytes"
    return f"{share['type']:<9}{share['tensors']:>6,} tensors {size}"


def _said(value: Any) -> str:
    if value is None:
        return "not stated"
    if isinstance(value, tuple):
        return f"{min(value)} to {max(value)}, by layer" if value else "not stated"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _show_template(template: str, *, whole: bool) -> None:
    lines = safe_text(template).split("\n")
    shown = lines if whole else [line[:_TEMPLATE_WIDTH] for line in lines[:_TEMPLATE_LINES]]
    for line in shown:
        print(f"    {line}")
    if len(shown) < len(lines):
        print(f"    … {len(lines) - len(shown)} more lines; --template shows them all")
