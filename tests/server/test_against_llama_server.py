"""This product beside the real llama-server on the same model: prompts, counts, answers."""

from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.sharedctypes import RawArray
from pathlib import Path

import prompts
import pytest
import templates
from compared_run import open_at
from llama_server import Client

from bfcl_gate.download import local_model
from bfcl_gate.gate import gate_request
from bfcl_gate.model.catalog import DEFAULT, find
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import Engine, EngineSettings, TimedResponse
from bfcl_gate.model.llama_engine import LlamaEngine
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.samples import sample_of
from edge_agentic.replay import ReplayOptions, plan_replay, replay, select_turns
from edge_agentic.trace import find_trace, read_trace

pytestmark = pytest.mark.server
Serve = Callable[..., Client]
CTX = 32768
FLAGS = ("--threads", 1, "--threads-batch", 1, "--flash-attn", "on", "--ubatch-size", 512)


@pytest.fixture(scope="module")
def default_model() -> Path:
    path = local_model(find(DEFAULT))
    if path is None:
        pytest.skip(f"the default model {DEFAULT} is not on this machine")
    return path


def local(model: Path, **changes: object) -> LlamaEngine:
    settings = {"ctx": CTX, "threads": 1, "special_in_content": "parse", **changes}
    return LlamaEngine(EngineSettings(model_path=model, model_sha256="", **settings), RawArray("B", 2))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "Qwen-Qwen2.5-7B-Instruct",
        "Qwen3-Coder",
        "meta-llama-Llama-3.1-8B-Instruct",
        "NousResearch-Hermes-3-Llama-3.1-8B-tool_use",
    ],
)
def test_a_template_renders_to_the_servers_tokens(name: str, llama_server: Path, tiny: Path) -> None:
    template = llama_server / "templates" / f"{name}.jinja"
    outcomes = templates.compare_template(llama_server / "bin" / "llama-server", tiny, template)
    # What neither renders is no difference: some templates know one call at a time.
    assert {case: outcome for case, outcome in outcomes.items() if outcome.letter not in "=-"} == {}
    assert sum(outcome.letter == "=" for outcome in outcomes.values()) >= 8


def test_the_same_replay_here_and_through_the_server_has_the_same_counts_and_answers(
    serve: Serve, tiny: Path
) -> None:
    options = ReplayOptions(decode="natural", max_tokens=40)
    selected = select_turns(read_trace(find_trace("smoke")).trajectories, options, 12)
    with closing(local(tiny)) as own, closing(open_at(serve(tiny, "--ctx-size", CTX, *FLAGS).url)) as far:
        here, there = (
            [e.result for e in replay(each, plan_replay(each, selected, options), options)]
            for each in (own, far)
        )
    assert [turn.error for turn in there if turn] == [None] * 12
    for one, other in zip(here, there, strict=True):
        assert one is not None
        assert other is not None
        assert (other.input_tokens, other.output_tokens, other.text) == (
            one.input_tokens,
            one.output_tokens,
            one.text,
        )
        # Of a trajectory's first turn the server keeps what earlier ones left; later it goes back at most a chunk more.
        if one.possible_tokens:
            assert one.possible_tokens - 512 <= (other.reused_tokens or 0) <= one.possible_tokens
            assert one.reused_tokens == one.possible_tokens


def test_the_server_is_as_it_says(serve: Serve, tiny: Path) -> None:
    with closing(open_at(serve(tiny, "--ctx-size", 2048, *FLAGS).url)) as engine:
        info = engine.info()
    assert info.ctx == 2048
    assert info.details["slots"] == 1
    assert str(info.identity["build"]).startswith("b")


def answers(engine: Engine, requests: list[ChatRequest]) -> Iterator[TimedResponse]:
    for request in requests:
        engine.forget()
        yield engine.generate(request)


@pytest.mark.model
@pytest.mark.usefixtures("bfcl")
def test_gate_samples_have_the_same_prompts_and_answers_through_the_server(
    serve: Serve, default_model: Path
) -> None:
    policy = GatePolicy(sample="mlperf", max_tokens=24)
    ids = ("simple_python_0", "irrelevance_1", "parallel_2")
    requests = [gate_request(sample_of(i, tools=policy.tool_schemas), policy) for i in ids]
    with (
        closing(local(default_model, ctx=4096)) as own,
        closing(open_at(serve(default_model, "--ctx-size", 4096, *FLAGS).url)) as far,
    ):
        for one, other in zip(answers(own, requests), answers(far, requests), strict=True):
            assert other.error is None
            assert (other.input_tokens, other.text) == (one.input_tokens, one.text)


@pytest.mark.model
@pytest.mark.usefixtures("bfcl")
def test_prompts_of_the_default_model_are_the_servers_tokens(
    serve: Serve, default_model: Path, shared: Path
) -> None:
    client = serve(default_model, "--ctx-size", 256, "--threads", 1)
    trace = str(shared / "data" / "agentic_coding_2.5h.jsonl")
    with closing(prompts.tokenizer(default_model)) as engine:
        requests = [*prompts.turns_of(trace)[::40], *prompts.samples_of(20)]
        assert prompts.differing(engine, client, requests) == []
