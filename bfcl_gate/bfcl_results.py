"""Answers in the layout of bfcl-eval, the official evaluator: a result file a category, a row an answer.

In function-calling mode a row's `result` is a list of {function name: arguments as JSON text}, or the content
of an answer without calls. Source: bfcl-eval 2026.3.23, base_handler.write and openai_completion.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bfcl_gate.dataset import CATEGORIES
from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.files import parse_object, read_lines
from bfcl_gate.model.chat import Message
from bfcl_gate.run_folder import require_no_file

_PREFIX, _SUFFIX = "BFCL_v4_", "_result.json"

_ROW = 'an object such as {"id": "simple_python_0", "result": …}'

FAILED = "Error during inference: "
"""How a row's result begins where the request failed; the official evaluator takes it for an answer in prose."""


def result_files(path: Path) -> tuple[Path, ...]:
    """Return the result files at or below `path`, in name order; empty where it is something else."""
    if path.is_dir():
        return tuple(sorted(path.rglob(f"{_PREFIX}*{_SUFFIX}")))
    return (path,) if path.name.startswith(_PREFIX) and path.name.endswith(_SUFFIX) else ()


def category_of(file: Path) -> str:
    """Return the category a result file is named for."""
    return file.name[len(_PREFIX) : -len(_SUFFIX)]


def judgeable(files: Iterable[Path]) -> dict[str, Path]:
    """Return category -> file for the single-turn categories.

    Raises InputError where there is none, and for two files of one category, which are of two models.
    """
    found: dict[str, Path] = {}
    for file in files:
        category = category_of(file)
        if category in found:
            raise InputError(
                f"{file} and {found[category]} both hold results for {category}; expected those of one model. "
                "Give the folder of that model."
            )
        if category in CATEGORIES:
            found[category] = file
    if not found:
        raise InputError(
            f"Found no results of a single-turn category of BFCL v4; expected a file such as "
            f"{_PREFIX}simple_python{_SUFFIX} of {', '.join(CATEGORIES)}."
        )
    return found


def read_results(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield file:line and the row of each answer, as a RESPONSES.jsonl holds it. Raises InputError."""
    for number, line in read_lines(file, "results of bfcl-eval, one JSON object a line"):
        where = f"{file}:{number}"
        row = parse_object(line, file, number, _ROW)
        if "result" not in row:
            raise InputError(f"{where}: field 'result' is missing; expected {_ROW}.")
        yield where, _response_row(row, where)


def result_row(sample_id: str, message: Message, error: str | None, **metadata: Any) -> dict[str, Any]:
    """Return the row of one answer; metadata that is None or empty is left out, as bfcl-eval does."""
    told = {key: value for key, value in metadata.items() if value is not None and value != ""}
    if error is not None:
        return {"id": sample_id, "result": f"{FAILED}{error}", "traceback": error, **told}
    return {"id": sample_id, "result": _result(message), **told}


def write_results(folder: Path, model_name: str, rows: Iterable[Mapping[str, Any]]) -> tuple[Path, ...]:
    """Write the rows where the evaluator looks for those of `model_name`; return the files.

    Raises InputError for a name that is no folder's and where results are there already, SourceError when the
    disk refuses.
    """
    home = folder / _folder_name(model_name)
    require_no_file(home)
    if held := result_files(home):
        raise InputError(
            f"{home}: already holds results ({held[0].name}); choose another folder or model name."
        )
    by_file: dict[Path, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_file.setdefault(home / _place(row["id"]), []).append(row)
    for file, its_rows in by_file.items():
        _write(file, its_rows)
    return tuple(by_file)


def _place(sample_id: str) -> Path:
    category = sample_id.rpartition("_")[0]
    group = "live" if category.startswith("live_") else "non_live"
    return Path(group, f"{_PREFIX}{category}{_SUFFIX}")


def _folder_name(model_name: str) -> str:
    name = model_name.replace("/", "_")
    if not name.strip(". ") or "\\" in name or not name.isprintable():
        raise InputError(
            f"--model-name {model_name!r} cannot name a folder; expected a model name that bfcl-eval knows."
        )
    return name


def _write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")
    except OSError as error:
        raise SourceError(f"{file}: cannot write the results ({error.strerror}).") from error


def _result(message: Message) -> Any:
    """Return what the evaluator's own handler would have stored for a message."""
    try:
        return [_named_arguments(call["function"]) for call in message["tool_calls"]]
    except (KeyError, TypeError):
        return message.get("content")


def _named_arguments(function: Mapping[str, Any]) -> dict[str, str]:
    arguments = function["arguments"]
    return {function["name"]: arguments if isinstance(arguments, str) else json.dumps(arguments)}


def _response_row(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    result, reasoning = row["result"], row.get("reasoning_content")
    if isinstance(result, str) and result.startswith(FAILED):
        return {"id": row.get("id"), "error": result[len(FAILED) :]}
    message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": None}
    if isinstance(reasoning, str) and reasoning:
        message["reasoning_content"] = reasoning
    if isinstance(result, list):
        message["tool_calls"] = [_stated_call(item, where) for item in result]
    elif result is None or isinstance(result, str):
        message["content"] = result
    else:
        raise InputError(
            f"{where}: field 'result' is {json.dumps(result)[:80]}; expected a list of calls, text or null."
        )
    return {"id": row.get("id"), "message": message}


def _stated_call(item: Any, where: str) -> dict[str, Any]:
    """Read {name: arguments}; where an object holds several the evaluator takes the first."""
    if not isinstance(item, dict) or not item:
        raise InputError(
            f'{where}: field \'result\' holds {json.dumps(item)[:80]}; expected calls as {{"name": "arguments"}}.'
        )
    name, arguments = next(iter(item.items()))
    return {"type": "function", "function": {"name": name, "arguments": arguments}}
