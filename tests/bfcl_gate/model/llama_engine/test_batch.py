"""Answers decoded together are those decoded alone, whatever is under way beside them."""

from array import array
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tiny_gguf import END, KINDS, MORE_STATES

from bfcl_gate.errors import ContextOverflowError, EngineError, InputError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.llama_engine import Cancelled, LlamaEngine, batch_decoder
from bfcl_gate.model.llama_engine.batch_decoder import Question, room_for

Open = Callable[..., LlamaEngine]
Model = Callable[..., Path]
STATES = ("hybrid", "recurrent", *MORE_STATES)


def request(text: str, max_tokens: int = 30) -> ChatRequest:
    return ChatRequest(messages=({"role": "user", "content": text},), max_tokens=max_tokens)


def requests(count: int, seed: int = 0) -> list[ChatRequest]:
    """Requests of 30 to 700 tokens; every third begins like the one before."""
    random = Random(seed)
    texts: list[str] = []
    for place in range(count):
        begin = texts[-1][: random.randrange(20, 200)] if place % 3 == 2 else ""
        words = (str(random.randrange(10**6)) for _ in range(random.choice([1, 10, 100])))
        texts.append(begin + " ".join(words))
    return [request(text, random.choice([1, 5, 30, 60])) for text in texts]


def together(engine: LlamaEngine, asked: list[ChatRequest], at_once: int, share: bool) -> list[TimedResponse]:
    found = dict(engine.generate_many(asked, at_once, share))
    assert sorted(found) == list(range(len(asked)))
    return [found[place] for place in range(len(asked))]


CLOSE = 0.1
"""Logits of the same tokens in other chunks differ by less than this (f16 keys and values), of other tokens by more."""


def doubt(engine: LlamaEngine, asked: ChatRequest, response: TimedResponse) -> float:
    """Return how far an answer's tokens stay below the largest logits that the engine computes for it alone.

    0 for the answer it gives itself. The answer must also be whole: ended by an end token or by its limit.
    """
    decoder, prompt = engine._decoder, engine.prompt(asked).tokens
    assert decoder is not None
    assert len(prompt) == response.input_tokens
    assert (response.token_ids[-1] == END) == (response.finish_reason == "stop")
    assert END not in response.token_ids[:-1]
    assert response.finish_reason == "stop" or response.output_tokens == asked.max_tokens
    engine.forget()
    decoder.prefill(prompt, 0, 0)
    below = []
    for place, token in enumerate(response.token_ids):
        logits = decoder.logits()
        below.append(float(logits.max() - logits[token]))
        decoder.step(token, len(prompt) + place)
    engine.forget()
    return max(below)


def doubts(engine: LlamaEngine, asked: list[ChatRequest], found: list[TimedResponse]) -> list[float]:
    return [doubt(engine, *pair) for pair in zip(asked, found, strict=True)]


WAYS = [(kind, *way) for kind in KINDS for way in ((1, True), (3, False), (8, True))]


@pytest.mark.parametrize(("kind", "at_once", "share"), [*WAYS, *((kind, 8, True) for kind in MORE_STATES)])
def test_answers_together_are_those_alone(
    kind: str, at_once: int, share: bool, engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(kind))
    asked = requests(12)
    found = together(engine, asked, at_once, share)
    assert max(doubts(engine, asked, found)) < CLOSE
    assert sum(one.reused_tokens or 0 for one in found) > 0 or not share


def test_the_answer_to_another_prompt_is_in_doubt(engine_on: Open, model: Model) -> None:
    engine = engine_on(model(answers="endless"))
    asked, other = request("Count: 1 2 3"), request("Count: 1 2 4")
    (found,) = together(engine, [asked], 1, False)
    assert doubt(engine, asked, found) == 0
    assert doubt(engine, other, found) > CLOSE


@pytest.mark.parametrize("kind", ["attention", "window"])
def test_a_prompt_begins_with_all_that_it_shares_with_the_one_before(
    kind: str, engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(kind))
    asked = requests(12)
    possible = [turn.possible_natural for turn in engine.plan(asked)]
    assert max(possible) > 100
    assert [one.reused_tokens for one in together(engine, asked, 4, True)] == possible
    assert [one.reused_tokens for one in together(engine, asked, 4, False)] == [0] * 12


@pytest.mark.parametrize("kind", STATES)
def test_a_state_is_shared_where_it_was_kept_and_begins_again_where_not(
    kind: str, engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(kind))
    base = "The same beginning. " * 4
    asked = [request(base + end) for end in ("one", "two " * 9, "three")] + [request("x"), request("y")]
    possible = [turn.possible_natural for turn in engine.plan(asked)]
    assert possible[0] < possible[3] < possible[1]
    expected = [
        *possible[:3],
        0,
        possible[4],
    ]  # the state of the third prompt lies beyond what the fourth shares
    assert [one.reused_tokens for one in together(engine, asked, 2, True)] == expected


