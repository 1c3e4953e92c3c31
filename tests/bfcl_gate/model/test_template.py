"""Chat templates as they are found in the wild, and conversations as they are recorded."""

from typing import Any

import pytest
from tiny_gguf import CHATML

from bfcl_gate.errors import InputError
from bfcl_gate.model.chat import answer_message
from bfcl_gate.model.template import ChatTemplate

PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
CALLS = "{% for c in messages[0].tool_calls %}{{ c.function.arguments ARGUMENTS }};{% endfor %}"
TOOL = {"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}


def compiled(source: str, **options: Any) -> ChatTemplate:
    return ChatTemplate(source, **{"arguments": {}, **options})


def render(source: str, *messages: dict[str, Any], tools: tuple[Any, ...] = (), **options: Any) -> str:
    return compiled(source, **options).render(messages, tools, generation_prompt=True)


def said(role: str, content: Any = None, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def calling(arguments: Any) -> dict[str, Any]:
    return said(
        "assistant", tool_calls=[{"type": "function", "function": {"name": "run", "arguments": arguments}}]
    )


def test_a_conversation_with_tools_and_calls_is_rendered_whole() -> None:
    text = render(
        CHATML,
        said("system", "Be brief."),
        said("user", "List."),
        answer_message("", [{"name": "run", "arguments": '{"cmd": "ls"}'}]),
        said("tool", "a.txt"),
        tools=(TOOL,),
    )
    assert text == (
        "<|im_start|>system\nBe brief.\n\nTools:\n"
        '{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}\n'
        'Call one as <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>.<|im_end|>\n'
        "<|im_start|>user\nList.<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>{"name": "run", "arguments": {"cmd": "ls"}}</tool_call><|im_end|>\n'
        "<|im_start|>tool\na.txt<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("given", ['{"a": "b"}', {"a": "b"}])
@pytest.mark.parametrize(
    ("use", "written"),
    [("| tojson", '{"a": "b"};'), (".items() | list", "[('a', 'b')];"), ("| string", "{'a': 'b'};")],
)
def test_arguments_are_given_as_objects(given: Any, use: str, written: str) -> None:
    assert render(CALLS.replace("ARGUMENTS", use), calling(given)) == written


def test_a_template_that_needs_text_gets_arguments_as_text() -> None:
    assert render(CALLS.replace("ARGUMENTS", "+ '!'"), calling('{"a":  1}')) == '{"a":  1}!;'


@pytest.mark.parametrize(
    ("given", "written"), [("", "{};"), (None, "{};"), ('["x"]', '"[\\"x\\"]";'), ("{bad", '"{bad";')]
)
def test_arguments_that_are_no_object(given: Any, written: str) -> None:
    assert render(CALLS.replace("ARGUMENTS", "| tojson"), calling(given)) == written


def test_null_content_is_empty_text() -> None:
    assert render("{{ messages[0].content + '.' }}", said("assistant")) == "."


def test_empty_fields_are_absent_because_templates_test_for_their_presence() -> None:
    source = "{{ 'calls' if 'tool_calls' in messages[0] }}{{ 'name' if 'name' in messages[0] }}"
    assert render(source, said("assistant", "x", tool_calls=None, name=None)) == ""
    assert render(source, said("assistant", "x", tool_calls=[], name="n")) == "name"


def test_text_parts_are_joined_and_other_parts_refused() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert render(PLAIN, said("user", parts)) == "[user]a\nb"
    with pytest.raises(InputError, match="expected text"):
        render(PLAIN, said("user", [{"type": "image_url", "image_url": {"url": "x"}}]))
    with pytest.raises(InputError, match="content is int"):
        render(PLAIN, said("user", 5))


def test_developer_is_system_unless_the_template_knows_it() -> None:
    assert render(PLAIN, said("developer", "d"), said("user", "u")) == "[system]d[user]u"
    assert (
        render(PLAIN + "{# developer #}", said("developer", "d"), said("user", "u")) == "[developer]d[user]u"
    )


@pytest.mark.parametrize(
    "refusal",
    [
        "{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}",
        "{% if m.role != 'system' %}",
    ],
)
def test_a_system_message_that_a_template_refuses_or_drops_goes_before_the_first_user_message(
    refusal: str,
) -> None:
    end = "{% endif %}" if "!=" in refusal else ""
    source = "{% for m in messages %}" + refusal + "[{{ m.role }}]{{ m.content }}" + end + "{% endfor %}"
    assert render(source, said("system", "s"), said("user", "u"), said("user", "v")) == "[user]s\nu[user]v"
    assert render(source, said("system", "s")) == "[user]s"
    assert render(source, said("user", "u")) == "[user]u"


def test_a_template_that_needs_tools_still_takes_its_system_message() -> None:
    source = "{{ tools[0].function.name }}" + PLAIN
    assert render(source, said("system", "s"), said("user", "u"), tools=(TOOL,)) == "run[system]s[user]u"


def test_no_tools_are_none_or_else_an_empty_list() -> None:
    assert render("{{ tools is none }}", said("user", "u")) == "True"
    assert render("{% for t in tools %}{% endfor %}{{ tools }}", said("user", "u")) == "[]"


def test_a_template_may_append_to_its_lists_without_changing_ours() -> None:
    messages = (said("user", "u"),)
    source = "{% set _ = messages.append({'role': 'x', 'content': 'y'}) %}" + PLAIN
    template = compiled(source)
    assert template.render(messages, (), generation_prompt=True) == "[user]u[x]y"
    assert template.render(messages, (), generation_prompt=True) == "[user]u[x]y"
    assert messages == (said("user", "u"),)


def test_a_template_cannot_carry_anything_from_one_prompt_to_the_next() -> None:
    template = compiled("{% set _ = extra.append(1) %}{{ extra | length }}", arguments={"extra": []})
    assert [template.render((), (), generation_prompt=True) for _ in range(2)] == ["1", "1"]


def test_roles_a_template_lacks_are_one_clear_error() -> None:
    source = "{{ raise_exception('Unknown role') if messages | selectattr('role', 'eq', 'tool') | list }}"
    with pytest.raises(InputError, match=r"\(Unknown role\).*roles are user, tool;.*--chat-template"):
        render(source, said("user", "u"), said("tool", "t"))


def test_a_missing_function_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="'make_toast' is undefined"):
        render("{{ make_toast() }}", said("user", "u"))


def test_a_refusal_of_a_megabyte_is_cut_short() -> None:
    with pytest.raises(InputError) as caught:
        render("{{ raise_exception('x' * 1000000) }}", said("user", "u"))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "source", ["{% if %}", "{{ x | no_such_filter }}", "{% for a in [1] %}" * 25 + "{% endfor %}" * 25]
)
def test_what_does_not_compile_is_one_clear_error(source: str) -> None:
    with pytest.raises(InputError, match=r"does not compile.*--chat-template"):
        compiled(source)


def test_arguments_are_variables_of_the_template() -> None:
    source = "{{ enable_thinking }}{{ bos_token }}{{ eos_token }}"
    assert render(source, arguments={"enable_thinking": False}, bos="<s>", eos="</s>") == "False<s></s>"
    assert render(source, arguments={"bos_token": "B"}, bos="<s>") == "B"


def test_an_argument_may_not_replace_the_conversation() -> None:
    with pytest.raises(InputError, match="--template-arg messages"):
        compiled(PLAIN, arguments={"messages": []})


def test_the_date_is_always_the_same() -> None:
    assert render("{{ date_string }} {{ strftime_now('%d.%m.%Y') }}") == "01 Jan 2026 01.01.2026"


def test_the_opening_of_an_answer_is_what_the_generation_prompt_adds() -> None:
    assert compiled(CHATML).generation_prefix() == "<|im_start|>assistant\n"
    assert compiled(PLAIN).generation_prefix() == ""
    assert compiled("{{ raise_exception('never') }}").generation_prefix() == ""


def test_every_text_of_messages_and_tools_is_guarded_names_of_fields_too() -> None:
    source = "{{ messages[0].role }} {{ messages[0].content }} {{ tools | tojson }} {{ bos_token }}"
    tools = ({"k!": ["v!", 1, None, True]},)
    text = render(source, said("r!", "c!"), tools=tools, bos="b!", guard=lambda text: text.replace("!", "?"))
    assert text == 'r? c? [{"k?": ["v?", 1, null, true]}] b!'


def test_arguments_are_guarded_after_they_were_decoded() -> None:
    source = CALLS.replace("ARGUMENTS", "| tojson")
    assert (
        render(source, calling('{"a": "\\u0021"}'), guard=lambda text: text.replace("!", "?"))
        == '{"a": "?"};'
    )


def test_what_is_mapped_is_a_list_in_json_and_nothing_becomes_html() -> None:
    source = "{{ messages | map(attribute='role') | tojson }}{{ 'a'|safe + '<\"b\">' }}"
    assert render(source, said("user", "u")) == '["user"]a<"b">'


def test_reasoning_is_thinking_where_the_template_calls_it_so() -> None:
    message = {"role": "assistant", "content": "a", "reasoning_content": "r"}
    assert render("{{ messages[1].thinking }}", said("user", "u"), message) == "r"
    both = "{{ messages[1].thinking is defined }}{{ messages[1].reasoning_content }}"
    assert render(both, said("user", "u"), message) == "Falser"
