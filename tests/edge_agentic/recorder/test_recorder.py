"""What the recorder makes of live conversations: trajectories, waits, splits, and what is no turn."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from live import KEY, SYSTEM, TOOLS, Agent, recorded, rows_of, said, script

from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.model.scripted_server import FAULTS, Received, Said, ScriptedServer
from edge_agentic.importers.convert import import_trace
from edge_agentic.importers.rows import Limits
from edge_agentic.importers.trajectories import Options
from edge_agentic.trace import load_trajectories

STEPS = [
    "fix it",
    "step 0 ",
    'did {"command": "make step0"}\n',
    "step 1 ",
    'did {"command": "make step1"}\n',
    "All is done.",
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(script) as running:
        yield running


@pytest.mark.parametrize("stream", [True, False])
def test_a_conversation_becomes_one_trajectory(tmp_path: Path, server: ScriptedServer, stream: bool) -> None:
    done = recorded(tmp_path, server.url, lambda url: Agent(url, "fix it", stream=stream).run())
    ((name, rows),) = rows_of(done).items()
    assert name == "live"
    assert list(said(rows)) == STEPS
    assert (rows[0]["system"], rows[0]["tools"], rows[0]["model"]) == (SYSTEM["content"], TOOLS, "m")
    assert [row["recorded_finish_reason"] for row in rows[1::2]] == ["tool_calls", "tool_calls", "stop"]
    assert all(row["recorded_input_tokens"] > 20 for row in rows[1::2])
    assert [row["delay_source"] for row in rows[2::2]] == ["timestamps", "timestamps"]
    assert all(0 < row["delay_seconds"] < 10 for row in rows[2::2])
    assert done.trouble is None
    assert done.report.source == server.url
    assert sorted(path.name for path in tmp_path.iterdir()) == ["live.jsonl"]
    (trajectory,) = load_trajectories(Path(done.report.output))
    assert len(trajectory.turns) == 3


def test_the_wait_is_from_the_end_of_the_answer_to_the_next_request(tmp_path: Path) -> None:
    """A slow server's time is no wait of the agent."""
    with ScriptedServer(script, pause_s=0.1) as server:
        done = recorded(tmp_path, server.url, lambda url: Agent(url, "fix it").run())
    (rows,) = rows_of(done).values()
    generated = 0.1 * (rows[1]["recorded_output_tokens"] - 1)
    assert all(row["delay_seconds"] < generated for row in rows[2::2])


def test_conversations_side_by_side_are_kept_apart(tmp_path: Path) -> None:
    tasks = [f"task {number}" for number in range(6)]
    with ScriptedServer(script, pause_s=0.005) as server:
        done = recorded(
            tmp_path, server.url, *(lambda url, task=task: Agent(url, task).run() for task in tasks)
        )
    found = sorted(list(said(rows)) for rows in rows_of(done).values())
    assert found == [[task, *STEPS[1:]] for task in tasks]
    assert done.report.counts["turns"] == 18


def test_a_fork_a_subagent_and_a_compaction_become_trajectories_of_their_own(
    tmp_path: Path, server: ScriptedServer
) -> None:
    def agent(url: str) -> None:
        main = Agent(url, "fix it")
        main.turn()
        call = main.messages[-1]["tool_calls"][0]["id"]
        Agent(url, "a sub-agent's task").run()
        main.messages.append({"role": "tool", "tool_call_id": call, "content": "done by another"})
        main.turn()
        fork = Agent(url, "fix it")
        fork.messages = [*main.messages[:3], {"role": "tool", "tool_call_id": call, "content": "asked again"}]
        fork.turn()
        compacted = Agent(url, "[Summary of what was done] Go on.")
        compacted.run()

    done = recorded(tmp_path, server.url, agent)
    texts = [list(said(rows)) for rows in rows_of(done).values()]
    assert texts == [
        ["fix it", "step 0 ", "done by another", "step 1 "],
        ["a sub-agent's task", *STEPS[1:]],
        ["fix it", "step 0 ", "asked again", "step 1 "],
        ["[Summary of what was done] Go on.", *STEPS[1:]],
    ]
    assert done.report.splits == {"fork": 1}
    fork_row = rows_of(done)["live.3"][0]
    assert (fork_row["parent_conversation_id"], fork_row["fork_turn"]) == ("live.1", 2)


