"""One or two answers of each family by eye: what is a call, what is content, what is reasoning."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from bfcl_gate.errors import InputError
from bfcl_gate.model import parse_tool_calls


def tool(name: str, **types: Any) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return {"type": "function", "function": {"name": name, "parameters": {"properties": properties}}}


TOOLS = [
    tool("read_file", path="string", lines="integer"),
    tool("set_timer", minutes="number", loud="boolean", tags="array"),
    tool("now"),
]
READ = ("read_file", {"path": "a.py"})
NOW = ("now", {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    family: str
    text: str
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=lambda: [READ])
    content: str | None = None
    reasoning: str | None = None
    error: str | None = None
    prefix: str = ""
    finish: str = "stop"


def check(case: Case, mode: str, syntax: str) -> None:
    answer = parse_tool_calls(
        case.text, TOOLS, syntax=syntax, mode=mode, prefix=case.prefix, finish=case.finish
    )
    assert [(call.name, call.arguments) for call in answer.calls] == case.calls
    assert (answer.content, answer.reasoning, answer.error) == (case.content, case.reasoning, case.error)


NATIVE = {
    "text around the call": Case(
        family="hermes",
        text='First this.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call> Then?',
        content="First this.\n\nThen?",
    ),
    "keys in the other order": Case(
        family="hermes", text='<tool_call>{"arguments": {"path": "a.py"}, "name": "read_file"}</tool_call>'
    ),
    "an end tag in a text": Case(
        family="hermes",
        text='<tool_call>\n{"name": "read_file", "arguments": {"path": "</tool_call>"}}\n</tool_call><|im_end|>',
        calls=[("read_file", {"path": "</tool_call>"})],
    ),
    "a thought's end in a text": Case(
        family="hermes",
        prefix="<think>\n",
        text='Hm.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "</think>"}}\n</tool_call>',
        calls=[("read_file", {"path": "</think>"})],
        reasoning="Hm.",
    ),
    "a call in a closed thought": Case(
        family="hermes",
        text='<think><tool_call>{"name": "now", "arguments": {}}</tool_call></think>Nothing to do.',
        calls=[],
        content="Nothing to do.",
        reasoning='<tool_call>{"name": "now", "arguments": {}}</tool_call>',
    ),
    "a closed thought in the middle": Case(
        family="hermes",
        text='Well. <think>which?</think><tool_call>{"name": "now", "arguments": {}}</tool_call>',
        calls=[NOW],
        content="Well.",
        reasoning="which?",
    ),
    "cut behind the opening tag": Case(
        family="hermes",
        text="Yes.\n<tool_call>\n",
        calls=[],
        content="Yes.",
        error="truncated",
        finish="length",
    ),
    "a thought the limit ended": Case(
        family="hermes",
        text="<think>\nLong",
        calls=[],
        reasoning="Long",
        error="truncated",
        finish="length",
    ),
    "an unknown tool": Case(
        family="hermes",
        text='<tool_call>\n{"name": "fly", "arguments": {"to": 1}}\n</tool_call>',
        calls=[("fly", {"to": 1})],
    ),
    "typed values": Case(
        family="qwen-xml",
        text="<tool_call>\n<function=set_timer>\n<parameter=minutes>\n2.5\n</parameter>\n<parameter=loud>\nfalse\n"
        '</parameter>\n<parameter=tags>\n["a", 1]\n</parameter>\n</function>\n</tool_call>',
        calls=[("set_timer", {"minutes": 2.5, "loud": False, "tags": ["a", 1]})],
    ),
    "two functions": Case(
        family="qwen-xml",
        text="<tool_call>\n<function=now>\n</function>\n</tool_call>\n<tool_call>\n<function=read_file>\n"
        "<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
        calls=[NOW, READ],
    ),
    "a cut value": Case(
        family="qwen-xml",
        text="<tool_call>\n<function=read_file>\n<parameter=path>\na.py",
        calls=[],
        error="truncated",
    ),
    "a cut function": Case(
        family="qwen-xml",
        text="<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n",
        calls=[],
        error="truncated",
        finish="length",
    ),
    "Llama 3 JSON": Case(family="llama3-json", text='{"name": "read_file", "parameters": {"path": "a.py"}}'),
    "Llama 3 behind its tag": Case(
        family="llama3-json",
        text='Hm <|python_tag|>{"name": "read_file", "parameters": {"path": "a.py"}}<|eom_id|>',
        content="Hm",
    ),
    "Llama 3 built-in": Case(
        family="llama3-json", text='<|python_tag|>read_file.call(path="a.py")<|eom_id|>'
    ),
    "a Python list": Case(family="pythonic", text="[read_file(path='a.py'), now()]", calls=[READ, NOW]),
    "a cut Python list": Case(
        family="pythonic",
        text="[now(), read_file(path='a",
        calls=[NOW],
        error="truncated",
        finish="length",
    ),
    "Llama 4": Case(family="pythonic", text='<|python_start|>[read_file(path="a.py")]<|python_end|><|eot|>'),
    "LFM2": Case(
        family="lfm2",
        text="<|tool_call_start|>[set_timer(minutes=1, loud=true)]<|tool_call_end|>Set.",
        calls=[("set_timer", {"minutes": 1, "loud": True})],
        content="Set.",
    ),
    "Mistral v3": Case(
        family="mistral",
        text='[TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "a.py"}, "id": "abcdefghi"}]</s>',
    ),
    "Mistral Small 3.2": Case(
        family="mistral",
        text='[TOOL_CALLS]now[CALL_ID]abcdefghi[ARGS]{}[TOOL_CALLS]read_file[CALL_ID]bbcdefghi[ARGS]{"path": "a.py"}',
        calls=[NOW, READ],
    ),
    "Devstral": Case(
        family="mistral",
        text='[THINK]so[/THINK]On it.[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}</s>',
        content="On it.",
        reasoning="so",
    ),
    "Mistral cut in the name": Case(
        family="mistral", text="[TOOL_CALLS]read_f", calls=[], error="truncated", finish="length"
    ),
    "Gemma 4": Case(
        family="gemma",
        text='<|channel>thought\nso<channel|><|tool_call>call:set_timer{minutes:1.5,loud:true,tags:[<|"|>a, {b<|"|>]}'
        "<tool_call|><turn|>",
        calls=[("set_timer", {"minutes": 1.5, "loud": True, "tags": ["a, {b"]})],
        reasoning="so",
    ),
    "FunctionGemma": Case(
        family="gemma",
        text="<start_function_call>call:read_file{path:<escape>a.py<escape>}<end_function_call>",
    ),
    "Gemma cut in a text": Case(
        family="gemma",
        text='<|tool_call>call:read_file{path:<|"|>a.py<tool_call|>',
        calls=[],
        error="truncated",
    ),
    "Phi-4-mini without its end": Case(
        family="phi4", text='<|tool_call|>[{"name": "read_file", "arguments": {"path": "a.py"}}]<|end|>'
    ),
    "Phi-4-mini functools": Case(
        family="phi4", text='functools[{"name": "read_file", "arguments": {"path": "a.py"}}]'
    ),
    "Granite 3": Case(
        family="granite",
        text='<tool_call>[{"name": "read_file", "arguments": {"path": "a.py"}}, {"name": "now", "arguments": {}}]',
        calls=[READ, NOW],
    ),
    "Granite 3.3 speaking": Case(
        family="granite",
        text="<think>So.</think><response>All done.</response>",
        calls=[],
        content="All done.",
        reasoning="So.",
    ),
    "GLM-4.6": Case(
        family="glm",
        text="\n<think>so</think>\n<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n"
        "<arg_key>lines</arg_key>\n<arg_value>7</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>",
        calls=[("read_file", {"path": "a.py", "lines": 7}), NOW],
        reasoning="so",
    ),
    "GLM cut in a value": Case(
        family="glm",
        text="<tool_call>read_file<arg_key>path</arg_key><arg_value>a.p",
        calls=[],
        error="truncated",
    ),
    "DeepSeek R1": Case(
        family="deepseek",
        prefix="<think>\n",
        text="so\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
        '{"path": "a.py"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
        reasoning="so",
    ),
    "DeepSeek V3.1": Case(
        family="deepseek",
        prefix="</think>",
        text='<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.py"}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜>",
    ),
    "DeepSeek V3.2": Case(
        family="deepseek",
        text='</think>\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="set_timer">\n'
        '<｜DSML｜parameter name="minutes" string="false">3</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="tags" string="true">[1]</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
        "</｜DSML｜function_calls>",
        calls=[("set_timer", {"minutes": 3, "tags": "[1]"})],
    ),
    "gpt-oss with a preamble": Case(
        family="gpt-oss",
        text="<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>commentary<|message|>On it."
        "<|end|><|start|>assistant<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>"
        '{"path": "a.py"}<|call|>',
        content="On it.",
        reasoning="so",
    ),
    "gpt-oss cut in the header": Case(
        family="gpt-oss",
        text="<|channel|>commentary to=functions.read",
        calls=[],
        error="truncated",
        finish="length",
    ),
    "gpt-oss thinking too long": Case(
        family="gpt-oss",
        text="<|channel|>analysis<|message|>on and on",
        calls=[],
        reasoning="on and on",
        error="truncated",
        finish="length",
    ),
    "Nemotron": Case(
        family="nemotron", text='<TOOLCALL>[{"name": "read_file", "arguments": {"path": "a.py"}}]</TOOLCALL>'
    ),
    "MiniMax M1": Case(
        family="minimax",
        text='<tool_calls>\n{"name": "now", "arguments": {}}\n{"name": "read_file", "arguments": {"path": "a.py"}}\n'
        "</tool_calls>",
        calls=[NOW, READ],
    ),
    "MiniMax M2": Case(
        family="minimax",
        text='so\n</think>\n\n<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n'
        '</invoke>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>[e~[',
        prefix="<think>\n",
        calls=[READ, NOW],
        reasoning="so",
    ),
    "MiniMax M3": Case(
        family="minimax",
        text=']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.py'
        "]<]minimax[>[</path>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    ),
    "MiniMax M3, nested": Case(
        family="minimax",
        text=']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="set_timer">]<]minimax[>[<minutes>5]<]minimax[>['
        "</minutes>]<]minimax[>[<tags>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[<item>]<]minimax[>[<k>b"
        "]<]minimax[>[</k>]<]minimax[>[</item>]<]minimax[>[</tags>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        calls=[("set_timer", {"minutes": 5, "tags": ["a", {"k": "b"}]})],
    ),
    "Kimi K2": Case(
        family="kimi",
        text="On it.<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
        '<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|><|tool_call_begin|>functions.now:1'
        "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|><|im_end|>",
        calls=[READ, NOW],
        content="On it.",
    ),
    "Kimi K2 still thinking": Case(
        family="kimi",
        prefix="<think>",
        text="so <|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>",
        calls=[NOW],
        reasoning="so",
    ),
    "Command-R7B": Case(
        family="cohere",
        text='<|START_THINKING|>so<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "now", '
        '"parameters": {}}\n]<|END_ACTION|>',
        calls=[NOW],
        reasoning="so",
    ),
    "Command-R7B speaking": Case(
        family="cohere", text="<|START_RESPONSE|>Hello.<|END_RESPONSE|>", calls=[], content="Hello."
    ),
    "Command-R answering directly": Case(
        family="cohere",
        text='Action: ```json\n[\n    {"tool_name": "directly_answer", "parameters": {}}\n]```',
        calls=[],
    ),
    "Functionary 3.1": Case(
        family="functionary", text='<function=read_file>{"path": "a.py"}</function><|eom_id|>'
    ),
    "Functionary 3.2": Case(
        family="functionary",
        prefix=">>>",
        text='all\nOn it.\n>>>read_file\n{"path": "a.py"}',
        content="On it.",
    ),
    "Functionary 3.2 at once": Case(family="functionary", prefix=">>>", text='read_file\n{"path": "a.py"}'),
}


@pytest.mark.parametrize("mode", ["native", "lenient"])
@pytest.mark.parametrize("case", NATIVE.values(), ids=NATIVE)
def test_the_exact_form_is_read_in_both_modes_by_its_family_and_by_auto(case: Case, mode: str) -> None:
    check(case, mode, case.family)
    check(case, mode, "auto")


LENIENT = {
    "fenced": Case(
        family="hermes", text='```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```'
    ),
    "fenced twice": Case(
        family="hermes",
        text='```json\n{"name": "now", "arguments": {}}\n```\n\n```json\n{"name": "read_file", "arguments": '
        '{"path": "a.py"}}\n```',
        calls=[NOW, READ],
    ),
    "fenced, one after another": Case(
        family="hermes",
        text='```\n{"name": "now", "arguments": {}}\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```',
        calls=[NOW, READ],
    ),
    "bare behind a sentence": Case(
        family="hermes",
        text='I will:\n{"name": "read_file", "arguments": {"path": "a.py"}}',
        content="I will:",
    ),
    "bare behind a thought": Case(
        family="hermes",
        prefix="<think>\n",
        text='so</think>{"name": "read_file", "arguments": {"path": "a.py"}}',
        reasoning="so",
    ),
    "an invented tag, wrongly closed": Case(
        family="hermes",
        text='<function_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
    ),
    "line breaks in a text": Case(
        family="hermes",
        text='<tool_call>\n{"name": "read_file", "arguments": {"path": "a\nb"}}\n</tool_call>',
        calls=[("read_file", {"path": "a\nb"})],
    ),
    "a brace too many": Case(
        family="hermes",
        text='<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}}\n</tool_call>',
        content="}\n</tool_call>",
    ),
    "another family's form": Case(
        family="hermes",
        text="<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
    ),
    "Python words as values": Case(
        family="qwen-xml",
        text="<tool_call>\n<function=set_timer>\n<parameter=tags>\n['a', None]\n</parameter>\n</function>\n"
        "</tool_call>",
        calls=[("set_timer", {"tags": ["a", None]})],
    ),
    "a value beside its tags": Case(
        family="qwen-xml",
        text="<tool_call>\n<function=read_file>\n<parameter=path>a.py</parameter>\n</function>\n</tool_call>",
    ),
    "a single Python call": Case(family="pythonic", text="read_file(path='a.py')"),
    "tool code": Case(family="gemma", text='```tool_code\nprint(read_file(path="a.py"))\n```'),
    "usual keys in Llama's JSON": Case(
        family="llama3-json", text='{"name": "read_file", "arguments": {"path": "a.py"}}'
    ),
    "arguments as text": Case(
        family="mistral", text='[TOOL_CALLS][{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}]'
    ),
    "a fenced call on gpt-oss's final channel": Case(
        family="gpt-oss",
        text='<|channel|>final<|message|>```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```<|return|>',
    ),
}


@pytest.mark.parametrize("case", LENIENT.values(), ids=LENIENT)
def test_near_forms_are_calls_in_lenient_mode_only(case: Case) -> None:
    check(case, "lenient", case.family)
    answer = parse_tool_calls(case.text, TOOLS, syntax=case.family, prefix=case.prefix)
    assert answer.native is False
    native = parse_tool_calls(case.text, TOOLS, syntax=case.family, mode="native", prefix=case.prefix)
    assert (native.calls, native.attempts, native.native) == ((), (), None)


def test_each_block_is_native_or_not_on_its_own() -> None:
    text = (
        '<tool_call>\n{"name": "now", "arguments": {}}\n'
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
    )
    check(Case(family="hermes", text=text, calls=[NOW, READ]), "lenient", "hermes")
    left = '<tool_call>\n{"name": "now", "arguments": {}}'
    check(Case(family="hermes", text=text, content=left), "native", "hermes")


NO_CALLS = {
    "another object with a name": '```json\n{"name": "now", "version": "1.0"}\n```',
    "a tool nobody offered": '{"name": "fly", "arguments": {"to": 1}}',
    "a tool's name in prose": "You could run read_file(path='a.py') yourself.",
    "a code example": "```python\nread_file(path='a.py')\n```",
    "a tag in prose": "Write `<tool_call>` and then `<function=name>`.",
    "source code": "```c\nint main() {\n{\n  return 0;\n}\n}\n```",
    "a list in prose": "[see above] and [1, 2]",
    "a prompt of an interpreter": ">>> now\n'12:00'",
}


@pytest.mark.parametrize("mode", ["native", "lenient"])
@pytest.mark.parametrize("text", NO_CALLS.values(), ids=NO_CALLS)
def test_what_is_no_call_stays_content(text: str, mode: str) -> None:
    answer = parse_tool_calls(text, TOOLS, mode=mode)
    assert (answer.attempts, answer.content, answer.error) == ((), text, None)


FAILED = {
    "an expression": (
        '<tool_call>\n{"name": "set_timer", "arguments": {"minutes": 60 * 2}}\n</tool_call>',
        "invalid-json",
        ("set_timer", '{"minutes": 60 * 2}'),
    ),
    "a missing brace": (
        '<tool_call>\n{"name": "now", "arguments": {"a": 1}\n</tool_call>',
        "invalid-json",
        ("now", '{"name": "now", "arguments": {"a": 1}\n</tool_call>'),
    ),
    "a cut text": (
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.p',
        "truncated",
        ("read_file", '{"path": "a.p'),
    ),
    "arguments that are a list": (
        '<tool_call>\n{"name": "now", "arguments": [1]}\n</tool_call>',
        "invalid-call",
        ("now", "[1]"),
    ),
    "not a number": (
        '<tool_call>\n{"name": "set_timer", "arguments": {"minutes": NaN}}\n</tool_call>',
        "invalid-json",
        ("set_timer", '{"minutes": NaN}'),
    ),
    "a position instead of a name": ("[read_file('a.py')]", "invalid-call", ("read_file", "'a.py')")),
    "a cut element": (
        "<tool_call>\n<function=read_file>\n<parameter=path>\na.p",
        "truncated",
        ("read_file", "<parameter=path>\na.p"),
    ),
}


@pytest.mark.parametrize("mode", ["native", "lenient"])
@pytest.mark.parametrize(("text", "error", "attempt"), FAILED.values(), ids=FAILED)
def test_an_attempt_that_fails_is_kept_with_its_own_words(
    text: str, error: str, attempt: tuple[str, str], mode: str
) -> None:
    answer = parse_tool_calls(text, TOOLS, mode=mode)
    assert [(a.name, a.raw_arguments, a.arguments) for a in answer.attempts] == [(*attempt, None)]
    assert (answer.calls, answer.content, answer.error) == ((), None, error)


def test_arguments_of_a_call_are_kept_as_they_were_written() -> None:
    text = '<tool_call>{"name": "set_timer", "arguments": {"minutes":1.50}}</tool_call>'
    (attempt,) = parse_tool_calls(text, TOOLS).attempts
    assert (attempt.raw_arguments, attempt.arguments) == ('{"minutes":1.50}', {"minutes": 1.5})


def test_an_attempt_tells_whether_its_tool_was_offered() -> None:
    text = "[now(), fly()]"
    assert [a.declared for a in parse_tool_calls(text, TOOLS).attempts] == [True, False]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('Hm. <tool_call>{"name": "now", "arguments": {"a": 1}}</tool_call>', '{"a": 1}}</tool_call>'),
        ("[now(a=1)]", "a=1)]"),
        ("<tool_call>\n<function=now>\n<parameter=a>\n1", "<parameter=a>\n1"),
        ("Hello.", None),
    ],
)
def test_the_first_argument_is_where_the_first_calls_arguments_begin(text: str, rest: str | None) -> None:
    offset = parse_tool_calls(text, TOOLS).first_argument_offset
    assert (None if offset is None else text[offset:]) == rest


@pytest.mark.parametrize("given", [{"syntax": "esperanto"}, {"mode": "strict"}])
def test_an_unknown_syntax_or_mode_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InputError, match="expected"):
        parse_tool_calls("", TOOLS, **given)


@pytest.mark.parametrize(
    "tools", [[], [{}], [{"function": None}], [{"function": {"name": "now", "parameters": 3}}]]
)
def test_tools_of_any_shape_are_taken(tools: list[dict[str, Any]]) -> None:
    text = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    assert len(parse_tool_calls(text, tools).calls) == 1
