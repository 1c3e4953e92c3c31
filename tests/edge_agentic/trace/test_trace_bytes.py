"""Bytes that are no trace: each one clear sentence with its line, never a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl_gate.errors import InputError
from bfcl_gate.files import MAX_DEPTH
from edge_agentic import load_trajectories
from edge_agentic.trace import check_trace
from edge_agentic.trace.load import MAX_ERRORS
from edge_agentic.trace.rows import MAX_LINE_BYTES

USER = b'{"conversation_id": "a", "turn": 1, "role": "user", "content": "hi"}\n'
ANSWER = b'{"conversation_id": "a", "turn": 2, "role": "assistant", "content": "hello"}\n'


def problem(tmp_path: Path, data: bytes) -> str:
    """Return the one problem of a file of these bytes, without the folder."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    found = check_trace(path).problems
    assert len(found) == 1
    with pytest.raises(InputError) as caught:
        load_trajectories(path)
    assert str(caught.value) == found[0].describe(path)
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: cannot read the trace \(No such file or directory\)"):
        load_trajectories(tmp_path / "none.jsonl")


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder"):
        load_trajectories(tmp_path)


def test_a_name_with_nul_is_no_trace() -> None:
    with pytest.raises(InputError, match="cannot read the trace"):
        load_trajectories("a\0b")


def test_an_empty_file_holds_no_trajectory(tmp_path: Path) -> None:
    assert problem(tmp_path, b"") == "t.jsonl: holds no trajectory; expected at least one user row."


def test_blank_lines_and_windows_line_ends_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\r\n" + USER.replace(b"\n", b"\r\n") + b"  \n" + ANSWER.rstrip())
    (trajectory,) = load_trajectories(path)
    assert [turn.line for turn in trajectory.turns] == [2]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbf" + USER, "t.jsonl:1: the file starts with a byte order mark; save it as UTF-8"),
        (USER + b'{"turn": 2 x}\n', "t.jsonl:2: column 12 is not valid JSON (Expecting ',' delimiter)"),
        (USER + ANSWER[:-5], "t.jsonl:2: column 69 is not valid JSON (Unterminated string"),
        (USER + b"\xff\xfe\n", "t.jsonl:2: byte 1 of the line is not valid UTF-8"),
        (USER + b'{"a": "\0"}\n', "t.jsonl:2: the line holds NUL bytes"),
        (USER + b"[1]\n", "t.jsonl:2: the line is a JSON array; expected an object"),
        (USER + b"null\n", "t.jsonl:2: the line is a JSON null; expected an object"),
        (USER + b"7\n", "t.jsonl:2: the line is a JSON number; expected an object"),
        (USER + b'{"a": 1, "a": 2}\n', "t.jsonl:2: the key 'a' stands twice in one object"),
        (USER + b'{"a": NaN}\n', "t.jsonl:2: the line holds the number NaN, which is not JSON"),
        (USER + b'{"a": -Infinity}\n', "t.jsonl:2: the line holds the number -Infinity, which is not"),
        (USER + b'{"a": 1e999}\n', "t.jsonl:2: the line holds the number 1e999, which is too large"),
        (USER + b'{"a": ' + b"9" * 5000 + b"}\n", "t.jsonl:2: the line holds the number 9999"),
        (
            USER + b'{"a": 18446744073709551616}\n',
            "t.jsonl:2: the line holds the number 18446744073709551616, which needs more than 64",
        ),
        (
            USER + b'{"a": -9223372036854775809}\n',
            "t.jsonl:2: the line holds the number -9223372036854775809, which needs more than 64",
        ),
        (USER + b'{"a": "\\ud800"}\n', "t.jsonl:2: a text holds half a surrogate pair"),
        (
            USER + b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
            "t.jsonl:2: the JSON is nested too deeply",
        ),
        (
            USER + b'{"a": ' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}\n",
            "t.jsonl:2: the row is nested more than",
        ),
    ],
)
def test_each_kind_of_broken_line_is_told_apart(tmp_path: Path, data: bytes, text: str) -> None:
    assert problem(tmp_path, data).startswith(text)


def test_a_line_of_more_than_64_mib_is_refused_without_reading_on(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.truncate(MAX_LINE_BYTES + 10)
    (found,) = check_trace(path).problems
    assert found.text.startswith("the line is longer than 64 MiB")


def test_a_surrogate_pair_is_text(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(USER.replace(b"hi", b"\\ud83d\\ude00") + ANSWER)
    assert load_trajectories(path)[0].turns[0].messages[0]["content"] == "😀"


def test_the_largest_and_smallest_numbers_of_64_bits_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(USER.replace(b"}", b', "a": 18446744073709551615, "b": -9223372036854775808}') + ANSWER)
    assert check_trace(path).problems == ()


def test_reading_stops_after_a_thousand_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"x\n" * (MAX_ERRORS + 500))
    assert len(check_trace(path).problems) == MAX_ERRORS


def test_the_message_names_the_first_error_and_counts_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"x\n" + USER + b"y\nz\n")
    with pytest.raises(InputError, match=r"t\.jsonl:1: column 1 .* lists 2 more errors"):
        load_trajectories(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "user", "tool", "bash", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list("abc")), inner, max_size=3)
    ),
    max_leaves=6,
)
OPTIONAL = (
    "content",
    "system",
    "tools",
    "tool_calls",
    "tool_results",
    "delay_seconds",
    "max_new_tokens",
    "_type",
)
any_rows = st.lists(
    st.fixed_dictionaries(
        {
            "conversation_id": st.sampled_from(["a", "b"]) | json_values,
            "turn": st.integers(1, 3) | json_values,
            "role": st.sampled_from(["user", "assistant", "tool"]) | json_values,
        },
        optional=dict.fromkeys(OPTIONAL, json_values),
    ),
    max_size=4,
)


@settings(max_examples=150, deadline=None)
@given(any_rows)
def test_any_json_objects_load_or_are_refused(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    path = tmp_path_factory.mktemp("any") / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    trace = check_trace(path)
    assert bool(trace.trajectories) != bool(trace.errors)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "t.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError):
        load_trajectories(path)
