"""BFCL function documents -> OpenAI tools, in the two ways in which they are sent to models.

`mlperf` converts the raw documents: names lose their dots, types become JSON Schema types. `official` is
what the leaderboard's own runner sends: every description first gets a sentence naming the language, and
every Java or JavaScript parameter becomes a string that holds source text. The checker demands source text
in both cases, so a model that obeys the typed Java and JavaScript schemas of `mlperf` is marked wrong there;
scores of the two are not comparable.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

Schema = dict[str, Any]

_JSON_TYPES = {
    **dict.fromkeys(("integer", "byte", "short", "long", "Bigint"), "integer"),
    **dict.fromkeys(("number", "float", "double"), "number"),
    **dict.fromkeys(("string", "String", "any", "Any", "char"), "string"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "tuple", "Array", "ArrayList", "Queue", "Stack"), "array"),
    **dict.fromkeys(("dict", "object", "HashMap", "Hashtable"), "object"),
}
"""BFCL type -> JSON Schema type. What is missing here (JavaScript's Boolean) is sent as a string."""


def mlperf_tools(functions: Sequence[Schema]) -> list[Schema]:
    """Return OpenAI tools made from the raw function documents, key order kept."""
    return [_tool(_copied(function)) for function in functions]


def official_tools(subset: str, functions: Sequence[Schema]) -> list[Schema]:
    """Return OpenAI tools made the way the leaderboard's runner makes them for that subset."""
    return [_tool(_in_language(subset, _copied(function))) for function in functions]


def _copied(value: Any) -> Any:
    """Return a copy of a JSON value, several times quicker than copy.deepcopy: the entries are shared."""
    if isinstance(value, dict):
        return {key: _copied(member) for key, member in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def tool_name(function_name: str) -> str:
    """Return the name a function is declared under, since OpenAI tool names cannot hold dots."""
    return function_name.replace(".", "_")


def _tool(function: Schema) -> Schema:
    parameters = function["parameters"]
    properties = {name: _property(raw) for name, raw in parameters["properties"].items()}
    parameters = {**parameters, "type": "object", "properties": properties}
    return {
        "type": "function",
        "function": {**function, "name": tool_name(function["name"]), "parameters": parameters},
    }


def _property(raw: Schema) -> Schema:
    schema = dict(raw)
    if raw.get("type") == "float":
        schema["format"] = "float"
        _describe(schema, " This is a float type value.")
    schema["type"] = _json_type(raw)
    if schema["type"] in ("array", "object"):
        if "properties" in schema:
            schema["properties"] = {name: _property(value) for name, value in schema["properties"].items()}
        elif "items" in schema:
            schema["items"] = _items(schema["items"])
    return schema


def _items(raw: Schema) -> Schema:
    """Element types are converted two lists deep; below that the raw document is sent as it is."""
    schema = {**raw, "type": _json_type(raw)}
    if schema["type"] == "array" and "items" in schema:
        schema["items"] = {**schema["items"], "type": _json_type(schema["items"])}
    elif schema["type"] == "object" and "properties" in schema:
        schema["properties"] = {name: _property(value) for name, value in schema["properties"].items()}
    return schema


def _json_type(raw: Schema) -> str:
    return _JSON_TYPES.get(raw.get("type", "string"), "string")


def _in_language(subset: str, function: Schema) -> Schema:
    syntax, as_text = {
        "simple_java": ("Java 8 SDK", _java_text),
        "simple_javascript": ("JavaScript", _javascript_text),
    }.get(subset, ("Python 3", None))
    _describe(function, f" Note that the provided function is in {syntax} syntax.")
    if as_text is not None:
        _each_as_text(function["parameters"]["properties"], as_text)
    return function


def _each_as_text(properties: dict[str, Schema], as_text: Callable[[Schema], None]) -> None:
    for schema in properties.values():
        as_text(schema)
        schema["type"] = "string"


def _java_text(schema: Schema) -> None:
    _name_type(schema, "Java")
    if schema["type"] in ("ArrayList", "Array"):
        _name_elements(schema)


def _javascript_text(schema: Schema) -> None:
    _name_type(schema, "JavaScript")
    if schema["type"] == "array":
        _name_elements(schema)
    elif schema["type"] == "dict" and "properties" in schema:
        members = json.dumps(schema.pop("properties"))
        _describe(
            schema,
            " The dictionary entries have the following schema; they are not in string representation. "
            + members,
        )


def _name_type(schema: Schema, language: str) -> None:
    if schema["type"] == "any":
        _describe(
            schema, f" This parameter can be of any type of {language} object in string representation."
        )
    else:
        _describe(schema, f" This is {language} {schema['type']} type parameter in string representation.")


def _name_elements(schema: Schema) -> None:
    kind = schema.pop("items")["type"]
    _describe(schema, f" The list elements are of type {kind}; they are not in string representation.")


def _describe(schema: Schema, sentence: str) -> None:
    schema["description"] = schema.get("description", "") + sentence
