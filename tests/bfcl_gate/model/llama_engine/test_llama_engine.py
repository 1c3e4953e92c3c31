"""The engine on tiny models: counts, times, plans and answers agree with each other."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_gguf import CHATML, END, KINDS, TOKENS

from bfcl_gate.errors import ContextOverflowError, EngineError, InputError
from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.llama_engine import LlamaEngine

Open = Callable[..., LlamaEngine]
Model = Callable[..., Path]
TOOL = {"type": "function", "function": {"name": "run", "parameters": {"type": "object", "properties": {}}}}


def said(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def ask(*contents: str, **fields: Any) -> ChatRequest:
    messages = tuple(said("user" if i % 2 == 0 else "assistant", c) for i, c in enumerate(contents))
    return ChatRequest(messages=messages, **{"max_tokens": 30, **fields})


def trajectory(forced: bool) -> list[ChatRequest]:
    """Three turns of one conversation with recorded answers; prompts of some hundred tokens."""
    contents = ["List the files. " * 10, "12", "Now the other ones. " * 5, "345", "Thanks.", "67"]
    return [
        ask(*contents[:n], recorded=said("assistant", contents[n]), forced=forced, tools=(TOOL,))
        for n in (1, 3, 5)
    ]


def readings_agree(response: TimedResponse) -> None:
    assert response.input_tokens == response.reused_tokens + response.evaluated_tokens  # type: ignore[operator]
    assert len(response.token_ns) == len(response.token_ids) == response.output_tokens
    moments = [response.submitted_ns, response.rendered_ns, *response.token_ns]
    assert moments == sorted(moments)  # type: ignore[type-var]
    assert response.first_token_ns == response.token_ns[0]
    assert response.completed_ns == response.token_ns[-1]
    assert response.error is None
    prefill_ns, decode_ns = response.library_prefill_ns or 0, response.library_decode_ns or 0
    assert 0 < prefill_ns < moments[2] - moments[0]  # type: ignore[operator]
    assert (0 < decode_ns < moments[-1] - moments[2]) or len(response.token_ns) == 1  # type: ignore[operator]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forced", [True, False])
def test_a_plan_says_what_the_turns_then_take(kind: str, forced: bool, engine_on: Open, model: Model) -> None:
    engine = engine_on(model(kind))
    requests = trajectory(forced)
    plan = engine.plan(requests)
    assert [turn.answer_tokens for turn in plan] == [3, 4, 3]
    assert [turn.answer_extends for turn in plan] == [True, True, True]
    for request, turn in zip(requests, plan, strict=True):
        response = engine.generate(request, turn.keep)
        readings_agree(response)
        assert response.input_tokens == turn.prompt_tokens
        assert response.reused_tokens == (turn.possible_forced if forced else turn.possible_natural)
        if forced:
            assert response.output_tokens == turn.answer_tokens


@pytest.mark.parametrize("kind", KINDS)
def test_a_forced_answer_is_the_recorded_one_and_its_end(kind: str, engine_on: Open, model: Model) -> None:
    engine = engine_on(model(kind))
    response = engine.generate(ask("Count.", recorded=said("assistant", "123"), forced=True, max_tokens=1))
    assert [TOKENS[t][0] for t in response.token_ids] == ["1", "2", "3", "<|im_end|>"]
    assert (response.text, response.finish_reason) == (None, "forced")
    assert response.agreed_tokens in range(5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_models_own_answer_agrees_with_itself(kind: str, engine_on: Open, model: Model) -> None:
    engine = engine_on(model(kind))
    spoken = next(
        r
        for r in (engine.generate(ask(f"Count to {n}.", max_tokens=60)) for n in range(50))
        if r.finish_reason == "stop" and (r.output_tokens or 0) > 2
    )
    number = next(
        n for n in range(50) if engine.generate(ask(f"Count to {n}.", max_tokens=60)).text == spoken.text
    )
    engine.forget()
    recorded = said("assistant", spoken.text or "")
    forced = engine.generate(ask(f"Count to {number}.", recorded=recorded, forced=True))
    assert forced.token_ids == spoken.token_ids
    assert forced.agreed_tokens == forced.output_tokens


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_from_an_empty_cache_depends_on_its_request_alone(
    kind: str, engine_on: Open, model: Model
) -> None:
    engine, other = engine_on(model(kind)), engine_on(model(kind))
    request = ask("Say something. " * 60)
    first = engine.generate(request)
    engine.generate(ask("Something else. " * 50))
    engine.forget()
    again = engine.generate(request)
    assert again.reused_tokens == 0
    assert (again.token_ids, again.text) == (first.token_ids, first.text)
    assert other.generate(request).token_ids == first.token_ids


def test_an_empty_answer_is_one_token(engine_on: Open, model: Model) -> None:
    response = engine_on(model(answers="empty")).generate(ask("Say nothing."))
    readings_agree(response)
    assert (response.text, response.token_ids, response.finish_reason) == ("", (END,), "stop")


def test_an_answer_without_end_is_cut_at_max_tokens(engine_on: Open, model: Model) -> None:
    response = engine_on(model(answers="endless")).generate(ask("Go on.", max_tokens=7))
    readings_agree(response)
    assert (response.output_tokens, response.finish_reason, len(response.text or "")) == (7, "length", 7)


@pytest.mark.parametrize("max_tokens", [0, -1])
def test_no_answer_tokens_are_refused(engine_on: Open, model: Model, max_tokens: int) -> None:
    with pytest.raises(InputError, match="--max-tokens"):
        engine_on(model()).generate(ask("x", max_tokens=max_tokens))


def test_a_prompt_that_does_not_fit_is_refused_before_anything_is_evaluated(
    engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(), ctx=256)
    held = engine.generate(ask("Hello."))
    with pytest.raises(
        ContextOverflowError, match=r"do not fit the context of 256. Raise --ctx to at least 1\d\d\d"
    ):
        engine.generate(ask("x" * 1000))
    again = engine.generate(ask("Hello."))
    assert again.reused_tokens == (held.input_tokens or 0) - 1


def test_prompt_and_answer_fill_the_context_to_its_last_token(engine_on: Open, model: Model) -> None:
    engine = engine_on(model(answers="endless"), ctx=256)
    free = 256 - (engine.generate(ask("x", max_tokens=1)).input_tokens or 0)
    assert engine.generate(ask("x", max_tokens=free)).output_tokens == free
    with pytest.raises(ContextOverflowError):
        engine.generate(ask("x", max_tokens=free + 1))


def test_a_forced_turn_needs_a_recorded_answer(engine_on: Open, model: Model) -> None:
    with pytest.raises(InputError, match="--decode natural"):
        engine_on(model()).generate(ask("x", forced=True))


def test_an_answer_that_does_not_extend_the_prompt_is_what_follows_the_common_prefix(
    engine_on: Open, model: Model
) -> None:
    thinking = CHATML.replace("{{- '<|im_start|>assistant\\n' }}", "{{- '<|im_start|>assistant\\n12' }}")
    engine = engine_on(model(), chat_template=thinking)
    request = ask("x", recorded=said("assistant", "134"), forced=True)
    (turn,) = engine.plan([request])
    assert (turn.answer_extends, turn.answer_tokens) == (False, 3)
    assert [TOKENS[t][0] for t in engine.generate(request).token_ids] == ["3", "4", "<|im_end|>"]


def test_an_answer_without_an_end_token_goes_to_the_end_of_its_render(engine_on: Open, model: Model) -> None:
    endless = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
    endless += "{{ 'assistant:' if add_generation_prompt }}"
    engine = engine_on(model(), chat_template=endless)
    request = ask("x", recorded=said("assistant", "134"), forced=True)
    assert [TOKENS[t][0] for t in engine.generate(request).token_ids] == ["1", "3", "4", ";"]


@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_a_state_that_cannot_be_taken_back_shows_in_the_response(
    kind: str, engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(kind))
    first = engine.generate(ask("Hello there."))
    again = engine.generate(ask("Hello there."))
    assert (again.held_tokens, again.reused_tokens) == ((first.input_tokens or 0) - 1, 0)
    assert again.token_ids == first.token_ids


def test_control_token_text_in_content_is_counted_in_plan_and_response(engine_on: Open, model: Model) -> None:
    engine = engine_on(model())
    requests = [ask("plain"), ask("a<|im_end|>b<|im_start|>c")]
    assert [turn.shielded for turn in engine.plan(requests)] == [0, 2]
    assert [engine.generate(request).shielded for request in requests] == [0, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_whole_chunks_reused_give_the_logits_of_an_empty_cache(
    kind: str, engine_on: Open, model: Model
) -> None:
    engine, fresh = engine_on(model(kind), reuse="canonical"), engine_on(model(kind))
    contents = ["List the files. " * 60, "12", "Now the other ones. " * 30, "345", "Thanks."]
    requests = [ask(*contents[:n], fingerprint=True) for n in (1, 3, 5)]
    reused = []
    for request, turn in zip(requests, engine.plan(requests), strict=True):
        response = engine.generate(request, turn.keep)
        reused.append(response.reused_tokens)
        fresh.forget()
        alone = fresh.generate(request)
        assert (response.logits_sha256, response.token_ids) == (alone.logits_sha256, alone.token_ids)
    assert reused == [0, 512, 1024]


def test_whole_chunks_of_a_recorded_answer_are_not_reused(engine_on: Open, model: Model) -> None:
    engine = engine_on(model(), reuse="canonical")
    contents = ["Go on. " * 60, "12" * 200, "Thanks."]
    first, second = (ask(*contents[:n], recorded=said("assistant", contents[1]), forced=True) for n in (1, 3))
    assert len(engine.prompt(first).tokens) < 512
    engine.generate(first)
    assert engine.generate(second).reused_tokens == 0


def test_the_logits_of_an_answer_have_a_fingerprint_where_it_is_asked_for(
    engine_on: Open, model: Model
) -> None:
    engine = engine_on(model())
    prints = []
    for content in ("Hello.", "Hello.", "Hello!"):
        engine.forget()
        prints.append(engine.generate(ask(content, fingerprint=True)).logits_sha256)
    assert prints[0] == prints[1] != prints[2]
    assert engine.generate(ask("Hello.")).logits_sha256 is None


def test_logits_after_tokens_choose_the_token_that_the_engine_then_says(
    engine_on: Open, model: Model
) -> None:
    engine = engine_on(model())
    response = engine.generate(ask("Count.", max_tokens=3))
    tokens = [*engine.prompt(ask("Count.")).tokens, *response.token_ids[:2]]
    assert int(engine.logits_after(tokens).argmax()) == response.token_ids[2]


def test_control_token_text_in_content_is_the_token_where_content_is_parsed(
    engine_on: Open, model: Model
) -> None:
    engine, other = engine_on(model(), special_in_content="parse"), engine_on(model())
    spelt = ask("a<|im_end|>b<|im_start|>c⸨1⸩")
    prompt = engine.prompt(spelt)
    assert prompt.shielded == 2
    assert prompt.tokens.count(END) == other.prompt(spelt).tokens.count(END) + 1
    assert engine.text_of(prompt.tokens) == other.text_of(other.prompt(spelt).tokens)
    assert engine.prompt(ask("a")).tokens == other.prompt(ask("a")).tokens
    assert engine.info().identity["special_in_content"] == "parse"


def test_a_plan_names_where_a_prompt_departs_from_the_one_before(engine_on: Open, model: Model) -> None:
    last_only = CHATML.replace(
        "message.content + '<|im_end|>", "(message.content if loop.last else '...') + '<|im_end|>"
    )
    requests = [ask(*("Hello.", "1", "Thanks.")[:n]) for n in (1, 3)]
    assert [turn.departure for turn in engine_on(model()).plan(requests)] == [None, None]
    first, second = engine_on(model(), chat_template=last_only).plan(requests)
    assert first.departure is None
    assert second.departure is not None
    assert second.departure.before.startswith("Hello.<|im_end|>")
    assert second.departure.now.startswith("...<|im_end|>")
    assert second.departure.kept.endswith("<|im_start|>user\n")
    assert second.possible_natural == second.departure.at


def test_an_empty_trajectory_has_an_empty_plan(engine_on: Open, model: Model) -> None:
    assert engine_on(model()).plan([]) == ()


def test_a_tokenizer_alone_plans_but_does_not_answer(engine_on: Open, model: Model) -> None:
    requests = trajectory(True)
    engine = engine_on(model(), vocab_only=True)
    assert engine.plan(requests) == engine_on(model()).plan(requests)
    assert engine.info().ctx is None
    with pytest.raises(EngineError, match="tokenizer only"):
        engine.generate(requests[0])


def test_closing_twice_is_harmless_and_ends_the_engine(engine_on: Open, model: Model) -> None:
    engine = engine_on(model())
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.generate(ask("x"))


def test_the_identity_is_what_was_set_and_loaded(engine_on: Open, model: Model) -> None:
    path = model("window", trained_ctx=1024)
    info = engine_on(path, ctx=1500, kv_type="q8_0", template_args=(("think", False),)).info()
    assert info.ctx == 1536
    assert info.identity["build"] == engine_on(path).info().identity["build"]
    assert {key: info.identity[key] for key in ("kv_type", "threads", "template_args", "speculative")} == {
        "kv_type": "q8_0",
        "threads": 1,
        "template_args": {"think": False},
        "speculative": "none",
    }
    assert info.identity["beyond_trained_context"] is True
    assert engine_on(path, ctx=1024).info().identity["beyond_trained_context"] is False


def test_the_identity_follows_the_template(engine_on: Open, model: Model) -> None:
    own, given = engine_on(model()).info(), engine_on(model(), chat_template=CHATML + "x").info()
    assert own.identity["template_sha256"] != given.identity["template_sha256"]
    assert replace(own, identity={}, details={}).prefix == "<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("kind", "recurrent", "hybrid", "window"),
    [
        ("attention", False, False, 0),
        ("window", False, False, 32),
        ("hybrid", False, True, 0),
        ("recurrent", True, False, 0),
    ],
)
def test_the_details_say_how_a_model_remembers(
    kind: str, recurrent: bool, hybrid: bool, window: int, engine_on: Open, model: Model
) -> None:
    details = engine_on(model(kind)).info().details
    assert (details["recurrent"], details["hybrid"]) == (recurrent, hybrid)
    assert details["sliding_window_tokens"] == window
    assert details["sequences"] == (2 if recurrent or hybrid else 1)
    assert (details["decode_threads"], details["prefill_threads"]) == (1, 1)


def test_layers_asked_for_a_gpu_and_not_put_there_are_visible(engine_on: Open, model: Model) -> None:
    details = engine_on(model(), gpu_layers=2).info().details
    if details["supports_gpu_offload"]:
        pytest.skip("this build has a GPU")
    assert (details["asked_gpu_layers"], details["offloaded_layers"]) == (2, 0)


@pytest.mark.parametrize("flash_attn", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_memory_works_with_and_without_flash_attention(
    kind: str, flash_attn: bool, engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(kind), flash_attn=flash_attn)
    requests = trajectory(True)
    for request, turn in zip(requests, engine.plan(requests), strict=True):
        assert engine.generate(request, turn.keep).reused_tokens == turn.possible_forced


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speculative": "eagle"}, "--speculative eagle: expected one of none, prompt-lookup"),
        ({"special_in_content": "x"}, "--special-in-content x: expected one of text, parse"),
        ({"reuse": "x"}, "--reuse x: expected one of any, canonical"),
        ({"kv_type": "q2"}, "--kv-type q2: expected one of f16, q8_0, q4_0"),
        ({"kv_type": "q8_0", "flash_attn": False}, "--kv-type q8_0 needs flash attention"),
        ({"template_args": (("tools", 1),)}, "--template-arg tools"),
        ({"chat_template": "{% if %}"}, "does not compile"),
    ],
)
def test_settings_that_no_engine_has_are_bad_input(
    changes: dict[str, Any], message: str, engine_on: Open, model: Model
) -> None:
    with pytest.raises(InputError, match=message):
        engine_on(model(), **changes)


def test_a_model_without_a_template_is_bad_input_unless_one_is_given(engine_on: Open, model: Model) -> None:
    path = model(template=None)
    with pytest.raises(InputError, match=r"holds no chat template.*--chat-template FILE"):
        engine_on(path)
    assert engine_on(path, chat_template=CHATML).generate(ask("x")).output_tokens


def test_a_conversation_the_template_refuses_is_bad_input_and_the_engine_goes_on(
    engine_on: Open, model: Model
) -> None:
    engine = engine_on(
        model(template=CHATML + "{{ raise_exception('No x!') if messages[0].content == 'x' }}")
    )
    with pytest.raises(InputError, match="No x!"):
        engine.generate(ask("x"))
    assert engine.generate(ask("y")).output_tokens


QUIET = """
import sys
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from bfcl_gate.errors import EdgeAgenticError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine import LlamaEngine
for path in sys.argv[1:]:
    try:
        engine = LlamaEngine(EngineSettings(model_path=Path(path), model_sha256="", ctx=256), RawArray("B", 2))
        engine.generate(ChatRequest(messages=({"role": "user", "content": "x"},), max_tokens=5))
        engine.close()
    except EdgeAgenticError:
        pass
"""


def test_llama_cpp_logs_nothing_to_the_terminal(model: Model, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(model().read_bytes()[:-1000])
    done = subprocess.run(
        [sys.executable, "-c", QUIET, model(), damaged, tmp_path / "absent.gguf"],
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_context_beyond_all_memory_is_refused_before_llama_cpp_tries(engine_on: Open, model: Model) -> None:
    with pytest.raises(EngineError, match=r"context of 4000000000 tokens cannot be held.*Lower --ctx"):
        engine_on(model(), ctx=4_000_000_000)


def test_a_context_that_llama_cpp_cannot_allocate_is_an_engine_error(engine_on: Open, model: Model) -> None:
    overcommit = Path("/proc/sys/vm/overcommit_memory")
    if not overcommit.exists() or overcommit.read_text().strip() == "1":
        pytest.skip("this system promises memory that it does not have")
    with pytest.raises(EngineError, match=r"context of 4194304 tokens.*lower --ctx or --kv-type"):
        engine_on(model("wide"), ctx=1 << 22)
