"""`run --engine-compare`: what is refused at once, and a comparison of a tiny model with a scripted server."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_run import compare_at, run_locally
from tiny_gguf import write_gguf

from bfcl_gate.errors import InputError
from bfcl_gate.model.scripted_server import Said, ScriptedServer
from edge_agentic.cli import main
from edge_agentic.cli.job import require_same_work
from edge_agentic.report.console import block
from edge_agentic.report.engine_compare import comparison_sections

Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call `edge-agentic run` and return (exit code, stdout, stderr)."""

    def call(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["edge-agentic", "run", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return call


def short(body: Mapping[str, Any]) -> Said:
    return Said(text="yes")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--sweep", "1,2"), "--sweep"),
        (("--profile", "mlperf-v6.1"), "--profile mlperf-v6.1 and --engine-compare"),
        (("--endpoint", "http://127.0.0.1:9"), "--endpoint and --engine-compare"),
    ],
)
def test_what_cannot_be_compared_is_refused(run: Run, arguments: tuple[str, ...], told: str) -> None:
    code, out, err = run("--engine-compare", "http://127.0.0.1:9", *arguments)
    assert (code, out) == (2, "")
    assert told in err


def test_a_server_that_is_not_there_exits_3(run: Run) -> None:
    code, _, err = run("--engine-compare", "http://127.0.0.1:9")
    assert code == 3
    assert "127.0.0.1:9 cannot be reached" in err


def test_forced_decoding_needs_a_server_that_can_go_on(run: Run) -> None:
    with ScriptedServer(short, quirks=["ignores-ignore-eos"]) as server:
        code, _, err = run("--engine-compare", server.url, "--decode", "forced")
    assert code == 2
    assert "does not make answers as long as the recorded ones" in err


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_gguf(tmp_path / "tiny.gguf")


@pytest.mark.parametrize("decode", ["forced", "natural"])
def test_a_comparison_keeps_and_shows_every_pair(tiny: Path, tmp_path: Path, decode: str) -> None:
    folder = tmp_path / "run"
    with ScriptedServer(short) as server:
        found = compare_at(server.url, run_locally(tiny, folder, decode), tiny, folder)
    assert json.loads((folder / "engine_compare.json").read_text()) == found
    assert found["turns"] == 3
    assert found["decode"] == ("recorded" if decode == "forced" else "natural")
    assert (found["prompts"]["equal"], found["prompts"]["compared"]) == (0, 3)
    output = found["tokens"]["output"]
    assert (output["local"] == output["server"]) is (decode == "forced")
    table, explained = map(block, comparison_sections(folder))
    assert table.count("checkout-log") == 3
    (folder / "engine_compare.json").write_text(json.dumps({**found, "starts": {"equal": 0}}))
    with pytest.raises(InputError, match=r"engine_compare\.json: field \$\.starts: 'compared' is a required"):
        comparison_sections(folder)
    assert "Together:" in explained
    assert "from token 0 on, locally '<|im_start|>" in explained


def test_turns_that_the_server_answered_are_not_asked_again(tiny: Path, tmp_path: Path) -> None:
    asked: list[object] = []
    the_job = run_locally(tiny, tmp_path, "natural")
    with ScriptedServer(short, note=asked.append) as server:
        first = compare_at(server.url, the_job, tiny, tmp_path)
        before = len(asked)
        assert compare_at(server.url, the_job, tiny, tmp_path) == first
    assert len(asked) == before


@pytest.mark.usefixtures("bfcl")
def test_nothing_is_compared_when_the_gate_does_not_pass(run: Run, tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with ScriptedServer(short) as server:
        options = ("--model", tiny, "--limit", 2, "--threads", 1, "--max-tokens", 16, "--output", folder)
        code, out, err = run("--engine-compare", server.url, *options)
    assert code == 1
    assert "GATE FAILED." in out.splitlines()[0]
    assert "Both sides decode answers as long as the recorded ones." in err
    assert "nothing is compared" in err
    assert not (folder / "engine_compare.json").exists()
    manifest = json.loads((folder / "run.json").read_text())
    assert manifest["identity"]["decode"] == "forced"
    assert manifest["options"]["engine_compare"] is True
    assert server.url not in json.dumps(manifest)


def test_a_finished_run_of_other_work_is_not_compared(tiny: Path, tmp_path: Path) -> None:
    job = run_locally(tiny, tmp_path, "natural")
    require_same_work(tmp_path, job)
    others = [
        replace(job, replay=replace(job.replay, decode="forced")),
        replace(job, trace={**job.trace, "sha256": "2" * 64}),
        replace(job, model={**job.model, "sha256": "3" * 64}),
        replace(job, options={**job.options, "kv_type": "q4_0"}),
    ]
    for other, named in zip(others, ("decode", "trace_sha256", "model", "kv_type"), strict=True):
        with pytest.raises(InputError, match=rf"Different: {named}: "):
            require_same_work(tmp_path, other)
