"""One small recording of our own in each format: what it holds comes out whole, and goes round."""

import json
from pathlib import Path
from typing import Any

import pytest
from importing import RECORDINGS, bare, run

from edge_agentic.importers.formats import FORMATS
from edge_agentic.importers.shape import SHAPES
from edge_agentic.trace import check_trace, load_trajectories
from edge_agentic.trace.export import export_trace

TEXT = " Grüße\n\n\tläuft nicht – siehe \x1b[31mx.py\x1b[0m \u2028 "
"""What the user says in most of them: blanks at both ends, a tab, an escape sequence, a line separator."""

# format; trajectories, turns, tool calls, tool results; reasons of linked trajectories; seconds waited
HOLDS: dict[str, tuple[str, tuple[int, ...], dict[str, int], float]] = {
    "abench.jsonl": ("abench", (2, 3, 0, 0), {}, 0.0),
    "anthropic.jsonl": ("anthropic", (1, 2, 1, 1), {}, 0.0),
    "atif.json": ("atif", (2, 4, 1, 1), {"subagent": 1}, 0.0),
    "claude-code.jsonl": ("claude-code", (3, 4, 2, 2), {"compaction": 1, "subagent": 1}, 3.0),
    "codex.jsonl": ("codex", (2, 3, 2, 2), {"compaction": 1}, 3.0),
    "gemini-cli.jsonl": ("gemini-cli", (3, 7, 2, 2), {"compaction": 1, "rewind": 1}, 2.0),
    "inspect.json": ("inspect", (1, 2, 1, 1), {}, 0.75),
    "kimi.jsonl": ("kimi", (2, 3, 1, 1), {"compaction": 1}, 0.5),
    "lmcache.jsonl": ("lmcache", (2, 3, 0, 0), {}, 0.0),
    "mini-swe-agent.traj.json": ("mini-swe-agent", (1, 2, 2, 2), {}, 1.0),
    "mooncake.jsonl": ("mooncake", (2, 3, 0, 0), {}, 0.0),
    "openai-cassette.yaml": ("openai", (1, 2, 1, 1), {}, 0.0),
    "openai-llama-server.log": ("openai", (1, 2, 1, 1), {}, 1.0),
    "openai.jsonl": ("openai", (2, 3, 2, 2), {}, 1.0),
    "opencode.json": ("opencode", (2, 3, 2, 2), {"compaction": 1}, 0.5),
    "openhands-sdk.json": ("openhands", (2, 3, 1, 1), {"compaction": 1}, 1.0),
    "openhands.jsonl": ("openhands", (2, 3, 2, 2), {}, 2.0),
    "otlp.jsonl": ("otlp", (1, 2, 1, 1), {}, 3.0),
    "pi.jsonl": ("pi", (2, 4, 1, 1), {"compaction": 1}, 1.0),
    "qwen-code.jsonl": ("qwen-code", (2, 4, 1, 1), {"compaction": 1}, 1.0),
    "recording.journal": ("recording", (1, 2, 1, 1), {}, 0.5),
    "swe-agent.traj": ("swe-agent", (1, 2, 1, 1), {}, 0.25),
    "tau-bench.json": ("tau-bench", (2, 3, 1, 1), {}, 0.0),
    "tracelab.jsonl": ("tracelab", (2, 3, 0, 0), {"history_rewrite": 1}, 0.86),
    "weka.json": ("weka", (3, 4, 0, 0), {"history_rewrite": 1, "subagent": 1}, 2.0),
}


def copied(name: str, folder: Path) -> Path:
    """Return a copy of a recording: what is imported is written beside it."""
    copy = folder / name
    copy.write_bytes(RECORDINGS[name].read_bytes())
    return copy


def test_there_is_a_recording_of_each_format() -> None:
    assert set(HOLDS) == set(RECORDINGS)
    assert {form for form, *_ in HOLDS.values()} == set(FORMATS)


@pytest.mark.parametrize("name", HOLDS)
def test_a_recording_comes_out_whole(name: str, tmp_path: Path) -> None:
    form, counts, splits, waited_s = HOLDS[name]
    rows, report = run(copied(name, tmp_path))
    assert (report.formats, tuple(report.counts.values())) == ((form,), counts)
    assert (report.splits, report.delays["kept_s"]) == (splits, pytest.approx(waited_s, abs=1e-4))
    said = [text for row in rows if row["role"] == "user" for text in (row["content"],)]
    wanted = " Grüße\nlist" if name.endswith(".yaml") else TEXT
    assert form in SHAPES or any(wanted in text for text in said)


CHAT = (
    "role",
    "content",
    "system",
    "tools",
    "tool_calls",
    "tool_results",
    "reasoning_content",
)


def chats(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return what each trajectory puts to a model."""
    return [[{k: row[k] for k in CHAT if k in row} for row in each] for each in bare(rows).values()]


def as_openai(chat: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a chat as the body of a request, written down on its own."""
    head = chat[0]
    messages = [{"role": "system", "content": head["system"]}] if "system" in head else []
    for row in chat:
        if row["role"] == "tool":
            messages += [{"role": "tool", **result} for result in row["tool_results"]]
        else:
            messages.append({k: row[k] for k in row if k not in ("system", "tools", "tool_results")})
    return {"messages": messages, **({"tools": head["tools"]} if "tools" in head else {})}


def goes_round(rows: list[dict[str, Any]], folder: Path) -> None:
    """Check that the rows, written as OpenAI requests and imported again, are the same rows."""
    for number, chat in enumerate(chats(rows)):
        source = folder / f"{number}.json"
        source.write_text(json.dumps(as_openai(chat)), encoding="utf-8")
        again, report = run(source)
        assert chats(again) == [chat]
        assert set(report.repairs) <= {"R16"}  # colours that are kept are counted


@pytest.mark.parametrize("name", HOLDS)
def test_what_was_imported_goes_round(name: str, tmp_path: Path) -> None:
    rows, _ = run(copied(name, tmp_path))
    written = tmp_path / "imported.trace"
    trace = check_trace(written)
    assert trace.errors == ()
    exported = tmp_path / "exported.jsonl"
    export_trace(written, exported, max_tokens=77)
    loaded = [[turn.request() for turn in each.turns] for each in load_trajectories(exported)]
    assert loaded == [[turn.request() for turn in each.turns] for each in trace.trajectories]
    again = tmp_path / "again.jsonl"
    export_trace(exported, again, max_tokens=77)
    assert again.read_bytes() == exported.read_bytes()
    goes_round(rows, tmp_path)
