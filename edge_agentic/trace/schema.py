"""One row against the JSON Schema that ships with the package (`trace_row.schema.json`)."""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from edge_agentic.trace.problems import Problem
from edge_agentic.trace.rows import Row

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

SCHEMA_FILE = "trace_row.schema.json"


@lru_cache(maxsize=1)
def _validator() -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # not needed by --help

    return Draft202012Validator(
        json.loads(files("edge_agentic.trace").joinpath(SCHEMA_FILE).read_text("utf-8"))
    )


def check_row(row: Row) -> Iterator[Problem]:
    """Yield what the schema refuses in one row, with the field and what was expected there."""
    found = [_problem(row.line, error) for error in _validator().iter_errors(row.value)]
    # Where the rules for all rows and those for a role refuse one field, the role's say more: they come last.
    yield from {problem.field: problem for problem in found}.values()


def _problem(line: int, error: "ValidationError") -> Problem:
    """Turn a schema error into a finding. The schema's descriptions say what is expected."""
    field = _field(error.absolute_path)
    schema: Any = error.schema
    if error.validator != "required":
        expected = schema.get("description", "another value")
        return Problem(line=line, field=field, text=f"is {_shown(error.instance)}; expected {expected}.")
    # One error per missing name; the name itself is only in the error's prose.
    names: Any = error.validator_value
    missing = next(name for name in names if error.message.startswith(repr(name)))
    expected = schema.get("properties", {}).get(missing, {}).get("description", "a value")
    whole = f"{field}.{missing}" if field else missing
    return Problem(line=line, field=whole, text=f"is missing; expected {expected}.")


def _field(path: Iterable[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
