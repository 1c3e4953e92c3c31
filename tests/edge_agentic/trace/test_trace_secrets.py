"""Keys are found by the forms their issuers give them, and replaced without touching another byte."""

import json
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_rows import Rows, call, changed, result, small, write
from trace_strategies import traces

from bfcl_gate.errors import InputError
from edge_agentic import load_trajectories
from edge_agentic.trace.redact import Redaction, redact_text, redact_trace
from edge_agentic.trace.secrets import find_secrets, secrets_in, texts_of

# Made up for this test, put together so that no scanner takes this file for a leak.
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "MIIE+wIBA/KC" * 5 + "\n-----END RSA " + "PRIVATE KEY-----"
KEYS = {
    "AKIA" + "A1B2" * 4: "an AWS access key",
    "aws_secret_access_key = " + "aB3/" * 10: "an AWS secret key",
    "ghp_" + "aB3x" * 9: "a GitHub token",
    "github_pat_" + "11AB_cd34" * 6: "a GitHub token",
    "glpat-" + "aB3x-" * 5: "a GitLab token",
    "sk-ant-" + "api03-" + "aB3_" * 10: "an OpenAI or Anthropic key",
    "sk-proj-" + "aB3x" * 10: "an OpenAI or Anthropic key",
    "gsk_" + "aB3x" * 13: "a Groq or xAI key",
    "xoxb-" + "1234567890-" * 2 + "aB3x": "a Slack token",
    "AIza" + "aB3x_" * 7: "a Google API key",
    "hf_" + "aB3x" * 8: "a Hugging Face token",
    "npm_" + "aB3x" * 9: "a token of a package index",
    "sk_live_" + "aB3x" * 6: "a Stripe key",
    "eyJ" + "hbGciOiJI" * 2 + ".eyJ" + "zdWIiOiIx" * 2 + "." + "aB3x_-" * 4: "a JSON web token",
    PEM: "a private key",
    PEM.split("\n-----END", maxsplit=1)[0]: "a private key",  # an output that was cut
}
kinds = pytest.mark.parametrize(("key", "kind"), KEYS.items(), ids=[key[:12].strip() for key in KEYS])
BEFORE = (
    "",
    " ",
    "x=",
    '"',
    "\n",
    "\\n",
    "\\t",
    "\x1b[31m",
    "\x1b[01;31m\x1b[K",
    "\\u001b[0m",
    "密钥",
    "token:",
)
AFTER = ("\n", "", "\\n", '"', "。", "的")


@kinds
def test_a_key_is_found_whole_wherever_it_may_stand(key: str, kind: str) -> None:
    for before, after in product(BEFORE, AFTER):
        text = f"{before}{key}{after}"
        assert [(found.kind, text[found.start : found.end]) for found in find_secrets(text)] == [(kind, key)]


@pytest.mark.parametrize(
    "text",
    [
        "task-" + "management-of-risk-and-disk-" * 3,
        "my" + "sk-" + "a1B2" * 10,
        "AKIA" + "A1B2" * 3,
        "AKIA" + "A1B2" * 5,
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "hf_hub_download(repo_id)",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
        "",
    ],
)
def test_what_only_resembles_a_key_is_none(text: str) -> None:
    assert find_secrets(text) == []


def test_rows_are_counted_by_kind_wherever_a_row_holds_a_key() -> None:
    aws, hub, *_ = (
        key for key, kind in KEYS.items() if kind in ("an AWS access key", "a Hugging Face token")
    )
    rows = small()
    rows[0]["content"] = f"{aws} {aws}"
    rows[1]["tool_calls"] = [call(arguments=json.dumps({"command": f"\n{aws}"}))]
    rows[2]["tool_results"] = [result(content=f"x{hub}" + f" {hub}")]
    assert secrets_in(rows) == {"a Hugging Face token": 1, "an AWS access key": 2}


def classes(text: str) -> str:
    """The text with its letters and digits replaced by their class; escapes keep theirs."""
    return re.sub("[0-9]", "0", re.sub("[a-z]", "a", re.sub("[A-Z]", "A", text)))


@kinds
def test_a_stand_in_has_the_length_and_the_kinds_of_characters(key: str, kind: str) -> None:
    redaction = Redaction()
    clean = redact_text(f"a {key} b {key}", redaction)
    assert find_secrets(clean) == []
    assert classes(clean) == classes(f"a {key} b {key}")
    first, second = clean[2 : 2 + len(key)], clean[-len(key) :]
    assert first == second != key
    assert redaction.places == {kind: 2}


