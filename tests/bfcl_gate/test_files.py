"""Files that cannot be read are refused in plain words, whoever reads them and whatever they are instead."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl_gate.cli.engine import local_settings
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.errors import InputError
from bfcl_gate.files import parse_object, read_lines, read_text
from bfcl_gate.gate_file import load_gate
from bfcl_gate.journal import Journal
from bfcl_gate.responses import load_responses
from bfcl_gate.run_folder import read_json
from bfcl_gate.samples import gate_samples

LEAKS = (
    "codec",
    "Errno",
    "Traceback",
    "NoneType",
    "Expecting value: line",
    "set_int_max_str_digits",
    "gzip.",
)


def template(path: Path) -> object:
    return local_settings(EngineOptions(model=str(path.parent / "tiny.gguf"), chat_template=path))


READERS: dict[str, Callable[[Path], object]] = {
    "answers": load_responses,
    "results": lambda path: load_responses(path.rename(path.with_name("BFCL_v4_irrelevance_result.json"))),
    "journal": load_gate,
    "manifest": read_json,
    "ids": gate_samples,
    "template": template,
}


@pytest.fixture(autouse=True)
def _model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that needs no weights: what is read of it comes before its template file."""
    monkeypatch.setattr("bfcl_gate.download.fetch_model", lambda name, progress: Path(name))
    monkeypatch.setattr("bfcl_gate.cache.sha256_of", lambda path, progress: "0" * 64)


CONTENTS: dict[str, bytes] = {
    "latin1": '{"id": "irrelevance_0", "message": {"content": "café"}}\n'.encode("latin-1"),
    "utf16": '{"id": "irrelevance_0"}\n'.encode("utf-16"),
    "gzip": gzip.compress(b'{"id": "irrelevance_0"}\n'),
    "cut gzip": gzip.compress(b'{"id": "irrelevance_0"}\n' * 99)[:40],
    "zip": b"PK\x03\x04rest",
    "noise": bytes(range(128, 256)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("content", CONTENTS)
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, reader: str, content: str) -> None:
    path = tmp_path / "given"
    path.write_bytes(CONTENTS[content])
    told = refusal(READERS[reader], path)
    if reader != "journal":  # its lines are checked one by one, as bytes
        assert "compressed" in told if "zip" in content else "is not valid UTF-8" in told
        assert "It looks like UTF-16" in told or content != "utf16"


@pytest.mark.parametrize("reader", [name for name in READERS if name != "results"])
def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path, reader: str) -> None:
    path = tmp_path / "given"
    assert refusal(READERS[reader], path)
    os.mkfifo(path)
    assert "this is a pipe or a device" in refusal(READERS[reader], path)
    if reader not in ("answers", "journal"):  # a folder is what these may be
        assert "this is a folder" in refusal(READERS[reader], tmp_path)


def refusal(read: Callable[[Path], object], path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    told = str(caught.value)
    assert str(path.parent) in told
    assert not any(leak in told for leak in LEAKS), told
    return told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "f.json:7: column 2 is not valid JSON"),
        ('{\n"a" 1}', "f.json:8: column 5 is not valid JSON"),
        ("[" * 100_000, "f.json:7: the JSON is nested too deeply"),
        ('{"a": ' + "9" * 5_000 + "}", "f.json:7: a number has too many digits"),
        ("[]", "f.json:7: the JSON is no object"),
    ],
)
def test_json_that_cannot_be_used_is_named_by_its_place(text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_object(text, Path("f.json"), 7, "an object")
    assert str(caught.value).startswith(told)
    assert str(caught.value).endswith("expected an object.")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        ("NaN", "NaN, which is not JSON"),
        ("-Infinity", "-Infinity, which is not JSON"),
        ("1e999", "1e999, which is too large"),
        ("1" + "0" * 30, "1" + "0" * 30 + ", which needs more than 64 bits"),
        ("9" * 5_000, "9" * 40 + ", which needs more than 64 bits"),
    ],
)
def test_a_number_that_this_tool_never_writes_is_refused(tmp_path: Path, number: str, told: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(f'{{"a": {number}}}')
    assert told in refusal(read_json, path)


def test_a_byte_that_is_no_text_is_named_by_line_and_place(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes("erste\nzweité".encode("latin-1"))
    with pytest.raises(InputError, match=r"f\.txt:2: byte 6 of the line"):
        read_text(path, "text")


def test_a_byte_order_mark_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes("\ufeffone\n\n \r\ntwo\r\n".encode())
    assert [(number, line.strip()) for number, line in read_lines(path, "text")] == [(1, "one"), (4, "two")]


def test_a_row_of_another_shape_is_named_by_line_and_field(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    with Journal(path) as journal:
        journal.append({"_type": "header"})
        journal.append(json.loads('{"id": "irrelevance_0", "subset": 5}'))
    with pytest.raises(InputError, match=r"gate\.jsonl:2: field 'case' is missing"):
        load_gate(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rules": "evil\x1b"}, "field rules of the header is 'evil\\x1b'; expected one of mlperf, official"),
        ({"calls": {}}, "field calls of the header is {}; expected one of native, lenient"),
        ({"syntax": []}, "field syntax of the header is []; expected one of hermes, "),
        ({"prefix": 5}, "field prefix of the header is 5; expected str or null"),
        ({"parallel": {}}, "field parallel of the header is {}; expected int"),
        ({"max_tokens": True}, "field max_tokens of the header is True; expected int"),
        ({"engine": [1]}, "field engine of the header is [1]; expected dict or null"),
        ({"sample": ["x" * 9_999]}, "field sample of the header is ['xxx"),
    ],
)
def test_a_header_that_no_gate_writes_is_named_by_its_field(
    tmp_path: Path, change: dict[str, object], told: str
) -> None:
    path = tmp_path / "gate.jsonl"
    with Journal(path) as journal:
        journal.append({"_type": "header", "rules": "mlperf", **change})
    said = refusal(load_responses, path)
    assert f"gate.jsonl:1: {told}" in said
    assert len(said) < 400
