"""Write the right answers as a responses file: bfcl_gold_answers.py OUT.jsonl [--sample mlperf|quick|full]

Each row answers one sample with tool calls made from BFCL's own possible answers: the first real alternative
of each parameter, parameters that may be left out left out, Java and JavaScript values as source text. It
shows what a perfect model scores (`bfcl-gate score OUT.jsonl`), which is less than 100 %: some entries
cannot be answered right.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bfcl_gate.dataset import Entry, entry
from bfcl_gate.errors import EdgeAgenticError
from bfcl_gate.samples import gate_samples
from bfcl_gate.tools import tool_name

OPTIONAL = ""
NO_CALL = "None of the tools fits this request."


def gold_message(found: Entry) -> dict[str, Any]:
    """Return the assistant message that BFCL's possible answers describe."""
    calls = [_call(found, *next(iter(answer.items()))) for answer in found.answers]
    if found.subset == "live_relevance":
        calls = [{"name": tool_name(found.functions[0]["name"]), "arguments": "{}"}]
    tool_calls = [
        {"id": f"call_{index}", "type": "function", "function": call} for index, call in enumerate(calls)
    ]
    return {"role": "assistant", "content": None if calls else NO_CALL, "tool_calls": tool_calls or None}


def _call(found: Entry, name: str, alternatives: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    function = next(function for function in found.functions if function["name"] == name)
    parameters = function["parameters"]
    given = {}
    for parameter, allowed in alternatives.items():
        schema = parameters["properties"].get(parameter)
        if schema is None or not _is_due(parameter, allowed, parameters["required"]):
            continue
        given[parameter] = _LITERALS.get(found.subset, _as_it_is)(_first(allowed), schema)
    return {"name": tool_name(name), "arguments": json.dumps(given, ensure_ascii=False)}


def _is_due(parameter: str, allowed: Sequence[Any], required: Sequence[str]) -> bool:
    return parameter in required or any(value != OPTIONAL for value in allowed)


def _first(allowed: Sequence[Any]) -> Any:
    """Return the first real alternative; members of an object have alternatives of their own."""
    value = _real(allowed)
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return [_members(item) for item in value]
    return _members(value) if isinstance(value, dict) else value


def _real(allowed: Sequence[Any]) -> Any:
    return next((value for value in allowed if value != OPTIONAL), OPTIONAL)


def _members(alternatives: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _real(allowed) for key, allowed in alternatives.items() if OPTIONAL not in allowed}


def _as_it_is(value: Any, _schema: Mapping[str, Any]) -> Any:
    return value


def _java(value: Any, schema: Mapping[str, Any]) -> str:
    kind = schema["type"]
    if isinstance(value, dict):
        puts = " ".join(f'put("{key}", {_java_item(item, "any")});' for key, item in value.items())
        return f"new HashMap<>() {{{{ {puts} }}}}" if puts else "new HashMap<>()"
    if isinstance(value, list):
        element = schema["items"]["type"]
        if kind == "Array":  # BFCL keeps the quotes of text in arrays, so text stands bare there
            return "new Object[]{" + ", ".join(_java_scalar(item, element) for item in value) + "}"
        items = ", ".join(_java_item(item, element) for item in value)
        return f"new ArrayList<>(Arrays.asList({items}))" if items else "new ArrayList<>()"
    return _java_scalar(value, kind)


def _java_item(value: Any, kind: str) -> str:
    """An element of a list or map. BFCL leaves elements of type any as they stand, quotes included."""
    quoted = isinstance(value, str) and kind != "any"
    return f'"{value}"' if quoted else _java_scalar(value, kind)


def _java_scalar(value: Any, kind: str) -> str:
    suffix = {"long": "L", "float": "f"}.get(kind, "") if not isinstance(value, str) else ""
    return _plain_scalar(value) + suffix


def _javascript(value: Any, _schema: Mapping[str, Any]) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_LITERALS = {"simple_java": _java, "simple_javascript": _javascript}


def main() -> int:
    """Write the file named on the command line."""
    arguments = sys.argv[1:]
    sample = arguments.pop() if arguments[-2:-1] == ["--sample"] else "mlperf"
    path = [argument for argument in arguments if argument != "--sample"]
    if len(path) != 1:
        sys.stderr.write("Usage: bfcl_gold_answers.py OUT.jsonl [--sample mlperf|quick|full]\n")
        return 2
    try:
        rows = [{"id": asked.id, "message": gold_message(entry(asked.id))} for asked in gate_samples(sample)]
    except EdgeAgenticError as error:
        sys.stderr.write(f"Error: {error}\n")
        return error.exit_code
    Path(path[0]).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
