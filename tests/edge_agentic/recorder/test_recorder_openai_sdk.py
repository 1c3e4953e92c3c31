"""OpenAI's own client in front of the recorder: most agents speak through it."""

from pathlib import Path
from typing import Any

import pytest
from live import KEY, SYSTEM, TOOLS, recorded, rows_of, said, script

from bfcl_gate.model.scripted_server import ScriptedServer

openai = pytest.importorskip("openai", reason="OpenAI's client is in the dev extra")

TASK = {"role": "user", "content": "fix it"}


def agent(url: str, *, stream: bool) -> None:
    """Look for the model, then ask turn after turn until no tool is called."""
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=1) as client:
        model = client.models.list().data[0].id
        messages: list[Any] = [SYSTEM, TASK]
        asked = {"model": model, "messages": messages, "tools": TOOLS}
        while True:
            if stream:
                with client.chat.completions.stream(**asked) as events:
                    message = events.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(**asked).choices[0].message
            messages.append(message.model_dump(exclude_none=True, exclude={"parsed", "audio"}))
            if not message.tool_calls:
                return
            messages.extend(
                {"role": "tool", "tool_call_id": call.id, "content": f"did {call.function.arguments}\n"}
                for call in message.tool_calls
            )


@pytest.mark.parametrize("stream", [True, False])
def test_a_session_of_openais_client_becomes_one_trajectory(tmp_path: Path, stream: bool) -> None:
    """The first request is refused; the client asks again by itself."""
    busy = "status-429"
    with ScriptedServer(script, fault=lambda received: busy if received.number == 0 else None) as server:
        done = recorded(tmp_path, f"{server.url}/v1", lambda url: agent(url, stream=stream))
    (rows,) = rows_of(done).values()
    assert list(said(rows)) == [
        "fix it",
        "step 0 ",
        'did {"command": "make step0"}\n',
        "step 1 ",
        'did {"command": "make step1"}\n',
        "All is done.",
    ]
    assert (rows[0]["system"], rows[0]["tools"]) == (SYSTEM["content"], TOOLS)
    assert done.report.skipped == {"request without a whole answer (HTTP 429)": 1}
    assert KEY not in Path(done.report.output).read_text(encoding="utf-8")
