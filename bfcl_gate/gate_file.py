"""gate.jsonl: its header, and reading a stored gate back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from bfcl_gate.answers import Answer
from bfcl_gate.errors import InputError
from bfcl_gate.files import fits
from bfcl_gate.identity import digest, engine_id, gate_fields
from bfcl_gate.journal import read_journal
from bfcl_gate.marks import RULES
from bfcl_gate.model.engine import EngineInfo
from bfcl_gate.model.toolcalls.parse import SYNTAXES
from bfcl_gate.readings import MODES
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.run_folder import JOURNAL
from bfcl_gate.samples import TOOL_SCHEMAS, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGate:
    """A gate as it lies on disk. `header` is None where the file begins with answers."""

    path: Path
    header: Mapping[str, Any] | None
    answers: tuple[Answer, ...]


def gate_header(info: EngineInfo, policy: GatePolicy, samples: Iterable[Sample]) -> dict[str, Any]:
    """Return the first row of gate.jsonl: gate_id, the fields it hashes, and how to read the answers."""
    fields = gate_fields(engine_id(info), policy, (sample.id for sample in samples))
    return {
        "_type": "header",
        "gate_id": digest(fields),
        **fields,
        "engine": dict(info.identity),
        "syntax": info.syntax,
        "prefix": info.prefix,
    }


def rescored_header(
    stored: Mapping[str, Any] | None, policy: GatePolicy, ids: Iterable[str]
) -> dict[str, Any]:
    """Return the header of stored answers judged anew; what their run did not tell is None."""
    found = stored or {}
    fields = gate_fields(found.get("engine_id"), policy, ids)
    return {
        "_type": "header",
        "gate_id": digest(fields),
        **fields,
        "engine": found.get("engine"),
        "syntax": found.get("syntax", "auto"),
        "prefix": found.get("prefix", ""),
    }


def load_gate(path: Path) -> StoredGate:
    """Read a gate.jsonl, or that of a run directory, its answers in the order of the samples.

    Raises InputError where it is none.
    """
    file = path / JOURNAL if path.is_dir() else path
    rows = list(read_journal(file))
    header = rows[0] if rows and rows[0].get("_type") == "header" else None
    if header is not None:
        _require_sound(header, file)
    answered = [
        (_position(row, file, n), _answer(row, file, n))
        for n, row in enumerate(rows, 1)
        if "_type" not in row
    ]
    answers = tuple(answer for _, answer in sorted(answered, key=lambda found: found[0]))
    return StoredGate(path=file, header=header, answers=answers)


_TEXT, _COUNT = (str, NoneType), (int,)

_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("gate_id", "engine_id", "sample", "samples_sha256", "bfcl_sha256", "prefix"), _TEXT),
    **dict.fromkeys(("max_tokens", "concurrency", "parallel", "checker_version"), _COUNT),
    "share_prefix": (bool,),
    "engine": (dict, NoneType),
}

_WORDS: Mapping[str, tuple[str, ...]] = {
    "rules": RULES,
    "tool_schemas": TOOL_SCHEMAS,
    "calls": MODES,
    "syntax": (*SYNTAXES, "auto", "fenced-json"),
}


def _require_sound(header: Mapping[str, Any], file: Path) -> None:
    """Raise InputError where a field that is there is none that a gate writes: a file may come from anywhere."""
    for name, types in _TYPES.items():
        if name in header and not fits(header[name], types):
            kinds = " or ".join("null" if kind is NoneType else kind.__name__ for kind in types)
            raise _unsound(file, name, header[name], kinds)
    for name, words in _WORDS.items():
        if name in header and header[name] not in words:
            raise _unsound(file, name, header[name], f"one of {', '.join(words)}")


def _unsound(file: Path, name: str, value: object, expected: str) -> InputError:
    return InputError(
        f"{file}:1: field {name} of the header is {repr(value)[:60]}; expected {expected}. The file was altered, or "
        "made by another version of this tool."
    )


def _position(row: Mapping[str, Any], file: Path, line: int) -> int:
    """Return the place among the samples of one that was decoded together with others; their rows come as finished."""
    position = row.get("position", 0)
    if type(position) is not int:
        raise InputError(f"{file}:{line}: field position is {position!r}; expected a whole number.")
    return position


def _answer(row: Mapping[str, Any], file: Path, line: int) -> Answer:
    try:
        return Answer.from_row(row)
    except KeyError as error:
        problem = f"field {error} is missing"
    except TypeError as error:
        problem = f"field {error}, which is of another type"
    raise InputError(f"{file}:{line}: {problem}; expected a gate answer as bfcl-gate writes it.")
