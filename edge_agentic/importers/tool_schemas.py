"""Tool schemas of several protocols to OpenAI's, and the user's own from a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.files import read_text
from edge_agentic.importers.source import parse_json
from edge_agentic.importers.values import arr, obj, objects, text

_EMPTY = {"type": "object", "properties": {}}


def openai_tools(tools: Any) -> tuple[Mapping[str, Any], ...]:
    """Return tools as OpenAI has them; schemas are taken as recorded, tools without a name left out.

    Known shapes: OpenAI chat (nested), Responses (flat), Anthropic (`input_schema`), Gemini
    (`functionDeclarations`). A tool built into a service has no schema and gets one without parameters.
    """
    found = []
    for tool in objects(tools):
        for declared in objects(tool.get("functionDeclarations") or tool.get("function_declarations")):
            found.append(_tool(declared))
        found.append(_tool(obj(tool.get("function")) or tool))
    return tuple(tool for tool in found if tool is not None)


def _tool(fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not text(fields.get("name")):
        return None
    schemas = (
        fields.get(key) for key in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
    )
    function: dict[str, Any] = {"name": fields["name"]}
    if isinstance(fields.get("description"), str):
        function["description"] = fields["description"]
    function["parameters"] = next((schema for schema in schemas if isinstance(schema, dict)), _EMPTY)
    if isinstance(fields.get("strict"), bool):
        function["strict"] = fields["strict"]
    return {"type": "function", "function": function}


def read_tools(path: Path) -> tuple[Mapping[str, Any], ...]:
    """Read `--tools FILE`: a JSON list of tools, or a request body that holds one. Raises InputError."""
    document = read_text(path, "a JSON list of tools")
    try:
        value = parse_json(document)
    except ValueError as error:
        raise InputError(f"{path}: is no JSON ({error}); expected a list of tools.") from error
    tools = openai_tools(value if isinstance(value, list) else arr(obj(value).get("tools")))
    if not tools:
        raise InputError(
            f"{path}: holds no tool; expected a JSON list of OpenAI or Anthropic tools, or a request body with "
            "`tools`."
        )
    return tools


def read_system(path: Path) -> str:
    """Read `--system FILE` as it is, but for a byte order mark. Raises InputError."""
    system = read_text(path, "a system prompt")
    if not system.strip():
        raise InputError(f"{path}: holds no text; expected a system prompt.")
    return system
