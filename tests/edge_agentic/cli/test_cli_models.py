"""The commands that list, fetch and inspect models and data, run as a user runs them."""

import hashlib
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edge_agentic.cli import main

Run = Callable[..., tuple[object, str, str]]
NAMES = "qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, qwen3.6-27b"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and no way to any network."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("EDGE_AGENTIC_CACHE", str(folder))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return folder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the command and return (exit code, stdout, stderr)."""

    def call(*arguments: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["edge-agentic", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return call


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def write_gguf(path: Path, **values: str) -> Path:
    """Write a header without weights; double underscores in a name stand for dots."""
    pairs = [
        text(key.replace("__", ".")) + struct.pack("<I", 8) + text(value) for key, value in values.items()
    ]
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs))
    return path


def test_list_marks_the_default_and_what_is_here(run: Run) -> None:
    code, out, _ = run("models", "list")
    lines = out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == NAMES.split(", ")
    assert "491,400,064 bytes" in lines[0]
    assert lines[0].endswith("not cached  (default)")
    assert "size unknown" in lines[2]


def test_list_as_json_holds_the_pinned_facts(run: Run) -> None:
    code, out, _ = run("models", "list", "--format", "json")
    rows = json.loads(out)
    assert code == 0
    assert [row["name"] for row in rows] == NAMES.split(", ")
    assert [row["default"] for row in rows] == [True, False, False]
    assert rows[0]["sha256"] == "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
    assert rows[0]["path"] is None


@pytest.mark.parametrize("command", ["info", "pull"])
def test_an_unknown_name_is_usage_and_lists_the_known_ones(run: Run, command: str) -> None:
    code, out, err = run("models", command, "nope")
    assert (code, out) == (2, "")
    assert NAMES in err


def test_pull_without_any_source_exits_3_with_one_paragraph(run: Run) -> None:
    code, out, err = run("models", "pull", "qwen3.6-27b")
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert "huggingface.co cannot be reached" in err


def test_info_of_a_model_that_is_not_here_says_how_to_get_it(run: Run) -> None:
    code, out, _ = run("models", "info", "qwen3.6-27b")
    assert code == 0
    assert "5ed60d0af4650a854b1755bd392f9aef4872643dc25a254bc68043fa638392a0" in out
    assert "models pull qwen3.6-27b" in out


def test_info_shows_the_header_of_a_file(run: Run, tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", general__architecture="qwen2", general__name="Tiny")
    code, out, _ = run("models", "info", str(path))
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert code == 0
    assert lines["architecture"] == "qwen2"
    assert lines["SHA-256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert lines["licence"] == "not stated"
    assert lines["chat"] == "template    none in the file"


def test_info_as_json_holds_the_same(run: Run, tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", general__architecture="qwen2", tokenizer__chat_template="{{ x }}")
    code, out, _ = run("models", "info", str(path), "--format", "json")
    facts = json.loads(out)
    assert code == 0
    assert facts["name"] is None
    assert facts["architecture"] == "qwen2"
    assert facts["chat_template"] == "{{ x }}"
    assert facts["size_bytes"] == path.stat().st_size


def test_a_template_is_shown_in_part_or_whole(run: Run, tmp_path: Path) -> None:
    template = "\n".join(f"line {n}" for n in range(1, 8))
    path = write_gguf(tmp_path / "m.gguf", tokenizer__chat_template=template)
    _, part, _ = run("models", "info", str(path))
    _, whole, _ = run("models", "info", str(path), "--template")
    assert "line 4" in part
    assert "line 5" not in part
    assert "3 more lines" in part
    assert "line 7" in whole
    assert "more lines" not in whole


def test_a_file_cannot_speak_to_the_terminal(run: Run, tmp_path: Path) -> None:
    hostile = "\x1b[2J\x1b]0;title\x07\nsize 1 byte"
    path = write_gguf(tmp_path / "m.gguf", general__name=hostile, tokenizer__chat_template=hostile)
    _, out, _ = run("models", "info", str(path), "--template")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert not any(line.startswith("size 1 byte") for line in out.splitlines())


@pytest.mark.parametrize(
    ("body", "says"),
    [(b"", "the file is empty"), (b"hello, world", "not a GGUF file"), (None, "no such file")],
)
def test_info_of_no_model_is_bad_input(run: Run, tmp_path: Path, body: bytes | None, says: str) -> None:
    path = tmp_path / "m.gguf"
    if body is not None:
        path.write_bytes(body)
    code, out, err = run("models", "info", str(path))
    assert (code, out) == (2, "")
    assert says in err


def test_info_of_a_folder_is_bad_input(run: Run, tmp_path: Path) -> None:
    code, _, err = run("models", "info", str(tmp_path))
    assert code == 2
    assert "this is a folder" in err


@pytest.mark.parametrize("command", [("models", "list"), ("models", "info", "qwen3.6-27b")])
def test_an_unknown_format_is_usage(run: Run, command: tuple[str, ...]) -> None:
    code, _, err = run(*command, "--format", "xml")
    assert code == 2
    assert "expected text or json" in err


def test_an_unknown_data_set_lists_the_known_ones(run: Run) -> None:
    code, _, err = run("data", "pull", "nope")
    assert code == 2
    assert "bfcl, mlperf-trace" in err


def test_data_out_of_reach_exits_3_and_says_what_to_do(run: Run) -> None:
    code, _, err = run("data", "pull", "mlperf-trace")
    assert code == 3
    assert "Pass --traces FILE" in err


def test_data_pull_prints_where_the_bfcl_wheel_lies(run: Run, bfcl: Path, cache: Path) -> None:
    kept = cache / "data" / bfcl.name
    kept.parent.mkdir(parents=True)
    kept.write_bytes(bfcl.read_bytes())
    assert run("data", "pull") == (0, f"{kept}\n", "")


def test_a_cached_model_is_listed_and_inspected_offline(
    run: Run, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDGE_AGENTIC_CACHE")
    from bfcl_gate.download import local_model
    from bfcl_gate.model.catalog import DEFAULT, find

    path = local_model(find(DEFAULT))
    if path is None:
        pytest.skip("the default model is not in the cache")
    _, out, _ = run("models", "info", DEFAULT, "--format", "json")
    facts = json.loads(out)
    assert facts["path"] == str(path)
    assert (facts["file_type"], facts["context_length"], facts["vocabulary"]) == ("Q4_K_M", 32768, 151936)
    assert {share["type"] for share in facts["mix"]} == {"Q4_K", "Q5_0", "Q6_K", "Q8_0", "F32"}
