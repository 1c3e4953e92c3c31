"""A chat template's text tells which syntax its model was taught."""

import pytest

from bfcl_gate.model.toolcalls import syntax_of_template
from bfcl_gate.model.toolcalls.parse import SYNTAXES
from bfcl_gate.model.toolcalls.templates import _MARKERS

# What of each template decides, as the templates write it.
SNIPPETS = {
    "hermes": '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>',
    "qwen-xml": "<tool_call>\n<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n</parameter>",
    "llama3-json": """<|start_header_id|>system … {"name": "f", "parameters": …} … '"parameters": '""",
    "pythonic": "<|header_start|>assistant … '<|python_start|>' …",
    "mistral": "{{- '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}",
    "gemma": "{{- '<|tool_call>call:' + function['name'] + '{' -}}",
    "phi4": "'<|tool|>' + message['tools'] + '<|/tool|>'",
    "granite": "respond with <|tool_call|> followed by a JSON list",
    "glm": "<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>",
    "deepseek": "{{'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>'}}",
    "gpt-oss": "'<|start|>assistant<|channel|>commentary to=functions.' … '<|message|>'",
    "nemotron": '<TOOLCALL>[{"name": …}]</TOOLCALL>',
    "lfm2": "'<|tool_list_start|>[' … '<|tool_call_start|>['",
    "minimax": "{%- set toolcall_begin_token = '<minimax:tool_call>' -%}",
    "kimi": "'<|tool_calls_section_begin|>' … '<|tool_call_begin|>'",
    "cohere": '<|START_ACTION|>[{"tool_call_id": …}]<|END_ACTION|>',
    "functionary": '<|start_header_id|> … <function=example_function_name>{{"a": "b"}}</function>',
    "auto": "{% for message in messages %}{{ message.content }}{% endfor %}",
}


@pytest.mark.parametrize(("family", "template"), SNIPPETS.items(), ids=SNIPPETS)
def test_the_family_is_told_from_the_template(family: str, template: str) -> None:
    assert syntax_of_template(template) == family


def test_every_syntax_can_be_told_and_none_is_told_that_cannot_be_read() -> None:
    assert set(SNIPPETS) == {*SYNTAXES, "auto"}
    assert {family for family, _ in _MARKERS} == set(SYNTAXES)
