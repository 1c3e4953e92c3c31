"""Files around the records: YAML cassettes and the log of llama.cpp's server."""

import base64
import gzip
import json
from pathlib import Path

import pytest
from importing import RECORDINGS, bare, run

from bfcl_gate.errors import InputError

YAML = RECORDINGS["openai-cassette.yaml"].read_text("utf-8")
LOG = RECORDINGS["openai-llama-server.log"].read_text("utf-8")


def test_a_body_in_bytes_or_packed_is_a_body(tmp_path: Path) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "hé"}]}).encode()
    answer = json.dumps({"choices": [{"message": {"content": "ok"}}]}).encode()
    packed = base64.b64encode(gzip.compress(answer)).decode()
    path = tmp_path / "c.yaml"
    path.write_text(
        f"interactions:\n- request:\n    body: !!binary {base64.b64encode(body).decode()}\n"
        f"  response:\n    body:\n      string: !!binary {packed}\n    recorded_at: 2026-01-01 00:00:00\n",
        encoding="utf-8",
    )
    rows, _ = run(path)
    assert bare(rows)["c"] == [{"role": "user", "content": "hé"}, {"role": "assistant", "content": "ok"}]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("interactions: [", "damaged"),
        ("interactions:\n- !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
        ("interactions: " + "[" * 500 + "]" * 500, "nested too deeply"),
        ("interactions: &a [*a]", "more than can be read"),
        (
            "x0: &x0 [a]\n"
            + "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 12))
            + "interactions: *x11\n",
            "more than can be read",
        ),
        ("interactions: 2026-99-99", "month must be in"),
    ],
    ids=["cut", "object", "deep", "circle", "billion laughs", "date"],
)
def test_a_hostile_cassette_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=reason):
        run(path)


def test_a_server_that_logs_a_request_behind_its_stream_is_understood(tmp_path: Path) -> None:
    chunks = [line for line in LOG.split("\n") if "streamed chunk: data: {" in line]
    asked = [line for line in LOG.split("\n") if "log_server_r: request:  {" in line]
    older = [line.replace("http: streamed chunk:", "data stream, to_send:") for line in chunks]
    path = tmp_path / "server.log"
    path.write_text("\n\n".join([*older[:3], asked[0], *older[3:], asked[1], ""]), encoding="utf-8")
    new, old = (bare(run(each)[0]) for each in (copied(tmp_path), path))
    keys = ("role", "content", "tool_calls", "tool_results")
    without_waits = [
        [{k: row[k] for k in keys if k in row} for row in rows]
        for each in (new, old)
        for rows in each.values()
    ]
    assert without_waits[0] == without_waits[1]
    # The second request is logged at 8 s and took 1 s; the first reply had ended at 5 s.
    assert bare(run(path)[0])["server.log"][2]["delay_seconds"] == pytest.approx(2.0, abs=1e-4)


def copied(folder: Path) -> Path:
    path = folder / "new.log"
    path.write_text(LOG, encoding="utf-8")
    return path


def test_a_whole_reply_stands_behind_its_request(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "say\nlog_server_r: request:  {"}]}
    reply = {"choices": [{"message": {"content": "ok"}}], "usage": {"prompt_tokens": 5}}
    path = tmp_path / "server.log"
    path.write_text(
        f"srv  log_server_r: request: POST /v1/chat/completions 127.0.0.1 200\n"
        f"srv  log_server_r: request:  {json.dumps(body, indent=1)}\n"
        f"srv  log_server_r: response: {json.dumps(reply)}\n",
        encoding="utf-8",
    )
    rows, _ = run(path)
    assert [row["content"] for row in rows] == ["say\nlog_server_r: request:  {", "ok"]
    assert rows[1]["recorded_input_tokens"] == 5


@pytest.mark.parametrize(
    "line",
    [
        "srv  log_server_r: request: POST /v1/chat/completions 127.0.0.1 200",
        '0.11.482.829 D srv    operator(): http: streamed chunk: data: {"choices":[]}',
    ],
)
def test_a_log_without_bodies_is_refused_with_the_cure(tmp_path: Path, line: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match="traces record"):
        run(path)