def test_questions_are_taken_up_in_order_and_never_more_than_allowed(engine_on: Open, model: Model) -> None:
    found = together(engine_on(model(answers="endless")), requests(9), 3, False)
    begun = [one.submitted_ns for one in found]
    assert begun == sorted(begun)
    for one in found:
        beside = [o for o in found if o.submitted_ns <= one.submitted_ns < o.completed_ns]
        assert 1 <= len(beside) <= 3


def test_readings_agree(engine_on: Open, model: Model) -> None:
    for one in together(engine_on(model()), requests(12), 4, True):
        assert one.input_tokens == (one.reused_tokens or 0) + (one.evaluated_tokens or 0)
        assert len(one.token_ns) == len(one.token_ids) == one.output_tokens
        moments = [one.submitted_ns, one.rendered_ns, *one.token_ns]
        assert moments == sorted(moments)  # type: ignore[type-var]
        assert (one.first_token_ns, one.completed_ns) == (one.token_ns[0], one.token_ns[-1])
        assert one.error is None


def test_a_finished_answer_comes_before_a_longer_one_that_began_earlier(
    engine_on: Open, model: Model
) -> None:
    engine = engine_on(model(answers="endless"))
    asked = [request("a", 50), request("b", 2), request("c", 9)]
    assert [place for place, _ in engine.generate_many(asked, 3, False)] == [1, 2, 0]


def test_empty_answers_and_answers_at_their_limit(engine_on: Open, model: Model) -> None:
    (empty,) = together(engine_on(model(answers="empty")), [request("x")], 2, False)
    assert (empty.text, empty.token_ids, empty.finish_reason) == ("", (END,), "stop")
    (cut,) = together(engine_on(model(answers="endless")), [request("x", 1)], 2, False)
    assert (cut.output_tokens, cut.finish_reason) == (1, "length")


def test_nothing_asked_is_nothing_answered(engine_on: Open, model: Model) -> None:
    assert together(engine_on(model()), [], 4, True) == []


def question(prompt: int, limit: int) -> Question:
    return Question(array("i", [0] * prompt), limit)


def test_every_answer_has_room_for_the_longest_question() -> None:
    assert room_for([question(300, 1000), question(1200, 50), question(10, 40)], 2048, 4096) == 1300


def test_positions_stay_on_the_side_of_the_original_context_where_the_engine_is() -> None:
    asked = [question(300, 1000)]
    assert (room_for(asked, 1300, 4096), room_for(asked, 4096, 4096), room_for(asked, 4097, 4096)) == (
        1300,
        1300,
        4097,
    )


def test_the_first_token_is_the_one_said_alone(engine_on: Open, model: Model) -> None:
    """Prompts are evaluated in their own chunks and memory, so their logits are the same bit for bit."""
    engine = engine_on(model())
    decoder = engine._decoder
    assert decoder is not None
    asked = [request(f"{n} " * n * 40, 1) for n in range(1, 6)]
    seen: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        choose = batch_decoder.likeliest
        patch.setattr(
            batch_decoder, "likeliest", lambda logits: (seen.append(logits.tobytes()), choose(logits))[1]
        )
        together(engine, asked, 3, False)
    alone = []
    for one in asked:
        engine.forget()
        decoder.prefill(engine.prompt(one).tokens, 0, 0)
        alone.append(decoder.logits().tobytes())
    assert seen == alone


def test_what_does_not_fit_is_refused_before_anything_is_evaluated(engine_on: Open, model: Model) -> None:
    engine = engine_on(model(), ctx=256)
    with pytest.raises(ContextOverflowError, match="Raise --ctx"):
        next(engine.generate_many([request("x"), request("x" * 1000)], 2, False))
    with pytest.raises(InputError, match="--max-tokens"):
        next(engine.generate_many([request("x"), request("y", 0)], 2, False))


def test_the_cache_of_the_conversation_beside_is_not_touched(engine_on: Open, model: Model) -> None:
    engine = engine_on(model())
    first = engine.generate(request("Hello there."))
    together(engine, requests(4), 4, True)
    assert engine.generate(request("Hello there.")).reused_tokens == (first.input_tokens or 0) - 1


def test_leaving_frees_the_context_and_the_engine_goes_on(engine_on: Open, model: Model) -> None:
    engine = engine_on(model())
    answers = engine.generate_many(requests(12), 4, True)
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert len(together(engine, requests(3), 2, False)) == 3


def test_a_set_flag_stops_all_of_them(engine_on: Open, model: Model) -> None:
    engine = engine_on(model(answers="endless"))
    answers = engine.generate_many(requests(12), 4, True)
    next(answers)
    engine.cancel()
    with pytest.raises(Cancelled):
        list(answers)


def test_a_closed_engine_answers_nothing(engine_on: Open, model: Model) -> None:
    engine = engine_on(model())
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        next(engine.generate_many([request("x")], 2, False))