def test_escapes_in_json_text_keep_their_meaning() -> None:
    arguments = json.dumps({"file": PEM, "b": "\u001b[0m" + next(iter(KEYS))})
    clean = json.loads(redact_text(arguments, Redaction()))
    assert [line.count("") for line in clean["file"].split("\n")] == [
        line.count("") for line in PEM.split("\n")
    ]
    assert clean["b"].startswith("\u001b[0m")


def with_keys(rows: Rows, keys: list[str], ascii_only: bool) -> bytes:
    """The rows as a file, keys put into texts of all fields, spelt as a careless writer might."""
    lines = []
    for number, row in enumerate(rows):
        key = keys[number % len(keys)]
        if row.get("content"):
            row = {**row, "content": f"{row['content']} {key}"}
        if row.get("tool_results"):
            row = {
                **row,
                "tool_results": [{**r, "content": f"{key}\n{r['content']}"} for r in row["tool_results"]],
            }
        lines.append(
            json.dumps(row, ensure_ascii=ascii_only, separators=((", ", ":"), (",", ": "))[number % 2])
        )
    return "\n".join(lines).encode("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("redact")


@settings(max_examples=60)
@given(
    rows=traces(), keys=st.lists(st.sampled_from([*KEYS]), min_size=1, max_size=3), ascii_only=st.booleans()
)
def test_redaction_changes_keys_only_and_once(
    folder: Path, rows: Rows, keys: list[str], ascii_only: bool
) -> None:
    source, clean, again = (folder / name for name in ("source.jsonl", "clean.jsonl", "again.jsonl"))
    source.write_bytes(with_keys(rows, keys, ascii_only))
    redaction = redact_trace(source, clean, force=True)
    assert len(redaction.stand_ins) <= len(set(keys))
    before, after = source.read_bytes(), clean.read_bytes()
    assert len(before) == len(after)
    assert classes(before.decode()) == classes(after.decode())
    for old, new in zip(before.splitlines(), after.splitlines(), strict=True):
        old_texts, new_texts = list(texts_of(json.loads(old))), list(texts_of(json.loads(new)))
        for a, b in zip(old_texts, new_texts, strict=True):
            kept = [True] * len(a)
            for secret in find_secrets(a):
                kept[secret.start : secret.end] = [False] * (secret.end - secret.start)
            assert find_secrets(b) == []
            assert [x for x, keep in zip(a, kept, strict=True) if keep] == [
                x for x, keep in zip(b, kept, strict=True) if keep
            ]
    assert len(load_trajectories(clean)) == len(load_trajectories(source))
    assert redact_trace(clean, again, force=True).places == {}
    assert again.read_bytes() == after


def test_a_key_spelt_with_escapes_is_found_and_the_rest_of_the_line_stays(tmp_path: Path) -> None:
    key = next(iter(KEYS))
    line = json.dumps(changed(0, content="KEY")[0]).replace(
        "KEY", "\\ud83d\\ude00 \\u00e9 \\u0041" + key[1:] + " \\/"
    )
    path = tmp_path / "t.jsonl"
    path.write_text(line + "\n" + "".join(json.dumps(row) + "\n" for row in small()[1:]), encoding="ascii")
    redact_trace(path, tmp_path / "o.jsonl")
    written = (tmp_path / "o.jsonl").read_text("ascii").splitlines()[0]
    text = json.loads(written)["content"]
    assert (text[:4], text[-2:], len(text)) == ("😀 é ", " /", 4 + len(key) + 2)
    assert "\\ud83d\\ude00 \\u00e9 " in written
    assert " \\/" in written
    assert key not in text


def test_a_file_without_keys_is_copied_and_a_broken_one_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", small())
    assert redact_trace(path, tmp_path / "o.jsonl").places == {}
    assert (tmp_path / "o.jsonl").read_bytes() == path.read_bytes()
    with pytest.raises(InputError, match=r"bad\.jsonl:1: `turn`.*1 error in all"):
        redact_trace(write(tmp_path / "bad.jsonl", small()[1:]), tmp_path / "p.jsonl")
    assert not (tmp_path / "p.jsonl").exists()
