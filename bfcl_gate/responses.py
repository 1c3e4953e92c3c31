"""Stored answers to score without a model: a RESPONSES.jsonl, a gate.jsonl, a run's folder, results of bfcl-eval."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfcl_gate.answers import Answer, mark_answer, reply_of
from bfcl_gate.bfcl_results import category_of, judgeable, read_results, result_files
from bfcl_gate.errors import InputError
from bfcl_gate.files import parse_object, read_lines
from bfcl_gate.gate_file import StoredGate, load_gate
from bfcl_gate.identity import samples_id
from bfcl_gate.readings import Reply
from bfcl_gate.ruleset import KNOWN_SAMPLES, PARTIAL, GatePolicy
from bfcl_gate.run_folder import JOURNAL
from bfcl_gate.samples import Sample, sample_ids, sample_of

_FILE = "stored answers, one JSON object a line"
_KINDS = {str: "text", int: "an integer", dict: "an object", type(None): "null"}
_ROW = 'an object such as {"id": "simple_python_0", "message": …}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One stored answer; `where` is file:line for messages, `case` tells apart answers to one id."""

    id: str
    case: str | int | None
    reply: Reply
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """Stored answers in file order; `header` is that of the gate run they come from, None without one.

    `skipped` names the categories that were there and are not the gate's (multi-turn, agentic).
    """

    rows: tuple[Response, ...]
    header: Mapping[str, Any] | None = None
    skipped: tuple[str, ...] = ()


def load_responses(path: Path) -> Responses:
    """Read stored answers. Raises InputError (file, line, field) for what cannot be read."""
    if (path / JOURNAL).exists():
        return _of_gate(load_gate(path))
    if files := result_files(path):
        return _of_results(files)
    if path.is_dir():
        raise InputError(
            f"{path}: this folder holds neither a {JOURNAL} nor results of bfcl-eval (BFCL_v4_…_result.json); expected "
            "the folder of a run, a model's result folder, or a file of stored answers."
        )
    lines = list(read_lines(path, _FILE))
    if not lines:
        raise InputError(f"{path}: holds no answer; expected {_FILE}: {_ROW}.")
    if "crc32" in parse_object(lines[0][1], path, lines[0][0], _ROW):
        return _of_gate(load_gate(path))
    rows = ((parse_object(line, path, number, _ROW), f"{path}:{number}") for number, line in lines)
    return Responses(rows=tuple(_response(row, where) for row, where in rows))


def sample_name(responses: Responses) -> str:
    """Return the known sample that the ids make up; `file` for a run's complete own sample, else `partial`.

    What was partial when it was scored into a folder stays so.
    """
    ids = [row.id for row in responses.rows]
    for name in KNOWN_SAMPLES:
        if sorted(ids) == sorted(sample_ids(name)):
            return name
    header = responses.header or {}
    complete = header.get("samples_sha256") == samples_id(ids) and header.get("sample") != PARTIAL
    return "file" if complete else PARTIAL


def mark_responses(responses: Responses, policy: GatePolicy) -> tuple[Answer, ...]:
    """Judge stored answers. Raises InputError for an id that BFCL v4 does not have."""
    samples = {row.id: sample_in(row, policy) for row in responses.rows}
    return tuple(mark_answer(samples[row.id], row.reply, policy, row.case) for row in responses.rows)


def sample_in(row: Response, policy: GatePolicy) -> Sample:
    """Return the sample a row answers. Raises InputError naming the row where BFCL v4 does not have it."""
    try:
        return sample_of(row.id, tools=policy.tool_schemas)
    except InputError as error:
        raise InputError(f"{row.where}: field 'id': {error}") from error


def _of_gate(stored: StoredGate) -> Responses:
    header = stored.header or {}
    syntax, prefix = header.get("syntax", "auto"), header.get("prefix", "")
    rows = []
    for answer in stored.answers:
        where = f"{stored.path} ({answer.id})"
        try:
            reply = reply_of(answer, syntax=syntax, prefix=prefix)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        rows.append(Response(id=answer.id, case=answer.case, reply=reply, where=where))
    return Responses(rows=tuple(rows), header=stored.header)


def _of_results(files: Sequence[Path]) -> Responses:
    found = judgeable(files)
    rows = [_response(row, where) for file in found.values() for where, row in read_results(file)]
    skipped = {category_of(file) for file in files} - found.keys()
    return Responses(rows=tuple(rows), skipped=tuple(sorted(skipped)))


def _response(row: Mapping[str, Any], where: str) -> Response:
    sample_id = _field(row, "id", (str,), where)
    case = _field(row, "case", (str, int, type(None)), where)
    error = _field(row, "error", (str, type(None)), where)
    message = _field(row, "message", (dict, type(None)) if error is not None else (dict,), where)
    content = (message or {}).get("content")
    if content is not None and not isinstance(content, str):
        raise InputError(f"{where}: message.content is {json.dumps(content)[:80]}; expected text or null.")
    return Response(
        id=sample_id, case=case, where=where, reply=Reply(text=content, message=message or {}, error=error)
    )


def _field(row: Mapping[str, Any], name: str, types: tuple[type, ...], where: str) -> Any:
    value = row.get(name)
    if isinstance(value, types) and not isinstance(value, bool):
        return value
    expected = " or ".join(_KINDS[kind] for kind in types)
    raise InputError(f"{where}: field {name!r} is {json.dumps(value)[:80]}; expected {expected}.")