def test_what_is_no_turn_is_passed_on_and_counted(tmp_path: Path, server: ScriptedServer) -> None:
    def agent(url: str) -> None:
        assert httpx2.get(f"{url}/models").json()["data"][0]["id"] == "scripted"
        assert httpx2.head(f"{url}/models").status_code == 200
        assert httpx2.get(f"{url}/nothing?key={KEY}").status_code == 404
        httpx2.post(f"{url}/embeddings", json={"input": "x", "messages": []})
        Agent(url, "fix it").run()

    done = recorded(tmp_path, f"{server.url}/v1", agent)
    assert done.report.counts["turns"] == 3
    (remark,) = done.report.remarks
    assert remark.endswith(
        "no turns of a conversation: GET /v1/models (1), HEAD /v1/models (1), GET /v1/nothing (1), "
        "POST /v1/embeddings (1)."
    )


def test_a_path_before_the_api_is_the_servers_own(tmp_path: Path, server: ScriptedServer) -> None:
    """The scripted server answers every POST, so what it is asked for is what it notes here."""
    done = recorded(tmp_path, f"{server.url}/api/v1", lambda url: Agent(url, "fix it").run())
    assert done.report.counts["turns"] == 3
    assert done.report.source == f"{server.url}/api/v1"


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.kind != "timeout"])
def test_a_bad_answer_reaches_the_agent_as_it_is_and_leaves_no_turn(tmp_path: Path, name: str) -> None:
    """The same bytes as without the recorder; the good answers before and after it are recorded."""

    def fault(received: Received) -> str | None:
        return name if "faulty" in json.dumps(received.body["messages"]) else None

    body = json.dumps(
        {"model": "m", "messages": [SYSTEM, {"role": "user", "content": "faulty"}], "stream": True}
    ).encode()
    got: list[bytes] = []
    with ScriptedServer(lambda body: Said(text="one two three four"), fault=fault) as server:
        direct = raw(server.url, body)

        def agent(url: str) -> None:
            Agent(url, "before").run()
            got.append(raw(url.removesuffix("/v1"), body))
            Agent(url, "after").run()

        done = recorded(tmp_path, server.url, agent)
    assert got == [direct]
    firsts = [next(said(rows)) for rows in rows_of(done).values()]
    whole = FAULTS[name].kind is None or name in ("whole-answer", "over-limit", "other-model", "other-build")
    assert firsts == (["before", "faulty", "after"] if whole else ["before", "after"])
    assert sum(done.report.skipped.values()) == (not whole)


