"""Writers of every native syntax, and generators of calls that the syntax can say: for round trips.

Each writer makes the text a well-behaved model would produce for a list of (name, arguments).
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Call = tuple[str, dict[str, Any]]

# What could end or begin something in one of the syntaxes, put into argument texts on purpose.
FRAGMENTS = (
    "</tool_call>", "<tool_call>\n", '{"name": "ping", "arguments": {}}', "```", "```json\n", "\n", "\\", '"', "'",
    "</think>", "<think>", "[/THINK]", "]", "}", "{", "[", ",", ":", "[TOOL_CALLS]", "[ARGS]", "<|tool_call|>",
    "<|/tool_call|>", "</parameter>", "<parameter=a>", "</function>", "<function=ping>", "</arg_value>", "<arg_key>",
    "<｜tool▁call▁end｜>", "</｜DSML｜parameter>", "<|call|>", "<|end|>", "<|message|>", "<|channel|>", "</TOOLCALL>",
    "</invoke>", "<invoke name=", "</tool_calls>", "<|END_ACTION|>", "<|tool_call_end|>", "<|python_end|>", ">>>f\n",
    "<tool_call|>", "<end_function_call>", "]<]minimax[>[", "</s>", "<|im_end|>", "é", "東京", "\u2028", "007", "null",
    "true", "ping(a=1)", ")", "#", " ", "\t", "\r\n", "\x00",
)  # fmt: skip

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "items": {"type": "array"},
        "options": {"type": "object"},
    },
}
NAMES = ("ping", "write_note", "math.scale")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]

texts = st.lists(st.one_of(st.text(max_size=6), st.sampled_from(FRAGMENTS)), max_size=6).map("".join)
keys = st.one_of(st.sampled_from(("a", "k 1", "ключ")), texts)
numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)


def nested(text: st.SearchStrategy[str], key: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Return JSON values whose texts and keys come from the given strategies."""
    leaves = st.one_of(st.none(), st.booleans(), numbers, text)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(key, inner, max_size=3)),
        max_leaves=8,
    )


def typed_arguments(
    text: st.SearchStrategy[str] = texts, key: st.SearchStrategy[str] = keys
) -> st.SearchStrategy[dict[str, Any]]:
    """Return arguments as SCHEMA types them."""
    inner = nested(text, key)
    return st.fixed_dictionaries(
        {},
        optional={
            "text": text,
            "count": st.integers(),
            "ratio": numbers,
            "flag": st.booleans(),
            "items": st.lists(inner, max_size=3),
            "options": st.dictionaries(key, inner, max_size=3),
        },
    )


def calls_of(arguments: st.SearchStrategy[dict[str, Any]], most: int = 3) -> st.SearchStrategy[list[Call]]:
    """Return one to `most` calls."""
    return st.lists(st.tuples(st.sampled_from(NAMES), arguments), min_size=1, max_size=most)


any_calls = calls_of(st.dictionaries(keys, nested(texts, keys), max_size=4))
one_call = calls_of(st.dictionaries(keys, nested(texts, keys), max_size=4), 1)


def without(pattern: str) -> st.SearchStrategy[str]:
    """Return texts in which a syntax without escapes could not be mistaken for its own tags."""
    banned = re.compile(pattern)
    return texts.filter(lambda text: banned.search(text) is None)


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_json(call: Call, name: str = "name", arguments: str = "arguments") -> str:
    return dump({name: call[0], arguments: call[1]})


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else dump(value)


def hermes(calls: Sequence[Call]) -> str:
    return "\n".join(f"<tool_call>\n{as_json(call)}\n</tool_call>" for call in calls)


