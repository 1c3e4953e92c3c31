import json

import pytest
from bfcl_upstream import Upstream

from bfcl_gate.dataset import CATEGORIES, entries
from bfcl_gate.tools import mlperf_tools, official_tools

FUNCTION = {
    "name": "math.add",
    "description": "Adds.",
    "parameters": {
        "type": "dict",
        "properties": {
            "a": {"type": "float", "description": "First."},
            "b": {
                "type": "tuple",
                "description": "Rest.",
                "items": {"type": "array", "items": {"type": "any"}},
            },
            "c": {"type": "Boolean", "description": "Flag.", "optional": True},
            "d": {"type": "dict", "description": "More.", "properties": {"e": {"type": "bool"}}},
        },
        "required": ["a"],
    },
}


def test_mlperf_tools_translate_names_and_types_and_keep_the_rest() -> None:
    [tool] = mlperf_tools([FUNCTION])
    assert tool == {
        "type": "function",
        "function": {
            "name": "math_add",
            "description": "Adds.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {
                        "type": "number",
                        "description": "First. This is a float type value.",
                        "format": "float",
                    },
                    "b": {
                        "type": "array",
                        "description": "Rest.",
                        "items": {"type": "array", "items": {"type": "string"}},
                    },
                    "c": {"type": "string", "description": "Flag.", "optional": True},
                    "d": {"type": "object", "description": "More.", "properties": {"e": {"type": "boolean"}}},
                },
                "required": ["a"],
            },
        },
    }


def test_making_tools_leaves_the_function_documents_alone() -> None:
    before = json.dumps(FUNCTION)
    mlperf_tools([FUNCTION])
    official_tools("simple_java", [FUNCTION_OF_JAVA])
    assert json.dumps(FUNCTION) == before


FUNCTION_OF_JAVA = {
    "name": "f",
    "description": "Does it.",
    "parameters": {
        "type": "dict",
        "properties": {
            "xs": {"type": "ArrayList", "description": "Xs.", "items": {"type": "long"}},
            "y": {"type": "any", "description": "Y."},
        },
        "required": [],
    },
}


def test_official_java_parameters_are_strings_that_say_what_they_hold() -> None:
    [tool] = official_tools("simple_java", [FUNCTION_OF_JAVA])
    assert tool["function"]["description"].startswith("Does it. ")
    assert "Java 8" in tool["function"]["description"]
    properties = tool["function"]["parameters"]["properties"]
    assert {name: schema["type"] for name, schema in properties.items()} == {"xs": "string", "y": "string"}
    assert "ArrayList" in properties["xs"]["description"]
    assert "type long" in properties["xs"]["description"]
    assert "items" not in properties["xs"]


@pytest.mark.parametrize("subset", CATEGORIES)
def test_tools_of_every_entry_equal_the_official_conversion_key_order_included(
    upstream: Upstream, subset: str
) -> None:
    for found in entries(subset):
        assert json.dumps(mlperf_tools(found.functions)) == json.dumps(upstream.tools(found.functions))
        ours = official_tools(subset, found.functions)
        assert json.dumps(ours) == json.dumps(upstream.official_tools(subset, found.functions))
