"""llama-cpp-python's own server: what docs/endpoints.md says of it, and that its oddities are found before a run."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from compared_run import open_at
from llama_server import Client
from tiny_gguf import CHATML, TOKENS, write_gguf

from bfcl_gate.gate import ask
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.endpoint_engine.server_preflight import server_preflight
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.samples import sample_of
from edge_agentic.replay import ReplayOptions, plan_replay, replay, select_turns
from edge_agentic.trace import find_trace, read_trace

pytestmark = pytest.mark.server
Serve = Callable[..., Client]
RECIPE = ("--logits_all", "False", "--n_threads", 1, "--n_threads_batch", 1, "--n_ctx")


@pytest.fixture(scope="module")
def url(serve_python: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A server of a model whose template takes messages without content, as those of real models do."""
    template = CHATML.replace("message.content", "(message.content or '')")
    model = write_gguf(tmp_path_factory.mktemp("tolerant") / "tiny.gguf", template=template, trained_ctx=8192)
    return serve_python(model, *RECIPE, 8192).url


def said(text: str) -> ChatRequest:
    return ChatRequest(messages=({"role": "user", "content": text},), max_tokens=8)


def test_the_preflight_finds_what_it_does_not_state(url: str) -> None:
    with closing(open_at(url)) as engine:
        found = {finding.name: finding for finding in server_preflight(engine)}
    assert found["model"].detail == "tiny.gguf, listed by the server"
    assert found["usage"].detail == "tokens stated: none; not stated: prompt, reused, output"
    assert {
        name: finding.status for name, finding in found.items() if name not in ("max_tokens", "seed")
    } == {
        **dict.fromkeys(
            ("reachable", "model", "tool_history", "tool_choice", "repeatable", "synthetic"), "ok"
        ),
        **dict.fromkeys(("context", "slots", "cache"), "unknown"),
        "usage": "WARN",
        "ignore_eos": "no",
    }


def test_it_does_not_know_max_completion_tokens_and_breaks_off_a_prompt_that_does_not_fit(
    serve_python: Serve, tmp_path: Path
) -> None:
    endless = write_gguf(tmp_path / "endless.gguf", answers="endless")
    with closing(open_at(serve_python(endless, *RECIPE, 256).url)) as engine:
        longer, cut, after = (engine.generate(said(text)) for text in ("Hello", "ab " * 100, "Hello"))
    for answer in (longer, after):
        assert (answer.error, answer.finish_reason, answer.output_tokens) == (None, "length", None)
        assert len(answer.token_ns) > 8
    assert cut.error is not None
    assert cut.error.startswith("incomplete")
    assert cut.token_ns == ()


def test_a_replay_has_the_arrival_of_every_token_and_no_counts(url: str) -> None:
    options = ReplayOptions(decode="natural", max_tokens=8)
    trajectories = {each.id: each for each in read_trace(find_trace("smoke")).trajectories}
    selected = select_turns([trajectories["ledger-december"]], options, 3)
    assert all("content" not in turn.messages[2] for turn in selected[0][1:])
    with closing(open_at(url)) as engine:
        results = [e.result for e in replay(engine, plan_replay(engine, selected, options), options)]
    turns = [turn for turn in results if turn is not None]
    assert [turn.error for turn in turns] == [None] * 3
    for turn in turns:
        # A chunk a digit and one with the finish reason; the one that only names the role is none.
        assert len(turn.token_ns) == len(turn.text or "") + 1
        assert turn.first_token_ns == turn.token_ns[0]
        assert (turn.input_tokens, turn.reused_tokens, turn.output_tokens) == (None, None, None)
        assert turn.tool_calls == ()


def as_call(token: tuple[str, int]) -> tuple[str, int]:
    text, kind = token
    call = f'<function=f>{{"n":{text}}}</function>'  # the server loses tokens of more than 32 bytes
    return (call if text.isdecimal() and text.isascii() else text), kind


@pytest.mark.usefixtures("bfcl")
def test_tool_calls_come_as_text_so_only_the_lenient_reading_finds_them(
    serve_python: Serve, tmp_path: Path
) -> None:
    calls = [as_call(token) for token in TOKENS]
    calling = write_gguf(tmp_path / "calling.gguf", answers="endless", tokens=calls)
    policy = GatePolicy(sample="mlperf", max_tokens=24)
    samples = [sample_of(name, tools=policy.tool_schemas) for name in ("simple_python_0", "irrelevance_1")]
    with closing(open_at(serve_python(calling, *RECIPE, 768).url)) as engine:
        answers = list(ask(engine, samples, policy))
    assert [answer.error for answer in answers] == [None, None]
    for answer in answers:
        stated = json.loads(answer.message or "")
        assert not stated.get("tool_calls")
        assert stated["content"].startswith("<function=f>")
        assert {call["name"] for call in answer.tool_calls} == {"f"}
    # Natively no call was made: wrong where one was asked for, right where none fits.
    assert [(answer.correct_native, answer.correct_lenient) for answer in answers] == [
        (False, False),
        (True, False),
    ]