def qwen_xml(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        lines = "".join(f"<parameter={k}>\n{as_text(v)}\n</parameter>\n" for k, v in call[1].items())
        return f"<tool_call>\n<function={call[0]}>\n{lines}</function>\n</tool_call>"

    return "\n".join(map(one, calls))


def llama3_json(calls: Sequence[Call]) -> str:
    return as_json(calls[0], arguments="parameters")


def pythonic(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        return f"{call[0]}({', '.join(f'{k}={v!r}' for k, v in call[1].items())})"

    return f"[{', '.join(map(one, calls))}]"


def llama4(calls: Sequence[Call]) -> str:
    return f"<|python_start|>{pythonic(calls)}<|python_end|>"


def lfm2(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        return f"{call[0]}({', '.join(f'{k}={dump(v)}' for k, v in call[1].items())})"

    return f"<|tool_call_start|>[{', '.join(map(one, calls))}]<|tool_call_end|>"


def array(calls: Sequence[Call], name: str = "name", arguments: str = "arguments") -> str:
    return f"[{', '.join(as_json(call, name, arguments) for call in calls)}]"


def mistral_array(calls: Sequence[Call]) -> str:
    return f"[TOOL_CALLS]{array(calls)}"


def mistral_named(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{dump(arguments)}" for name, arguments in calls)


def mistral_with_id(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{name}[CALL_ID]a1b2c3d4e[ARGS]{dump(given)}" for name, given in calls)


def _gemma(value: Any, mark: str) -> str:
    if isinstance(value, str):
        return f"{mark}{value}{mark}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{k}:{_gemma(v, mark)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(_gemma(v, mark) for v in value)}]"
    return dump(value)


def gemma4(calls: Sequence[Call]) -> str:
    mark = '<|"|>'
    return "".join(f"<|tool_call>call:{name}{_gemma(given, mark)}<tool_call|>" for name, given in calls)


def function_gemma(calls: Sequence[Call]) -> str:
    opener, closer, mark = "<start_function_call>", "<end_function_call>", "<escape>"
    return "".join(f"{opener}call:{name}{_gemma(given, mark)}{closer}" for name, given in calls)


def phi4(calls: Sequence[Call]) -> str:
    return f"<|tool_call|>{array(calls)}<|/tool_call|>"


def functools(calls: Sequence[Call]) -> str:
    return f"functools{array(calls)}"


def granite(calls: Sequence[Call]) -> str:
    return f"<|tool_call|>{array(calls)}"


def granite_xml(calls: Sequence[Call]) -> str:
    return f"<tool_call>{array(calls)}"


def glm(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        pairs = "".join(
            f"<arg_key>{k}</arg_key>\n<arg_value>{as_text(v)}</arg_value>\n" for k, v in call[1].items()
        )
        return f"<tool_call>{call[0]}\n{pairs}</tool_call>"

    return "\n".join(map(one, calls))


def deepseek_v3(calls: Sequence[Call]) -> str:
    inner = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dump(given)}\n```<｜tool▁call▁end｜>"
        for name, given in calls
    )
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def deepseek_v31(calls: Sequence[Call]) -> str:
    inner = "".join(
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{dump(given)}<｜tool▁call▁end｜>" for name, given in calls
    )
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def _dsml(calls: Sequence[Call], block: str) -> str:
    def one(call: Call) -> str:
        lines = "".join(
            f'<｜DSML｜parameter name="{k}" string="{"true" if isinstance(v, str) else "false"}">'
            f"{as_text(v)}</｜DSML｜parameter>\n"
            for k, v in call[1].items()
        )
        return f'<｜DSML｜invoke name="{call[0]}">\n{lines}</｜DSML｜invoke>\n'

    return f"<｜DSML｜{block}>\n{''.join(map(one, calls))}</｜DSML｜{block}>"


def deepseek_v32(calls: Sequence[Call]) -> str:
    return _dsml(calls, "function_calls")


def deepseek_v4(calls: Sequence[Call]) -> str:
    return _dsml(calls, "tool_calls")


def gpt_oss(calls: Sequence[Call]) -> str:
    name, given = calls[0]
    call = f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{dump(given)}<|call|>"
    return f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant{call}"


def nemotron(calls: Sequence[Call]) -> str:
    return f"<TOOLCALL>{array(calls)}</TOOLCALL>"


def minimax_m1(calls: Sequence[Call]) -> str:
    lines = "\n".join(map(as_json, calls))
    return f"<tool_calls>\n{lines}\n</tool_calls>"


def minimax_m2(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        lines = "".join(f'<parameter name="{k}">{as_text(v)}</parameter>\n' for k, v in call[1].items())
        return f'<invoke name="{call[0]}">\n{lines}</invoke>\n'

    return f"<minimax:tool_call>\n{''.join(map(one, calls))}</minimax:tool_call>"


def _elements(value: Any, mark: str) -> str:
    if isinstance(value, dict):
        return "".join(f"{mark}<{k}>{_elements(v, mark)}{mark}</{k}>" for k, v in value.items())
    if isinstance(value, list):
        return "".join(f"{mark}<item>{_elements(item, mark)}{mark}</item>" for item in value)
    return as_text(value)


def minimax_m3(calls: Sequence[Call]) -> str:
    mark = "]<]minimax[>["

    def one(call: Call) -> str:
        return f'{mark}<invoke name="{call[0]}">{_elements(call[1], mark)}{mark}</invoke>\n'

    return f"{mark}<tool_call>\n{''.join(map(one, calls))}{mark}</tool_call>"


def kimi(calls: Sequence[Call]) -> str:
    inner = "".join(
        f"<|tool_call_begin|>functions.{name}:{i}<|tool_call_argument_begin|>{dump(given)}<|tool_call_end|>"
        for i, (name, given) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def command_r7b(calls: Sequence[Call]) -> str:
    return f"<|START_ACTION|>{array(calls, 'tool_name', 'parameters')}<|END_ACTION|>"


def command_r(calls: Sequence[Call]) -> str:
    return f"Action:\n```json\n{array(calls, 'tool_name', 'parameters')}\n```"


def functionary31(calls: Sequence[Call]) -> str:
    return "".join(f"<function={name}>{dump(given)}</function>" for name, given in calls)


def functionary32(calls: Sequence[Call]) -> str:
    return "".join(f">>>{name}\n{dump(given)}" for name, given in calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """A family's name, the writer of one of its forms, and calls that this form can say."""

    family: str
    write: Callable[[Sequence[Call]], str]
    calls: st.SearchStrategy[list[Call]] = any_calls


python_calls = calls_of(
    st.dictionaries(st.from_regex(r"[A-Za-z_]\w{0,8}", fullmatch=True), nested(texts, keys), max_size=4)
)


def _marked(closer: str) -> st.SearchStrategy[list[Call]]:
    """Return typed calls without the tag that, with another tag behind it, would end a value."""
    return calls_of(typed_arguments(without(closer), without(closer)))


def _flat_arguments(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return arguments whose inner values are texts: elements carry no type that no schema declares."""
    inner = text.filter(lambda value: not value.startswith("]"))
    return st.fixed_dictionaries(
        {},
        optional={
            "text": text,
            "count": st.integers(),
            "flag": st.booleans(),
            "items": st.lists(inner, max_size=3),
            "options": st.dictionaries(st.sampled_from(("a", "b-c")), inner, max_size=3),
        },
    )


_gemma_keys = st.sampled_from(("a", "some_key", "ключ"))
_xml_text = without(r"</?parameter|</function>")

SYNTAXES = (
    Syntax(family="hermes", write=hermes),
    Syntax(family="qwen-xml", write=qwen_xml, calls=calls_of(typed_arguments(_xml_text, _xml_text))),
    Syntax(family="llama3-json", write=llama3_json, calls=one_call),
    Syntax(family="pythonic", write=pythonic, calls=python_calls),
    Syntax(family="pythonic", write=llama4, calls=python_calls),
    Syntax(family="lfm2", write=lfm2, calls=python_calls),
    Syntax(family="mistral", write=mistral_array),
    Syntax(family="mistral", write=mistral_named),
    Syntax(family="mistral", write=mistral_with_id),
    Syntax(family="gemma", write=gemma4, calls=calls_of(typed_arguments(without(r'<\|"\|>'), _gemma_keys))),
    Syntax(
        family="gemma",
        write=function_gemma,
        calls=calls_of(typed_arguments(without("<escape>"), _gemma_keys)),
    ),
    Syntax(family="phi4", write=phi4),
    Syntax(family="phi4", write=functools),
    Syntax(family="granite", write=granite),
    Syntax(family="granite", write=granite_xml),
    Syntax(family="glm", write=glm, calls=_marked("</arg_value>")),
    Syntax(family="deepseek", write=deepseek_v3),
    Syntax(family="deepseek", write=deepseek_v31),
    Syntax(family="deepseek", write=deepseek_v32, calls=_marked("</｜DSML｜parameter>")),
    Syntax(family="deepseek", write=deepseek_v4, calls=_marked("</｜DSML｜parameter>")),
    Syntax(family="gpt-oss", write=gpt_oss, calls=one_call),
    Syntax(family="nemotron", write=nemotron),
    Syntax(family="minimax", write=minimax_m1),
    Syntax(family="minimax", write=minimax_m2, calls=_marked("</parameter>")),
    Syntax(family="minimax", write=minimax_m3, calls=calls_of(_flat_arguments(without(r"\]<\]minimax")))),
    Syntax(family="kimi", write=kimi),
    Syntax(family="cohere", write=command_r7b),
    Syntax(family="cohere", write=command_r),
    Syntax(family="functionary", write=functionary31),
    Syntax(family="functionary", write=functionary32),
)