def raw(server: str, body: bytes, most: int = 300_000) -> bytes:
    """Return what a server says to a chat request, without dates, until it says that it is done or up to a size."""
    host, port = server.removeprefix("http://").split(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    told = b""
    with (
        socket.create_connection((host, int(port)), timeout=10) as connection,
        suppress(ConnectionResetError),
    ):
        connection.sendall(head.encode() + body)
        while len(told) < most and b"[DONE]" not in told and (piece := connection.recv(65_536)):
            told += piece
    told = told.partition(b"[DONE]")[0][:most]
    told = re.sub(rb"Date: [^\r]+", b"", told)
    return re.sub(rb"(\x1f\x8b..)....", rb"\1", told, flags=re.DOTALL)  # gzip has a date too


def test_an_agent_that_hangs_up_leaves_no_turn_and_the_recording_goes_on(tmp_path: Path) -> None:
    def agent(url: str) -> None:
        body = json.dumps({"messages": [{"role": "user", "content": "left"}], "stream": True}).encode()
        host, port = url.removeprefix("http://").removesuffix("/v1").split(":")
        with socket.create_connection((host, int(port))) as connection:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            connection.recv(10)
        Agent(url, "fix it").run()

    with ScriptedServer(script, fault=lambda received: "drips" if received.number == 0 else None) as server:
        done = recorded(tmp_path, server.url, agent)
    assert done.report.counts == {"trajectories": 1, "turns": 3, "tool_calls": 2, "tool_results": 2}
    assert done.report.skipped == {"request without a whole answer (client left)": 1}


def test_an_answer_asked_for_again_is_recorded_once(tmp_path: Path) -> None:
    """A refused request is asked again with the same prompt; the wait before it is the agent's, once."""

    def agent(url: str) -> None:
        asking = Agent(url, "fix it")
        with pytest.raises(httpx2.HTTPStatusError):
            asking.turn()
        asking.run()

    busy = "status-429"
    with ScriptedServer(script, fault=lambda received: busy if received.number == 0 else None) as server:
        done = recorded(tmp_path, server.url, agent)
    (rows,) = rows_of(done).values()
    assert list(said(rows)) == STEPS
    assert done.report.skipped == {"request without a whole answer (HTTP 429)": 1}


def test_secrets_in_what_is_said_are_reported_and_headers_are_kept_nowhere(
    tmp_path: Path, server: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    token = "ghp_" + "a1" * 20

    def agent(url: str) -> None:
        Agent(url, f"push with {token}").run()
        journal = tmp_path / "live.jsonl.journal"
        while token not in journal.read_text(encoding="utf-8"):
            pass
        assert KEY not in journal.read_text(encoding="utf-8")

    done = recorded(tmp_path, server.url, agent)
    assert done.report.secrets == {"a GitHub token": 1}
    kept = Path(done.report.output).read_text(encoding="utf-8")
    assert token in kept
    assert KEY not in kept
    assert KEY not in "".join(capfd.readouterr())


def test_nothing_to_record_is_said_and_leaves_nothing(tmp_path: Path, server: ScriptedServer) -> None:
    with pytest.raises(InputError, match=r"Nothing was recorded.*passed on: GET /v1/models \(1\)"):
        recorded(tmp_path, server.url, lambda url: httpx2.get(f"{url}/models"))
    assert list(tmp_path.iterdir()) == []


def test_a_recording_without_any_whole_answer_keeps_its_journal(tmp_path: Path) -> None:
    def agent(url: str) -> None:
        with pytest.raises(httpx2.HTTPStatusError):
            Agent(url, "fix it").turn()

    journal = tmp_path / "live.jsonl.journal"
    with ScriptedServer(script, fault=lambda received: "status-500") as server:
        with pytest.raises(InputError, match="stays in") as refused:
            recorded(tmp_path, server.url, agent)
        assert str(journal) in str(refused.value)
        assert "HTTP 500" in str(refused.value)
    assert journal.exists()


def test_what_is_in_the_way_is_said_before_anything_starts(tmp_path: Path, server: ScriptedServer) -> None:
    output = tmp_path / "live.jsonl"
    output.write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        recorded(tmp_path, server.url)
    with pytest.raises(InputError, match="folder does not exist"):
        recorded(tmp_path, server.url, output=tmp_path / "no" / "x.jsonl")
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(SourceError, match="cannot be listened on"):
        recorded(tmp_path, server.url, output=tmp_path / "other.jsonl", port=port)
    with pytest.raises(SourceError, match="cannot be reached"):
        recorded(tmp_path, "http://127.0.0.1:9", output=tmp_path / "other.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["live.jsonl"]
    assert output.read_text() == "mine"


def test_an_existing_trace_is_replaced_when_that_is_asked_for(tmp_path: Path, server: ScriptedServer) -> None:
    (tmp_path / "live.jsonl").write_text("old")
    done = recorded(tmp_path, server.url, lambda url: Agent(url, "fix it").run(), force=True)
    assert done.report.counts["turns"] == 3


def test_a_journal_that_was_left_can_be_gone_on_with_or_imported(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorder dies before the trace is written, and the last line of its journal is torn."""
    asking: list[Agent] = []

    def first(url: str) -> None:
        asking.append(Agent(url, "fix it"))
        asking[0].turn()

    def dies(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr("edge_agentic.recorder.session.import_trace", dies)
        with pytest.raises(KeyboardInterrupt):
            recorded(tmp_path, server.url, first)
    journal = tmp_path / "live.jsonl.journal"
    with journal.open("ab") as file:
        file.write(b'{"_type":"exchange","numb')

    report = import_trace(journal, tmp_path / "left.jsonl", Options(limits=Limits()))
    assert (report.formats, report.counts["turns"], report.repairs) == (
        ("recording",),
        1,
        {"R4": 1, "R18": 1},
    )

    with pytest.raises(InputError, match="Go on with it by --resume"):
        recorded(tmp_path, server.url)

    def second(url: str) -> None:
        agent = Agent(url, "fix it")
        call = asking[0].messages[-1]["tool_calls"][0]["id"]
        agent.messages = [*asking[0].messages, {"role": "tool", "tool_call_id": call, "content": "did it\n"}]
        agent.run()

    done = recorded(tmp_path, server.url, second, resume=True)
    (rows,) = rows_of(done).values()
    assert list(said(rows)) == [STEPS[0], STEPS[1], "did it\n", *STEPS[3:]]
    assert not journal.exists()


def test_a_disk_that_fills_up_does_not_stop_the_agent(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bfcl_gate.journal import Journal

    append = Journal.append

    def fills_up(self: Journal, row: Any) -> None:
        if row.get("number") == 2:
            raise SourceError("cannot write the journal (No space left on device).")
        append(self, row)

    monkeypatch.setattr(Journal, "append", fills_up)
    done = recorded(tmp_path, server.url, lambda url: Agent(url, "fix it").run())
    assert done.report.counts["turns"] == 1
    assert "No space left" in str(done.trouble)
