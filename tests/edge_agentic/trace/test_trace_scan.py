"""A file is judged while it is read: one trajectory at a time, the first findings named, all counted."""

import copy
import io
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from trace_rows import Rows, call, changed, result, small, write

from bfcl_gate.errors import InputError
from edge_agentic.trace import Scan, check_trace, load_trajectories
from edge_agentic.trace.rows import Row
from edge_agentic.trace.schema import SCHEMA_FILE, check_row
from edge_agentic.trace.validate import Verdict, validate


def lines(rows: Rows) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def verdict(data: bytes, keep: int = 20, strict: bool = False) -> Verdict:
    return validate(Scan(io.BytesIO(data)), keep=keep, strict=strict)


def found(data: bytes) -> list[tuple[int, str | None]]:
    return [(problem.line, problem.field) for problem in verdict(data).errors.first]


def test_a_trajectory_is_given_before_the_next_is_read() -> None:
    first, second = lines(small("a")), lines(small("b"))
    file = io.BytesIO(first + second + lines(small("c")))
    groups = iter(Scan(file))
    assert [row.line for row in next(groups).rows] == [1, 2, 3, 4]
    assert file.tell() <= len(first) + len(second)
    assert [row.line for row in next(groups).rows] == [5, 6, 7, 8]


def test_findings_are_counted_and_the_first_are_named() -> None:
    said = verdict(b"x\n" * 5000 + lines(small()), keep=3)
    assert said.errors.count == 5000
    assert [problem.line for problem in said.errors.first] == [1, 2, 3]
    assert (said.trajectories, said.turns) == (0, 0)  # the last bad line may have been its first row


def test_strict_counts_warnings_as_errors() -> None:
    rows = small()[:3]
    assert (verdict(lines(rows)).errors.count, verdict(lines(rows)).warnings.count) == (0, 1)
    strict = verdict(lines(rows), strict=True)
    assert (strict.errors.count, strict.warnings.count) == (1, 0)


def test_a_damaged_trajectory_keeps_nobody_else_from_being_checked() -> None:
    damaged = lines(changed(1, tool_calls=[]))
    said = verdict(damaged + lines(small("b")) + lines(small("c")[1:]))
    assert [(p.line, p.field) for p in said.errors.first] == [(2, "tool_calls"), (9, "turn")]
    assert (said.trajectories, said.turns) == (1, 2)


@pytest.mark.parametrize("bad", [b"{\n", lines([{"turn": 1, "role": "user", "content": "x"}])])
def test_a_line_that_tells_no_trajectory_may_belong_to_either_neighbour(bad: bytes) -> None:
    # The bad line may be the last row of a, or the first of b, whose numbers then begin at 2.
    said = verdict(lines(small("a")) + bad + lines(small("b")[1:]) + lines(small("c")))
    assert [problem.line for problem in said.errors.first] == [5]
    assert said.trajectories == 1


def test_a_metadata_row_parts_nobody() -> None:
    rows = small()
    rows.insert(2, {"_type": "dataset_metadata", "name": "n"})
    scan = Scan(io.BytesIO(lines(rows)))
    assert [[row.line for row in group.rows] for group in scan] == [[1, 2, 4, 5]]
    assert scan.metadata["name"] == "n"


def test_each_return_of_a_trajectory_is_named_and_nothing_else() -> None:
    rows = [*small("a")[:2], *small("b"), *small("a")[2:], *small("c"), *small("a")]
    assert found(lines(rows)) == [(7, "conversation_id"), (13, "conversation_id")]


def test_rows_out_of_turn_order_load_as_the_reference_loads_them_and_are_a_warning(tmp_path: Path) -> None:
    rows = small()
    path = write(tmp_path / "t.jsonl", [rows[0], rows[2], rows[1], rows[3]])
    (warning,) = check_trace(path).problems
    assert (warning.line, warning.field, warning.warning) == (3, "turn", True)
    assert warning.text.startswith("is 2 after 3; rows are taken in the order of their turns")
    assert [turn.number for turn in load_trajectories(path)[0].turns] == [1, 3]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: this is a pipe, socket or device; expected a regular file"):
        check_trace(tmp_path / "pipe")
    with pytest.raises(InputError, match="/dev/null: this is a pipe, socket or device"):
        check_trace(Path("/dev/null"))


SCHEMA = json.loads(files("edge_agentic.trace").joinpath(SCHEMA_FILE).read_text("utf-8"))
PLAIN = Draft202012Validator(SCHEMA)

scalars = (
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-2, 3) | st.sampled_from(["", "a", "nan"])
)
values = st.recursive(
    scalars | st.builds(call) | st.builds(result),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "type", "function", "name", "arguments", "content"]), inner)
    ),
    max_leaves=5,
)


@st.composite
def mutated_rows(draw: st.DrawFn) -> dict[str, Any]:
    """A good row with some fields replaced, taken out or added, also inside its calls and results."""
    row = copy.deepcopy(draw(st.sampled_from(small())))
    names = [
        *row,
        "_type",
        "content",
        "tools",
        "tool_calls",
        "tool_results",
        "system",
        "delay_seconds",
        "max_tokens",
    ]
    for name in draw(st.lists(st.sampled_from(names), max_size=3)):
        row[name] = draw(
            values | st.just("dataset_metadata") | st.sampled_from(["user", "assistant", "tool"])
        )
    for name in draw(st.lists(st.sampled_from([*row]), max_size=2)):
        row.pop(name, None)
    inside = [each for field in ("tool_calls", "tool_results") for each in _dicts(row.get(field))]
    if inside and draw(st.booleans()):
        target = draw(st.sampled_from(inside))
        target[draw(st.sampled_from([*target, "id"]))] = draw(values)
    return row


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@settings(max_examples=300)
@given(mutated_rows())
def test_the_quick_verdict_is_that_of_the_plain_validator(row: dict[str, Any]) -> None:
    plain = {
        ".".join(
            map(str, [*error.absolute_path, *(_missing(error) if error.validator == "required" else ())])
        )
        for error in PLAIN.iter_errors(row)
    }
    quick = {
        (problem.field or "").replace("[", ".").replace("]", "")
        for problem in check_row(Row(line=1, value=row))
    }
    assert quick == plain


def _missing(error: Any) -> list[str]:
    return [name for name in error.validator_value if error.message.startswith(repr(name))]
