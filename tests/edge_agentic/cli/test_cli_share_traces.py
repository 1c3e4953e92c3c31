"""`traces stats --html`, `redact` and `export` as a user meets them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bfcl_gate.download import local_model
from bfcl_gate.model.catalog import DEFAULT, find

KEY = "AKIA" + "A1B2" * 4
ROWS: list[dict[str, Any]] = [
    {"conversation_id": "a", "turn": 1, "role": "user", "content": f"use {KEY}"},
    {"conversation_id": "a", "turn": 2, "role": "assistant", "content": "no\x1b[2J"},
    {"conversation_id": "a", "turn": 3, "role": "user", "content": "please"},
    {"conversation_id": "a", "turn": 4, "role": "assistant", "content": "no"},
]


def traces(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "edge_agentic", "traces", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ},
        check=False,
    )


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", ["export", "redact"])
def test_standard_output_is_no_trace_file(
    command: str, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = traces(command, trace, "--output", "-")
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [trace])
    assert done.stderr.startswith("Error: -: a trace is checked before it is there")


def test_a_key_is_refused_then_redacted_then_exported(trace: Path, tmp_path: Path) -> None:
    clean, out = tmp_path / "clean.jsonl", tmp_path / "out.jsonl"
    refused = traces("export", trace, "--output", out)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(
        f"Error: {trace}: holds what looks like secrets (an AWS access key in 1 row)"
    )
    assert not out.exists()
    redacted = traces("redact", trace, "--output", clean)
    assert (redacted.returncode, redacted.stderr) == (0, "")
    assert redacted.stdout == f"{clean}: 1 different key replaced in 1 place: an AWS access key (1)\n"
    again = traces("redact", clean, "--output", tmp_path / "again.jsonl")
    assert again.stdout.endswith(": no key was found, the file is the same\n")
    done = traces("export", clean, "--output", out)
    assert (done.returncode, done.stdout) == (0, f"{out}: 1 trajectory, 2 turns\n")
    assert [json.loads(line)["max_new_tokens"] for line in out.read_text().splitlines()] == [1024] * 4
    overwrite = traces("export", clean, "--output", out)
    assert (overwrite.returncode, overwrite.stderr[:7]) == (2, "Error: ")
    assert traces("export", clean, "--output", out, "--force").returncode == 0


def test_secrets_may_be_exported_on_request_and_are_named(trace: Path, tmp_path: Path) -> None:
    done = traces("export", trace, "--output", tmp_path / "out.jsonl", "--allow-secrets")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "  holds an AWS access key in 1 row (--allow-secrets)"


def test_stats_in_characters_need_no_model_and_write_a_page(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "t.html"
    done = traces("stats", trace, "--characters", "--html", page, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert (document["model"], document["total_prompt_tokens"], document["template_stability"]) == (
        None,
        None,
        None,
    )
    assert document["secrets"] == {"an AWS access key": 1}
    assert "<polyline" in page.read_text("utf-8")
    wrong = traces("stats", trace, "--characters", "--html", tmp_path / "none" / "t.html")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    over = traces("stats", trace, "--characters", "--html", trace)
    assert (over.returncode, over.stdout) == (2, "")
    assert len(trace.read_text("utf-8").splitlines()) == len(ROWS)
    both = traces("stats", trace, "--characters", "--model", "x")
    assert (both.returncode, both.stderr.count("\n")) == (2, 1)


@pytest.fixture
def model() -> str:
    if local_model(find(DEFAULT)) is None:
        pytest.skip(f"the default model {DEFAULT} is not on this machine")
    return DEFAULT


@pytest.mark.model
def test_redaction_says_how_many_prompt_tokens_changed(trace: Path, tmp_path: Path, model: str) -> None:
    done = traces("redact", trace, "--output", tmp_path / "o.jsonl", "--model", model)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].startswith("  prompt tokens of 2 turns in 1 changed trajectory: ")
    same = traces("redact", tmp_path / "o.jsonl", "--output", tmp_path / "p.jsonl", "--model", model)
    assert same.stdout.splitlines()[1] == f"  prompt tokens: none changed (counted by {model})"


@pytest.mark.model
def test_stats_show_where_a_template_leaves_the_previous_prompt(
    trace: Path, tmp_path: Path, model: str
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text(
        "{%- for m in messages %}<|im_start|>{{ m.role }}\n{% if loop.last %}now: {% endif %}{{ m.content }}"
        "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    broken = json.loads(
        traces("stats", trace, "--model", model, "--chat-template", template, "--format", "json").stdout
    )["template_stability"]
    assert (broken["checked_turns"], broken["unstable_turns"]) == (1, 1)
    (first,) = broken["first"]
    assert (first["trajectory_id"], first["turn"]) == ("a", 3)
    assert first["kept"].endswith("<|im_start|>user\n")
    assert first["was"].startswith("now: use AKIA")
    assert first["now"].startswith("use AKIA")
    text = traces("stats", trace, "--model", model, "--chat-template", template).stdout
    assert "1 of 1 prompts do not begin" in text
    assert "\x1b" not in text
    own = json.loads(traces("stats", trace, "--model", model, "--format", "json").stdout)[
        "template_stability"
    ]
    assert (own["checked_turns"], own["unstable_turns"]) == (1, 0)
