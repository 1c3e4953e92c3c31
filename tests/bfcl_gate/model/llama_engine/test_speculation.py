"""Drafts change how many tokens a pass takes, and nothing else: not the answer, not what is left in the memory."""

from array import array
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tiny_gguf import END, KINDS

from bfcl_gate.cli.engine import EngineOptions, local_settings
from bfcl_gate.download import local_model
from bfcl_gate.model import llama_engine
from bfcl_gate.model.catalog import DEFAULT, find
from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.llama_engine import LlamaEngine
from bfcl_gate.model.llama_engine.decoder import Decoder
from bfcl_gate.model.llama_engine.drafting import LONGEST_DRAFT
from bfcl_gate.model.llama_engine.speculation import Answer, Speculation

Open = Callable[..., LlamaEngine]
Model = Callable[..., Path]
CHEAP = {1: 1.0, LONGEST_DRAFT + 1: 1.01}


def said(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def digits(random: Random, count: int) -> str:
    return "".join(random.choice("0123456789") for _ in range(count))


def copied(random: Random, source: str) -> str:
    """A text of pieces of another one with some digits between them."""
    pieces = []
    for _ in range(random.randrange(1, 4)):
        begin = random.randrange(len(source))
        pieces += [source[begin : begin + random.randrange(5, 60)], digits(random, random.randrange(3))]
    return "".join(pieces)


def trajectory(random: Random, *, forced: bool) -> list[ChatRequest]:
    """One to four turns that say digits, with recorded answers that partly copy what was said."""
    messages: list[Message] = []
    requests = []
    for _ in range(random.randrange(1, 5)):
        messages.append(said("user", digits(random, random.randrange(1, 90))))
        answer = said("assistant", copied(random, "".join(m["content"] for m in messages)))
        requests.append(ChatRequest(messages=tuple(messages), max_tokens=40, recorded=answer, forced=forced))
        messages.append(answer)
    return requests


def played(engine: LlamaEngine, requests: list[ChatRequest]) -> list[TimedResponse]:
    engine.forget()
    plan = engine.plan(requests)
    return [engine.generate(request, turn.keep) for request, turn in zip(requests, plan, strict=True)]


def work_of(response: TimedResponse) -> tuple[Any, ...]:
    """What must not depend on drafts."""
    return (
        response.token_ids,
        response.text,
        response.finish_reason,
        response.agreed_tokens,
        response.input_tokens,
        response.held_tokens,
        response.reused_tokens,
        response.evaluated_tokens,
    )


def readings_agree(response: TimedResponse) -> None:
    assert None not in (response.passes, response.drafted_tokens, response.accepted_tokens)
    passes, drafted, accepted = (
        response.passes or 0,
        response.drafted_tokens or 0,
        response.accepted_tokens or 0,
    )
    assert response.output_tokens == len(response.token_ns) == 1 + passes + accepted
    assert accepted <= drafted <= passes * LONGEST_DRAFT
    assert len(set(response.token_ns)) == 1 + passes  # tokens of one pass share one timestamp
    moments = [response.submitted_ns, response.rendered_ns or 0, *response.token_ns, response.completed_ns]
    assert moments == sorted(moments)
    parts = ("framing", "argument", "free_text")
    assert sum(getattr(response, f"{part}_tokens") for part in parts) == response.output_tokens
    assert sum(getattr(response, f"{part}_accepted") for part in parts) == accepted


@pytest.fixture(autouse=True)
def cheap_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let drafts cost next to nothing, so that there are many of them, good and bad."""
    monkeypatch.setattr(llama_engine, "CPU_PRICES", CHEAP)


@pytest.mark.parametrize("answers", ["digits", "endless"])
@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_are_those_of_plain_decoding(
    kind: str, forced: bool, answers: str, engine_on: Open, model: Model
) -> None:
    plain = engine_on(model(kind, answers=answers))
    drafting = engine_on(model(kind, answers=answers), speculative="prompt-lookup")
    accepted = rejected = 0
    for seed in range(20):
        requests = trajectory(Random(seed), forced=forced)
        for expected, found in zip(played(plain, requests), played(drafting, requests), strict=True):
            assert work_of(found) == work_of(expected)
            readings_agree(found)
            accepted += found.accepted_tokens or 0
            rejected += (found.drafted_tokens or 0) - (found.accepted_tokens or 0)
    assert accepted > (20 if forced or answers == "endless" else 0)
    assert rejected > 20


class Tape:
    """Records what a decoder is asked to do, in order, to do it again on another one."""

    def __init__(self, decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.rows = 0
        evaluate, step, memory = decoder.evaluate, decoder.step, decoder.memory

        def record_evaluate(tokens: "array[int]", start: int, stop: int, rows: int) -> None:
            self.done.append(("evaluate", tokens[:stop], start, stop, rows))
            self.rows += rows
            evaluate(tokens, start, stop, rows)

        def record_step(token: int, position: int) -> None:
            self.done.append(("step", token, position))
            self.rows += 1
            step(token, position)

        monkeypatch.setattr(decoder, "evaluate", record_evaluate)
        monkeypatch.setattr(decoder, "step", record_step)
        for name in ("mark", "save", "undo", "release"):
            monkeypatch.setattr(memory, name, self._recorded(name, getattr(memory, name)))

    def _recorded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def record(*arguments: Any) -> Any:
            self.done.append((name, *arguments))
            return method(*arguments)

        return record

    def play(self, decoder: Decoder, random: Random) -> None:
        """Do it again, with other tokens in the place of those that were taken back."""
        for i, (name, *arguments) in enumerate(self.done):
            if name == "evaluate":
                tokens, start, stop, rows = arguments
                undone = next((d for d in self.done[i + 1 : i + 2] if d[0] == "undo"), None)
                tokens = tokens[:]
                for place in range(undone[1] if undone else stop, stop):
                    tokens[place] = random.randrange(256)
                decoder.evaluate(tokens, start, stop, rows)
            elif name == "step":
                decoder.step(*arguments)
            else:
                getattr(decoder.memory, name)(*arguments)


def decoders(kind: str, engine_on: Open, model: Model) -> list[Decoder]:
    engines = [engine_on(model(kind), speculative="prompt-lookup") for _ in range(2)]
    return [engine._decoder for engine in engines if engine._decoder]


def tokens_of(random: Random, count: int, kinds: int = 256) -> "array[int]":
    return array("i", (random.randrange(kinds) for _ in range(count)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_taken_back_leaves_no_trace_in_the_memory(
    kind: str, engine_on: Open, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder, other = decoders(kind, engine_on, model)
    speculation = Speculation(decoder, CHEAP)
    undone = 0
    for seed in range(20):
        random = Random(seed)
        prompt = tokens_of(random, random.randrange(20, 200), 4)
        answer = tokens_of(random, random.randrange(2, 60), 4)
        mark = random.choice([0, len(prompt), random.randrange(1, len(prompt) + len(answer))])
        decoder.forget()
        speculation.follow(prompt)
        decoder.prefill(prompt, 0, mark)
        with monkeypatch.context() as patched:
            tape = Tape(decoder, patched)
            decoded = speculation.decode(Answer(len(prompt), len(answer), answer, lambda token: False, mark))
        assert decoded.drafts is not None
        assert (
            tape.rows == decoded.drafts.passes + decoded.drafts.drafted
        )  # every drafted position has its logits
        undone += sum(name == "undo" for name, *_ in tape.done)
        other.forget()
        other.prefill(prompt, 0, mark)
        tape.play(other, random)
        held = prompt + answer[:-1]
        keep = mark or len(held)
        following = held[:keep] + tokens_of(random, random.randrange(1, 40))
        for one in (decoder, other):
            assert one.rewind(keep) == keep
            one.prefill(following, keep, 0)
        assert np.array_equal(decoder.logits(), other.logits())
        other.forget()
        other.prefill(following, 0, 0)
        assert np.abs(decoder.logits() - other.logits()).max() < 0.3  # other chunks: rounding
    assert undone > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_memory_that_cannot_be_taken_back_is_filled_again_and_counted(
    kind: str, engine_on: Open, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, drafting = engine_on(model(kind)), engine_on(model(kind), speculative="prompt-lookup")
    assert drafting._decoder is not None
    memory = drafting._decoder.memory
    tries = 0

    def lose(keep: int) -> int:
        nonlocal tries
        tries += 1
        return memory.forget()

    monkeypatch.setattr(memory, "undo", lose)
    answers = repeated = 0
    for seed in range(10):
        requests = trajectory(Random(seed), forced=False)
        for expected, found in zip(played(plain, requests), played(drafting, requests), strict=True):
            assert found.token_ids == expected.token_ids
            answers += 1
            repeated += found.repeated_tokens or 0
    assert 0 < tries <= answers  # it is not tried again in the same answer
    assert repeated > tries * LONGEST_DRAFT


@pytest.mark.parametrize("kind", ["attention", "window"])
def test_rows_are_cut_where_the_draft_was_wrong_so_nothing_is_evaluated_twice(
    kind: str, engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(kind), speculative="prompt-lookup")
    for seed in range(20):
        for response in played(engine, trajectory(Random(seed), forced=True)):
            assert response.repeated_tokens == 0


@pytest.mark.parametrize("kind", KINDS)
def test_prompt_and_answer_fill_the_context_to_its_last_token(
    kind: str, engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(kind, answers="endless"), ctx=256, speculative="prompt-lookup")
    request = ChatRequest(messages=(said("user", "12345" * 20),), max_tokens=1)
    free = 256 - (engine.generate(request).input_tokens or 0)
    whole = ChatRequest(messages=request.messages, max_tokens=free)
    response = engine.generate(whole)
    assert response.output_tokens == free
    assert engine_on(model(kind, answers="endless"), ctx=256).generate(whole).token_ids == response.token_ids


def test_an_answer_of_one_token_takes_no_pass(engine_on: Open, model: Model) -> None:
    engine = engine_on(model(answers="empty"), speculative="prompt-lookup")
    response = engine.generate(ChatRequest(messages=(said("user", "x"),)))
    assert (response.token_ids, response.passes, response.drafted_tokens) == ((END,), 0, 0)


def test_without_the_option_nothing_is_said_of_drafts(engine_on: Open, model: Model) -> None:
    response = engine_on(model()).generate(ChatRequest(messages=(said("user", "x"),)))
    assert (response.passes, response.drafted_tokens, response.framing_tokens) == (None, None, None)


def test_drafts_are_part_of_the_engines_identity(engine_on: Open, model: Model) -> None:
    path = model()
    found = engine_on(path, speculative="prompt-lookup").info().identity
    plain = engine_on(path).info().identity
    assert {key for key in found if found[key] != plain[key]} == {"speculative"}


def test_a_prompt_longer_than_a_chunk_is_looked_up_as_well(engine_on: Open, model: Model) -> None:
    text = digits(Random(7), 1300)
    recorded = said("assistant", text[100:400])
    request = ChatRequest(messages=(said("user", text),), recorded=recorded, forced=True)
    response = engine_on(model(), speculative="prompt-lookup").generate(request)
    assert (response.accepted_tokens or 0) > 200
    assert response.free_text_accepted == response.accepted_tokens


LISTING = "\n".join(f"def step_{n}(value):\n    return value * {n} + offset_{n % 3}\n" for n in range(6))


@pytest.mark.model
def test_the_default_model_copies_a_text_in_fewer_passes_and_says_what_plain_decoding_likes_best() -> None:
    if local_model(find(DEFAULT)) is None:
        pytest.skip(f"the default model {DEFAULT} is not on this machine")
    settings = replace(local_settings(EngineOptions(model=DEFAULT)), ctx=1536, speculative="prompt-lookup")
    engine = LlamaEngine(settings, RawArray("B", 2))
    try:
        asked = (said("user", f"Repeat this file exactly, without any comment:\n```python\n{LISTING}```"),)
        spoken = engine.generate(ChatRequest(messages=asked, max_tokens=120))
        readings_agree(spoken)
        assert (spoken.accepted_tokens or 0) > 40
        decoder = engine._decoder
        assert decoder is not None
        prompt = engine.prompt(ChatRequest(messages=asked)).tokens
        decoder.forget()
        decoder.prefill(prompt, 0, 0)
        plain = decoder.follow(len(prompt), array("i", spoken.token_ids), 0)
        # Rows computed together differ in their last bits: where two tokens are nearly as likely either may come.
        assert plain.agreed >= 0.95 * len(spoken.token_ids)
        recorded = ChatRequest(messages=asked, recorded=said("assistant", spoken.text or ""), forced=True)
        again = engine.generate(recorded)
        readings_agree(again)
        assert (again.accepted_tokens or 0) > 40
    finally:
        engine.close()
