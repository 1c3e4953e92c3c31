"""What a decoder computes on reused memory is what it computes on an empty one."""

from array import array
from collections.abc import Callable
from itertools import pairwise
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tiny_gguf import KINDS, LETTERS, MORE_STATES

from bfcl_gate.errors import EngineError
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine import LlamaEngine
from bfcl_gate.model.llama_engine import decoder as decoder_module
from bfcl_gate.model.llama_engine.decoder import Cancelled, Decoder, likeliest
from bfcl_gate.model.prefix import reusable

Logits = "np.ndarray[Any, np.dtype[np.float32]]"
CHUNK = 16
STATES = ("hybrid", "recurrent", *MORE_STATES)
ALL = (*KINDS, *MORE_STATES)


@pytest.fixture
def decoder_on(
    engine_on: Callable[..., LlamaEngine], model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Decoder]:
    """Return a decoder that evaluates in small chunks, so that short prompts have many of them."""
    monkeypatch.setattr(decoder_module, "N_BATCH", CHUNK)

    def decoder(kind: str, **changes: Any) -> Decoder:
        found = engine_on(model(kind), **changes)._decoder
        assert found is not None
        return found

    return decoder


def tokens(random: Random, count: int) -> "array[int]":
    return array("i", (random.randrange(len(LETTERS)) for _ in range(count)))


def evaluated(decoder: Decoder, prompt: "array[int]", ends: list[int]) -> Logits:
    """Evaluate a prompt from an empty memory in chunks with the given ends."""
    decoder.forget()
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        decoder.prefill(prompt[:end], start, 0)
    return decoder.logits().copy()


def asked(decoder: Decoder, prompt: "array[int]", mark: int) -> tuple[int, Logits]:
    """Evaluate a prompt as the engine does; return the tokens reused and the logits."""
    reused = decoder.rewind(reusable(prompt, decoder.cached))
    decoder.prefill(prompt, reused, mark)
    decoder.cached = prompt[:]
    return reused, decoder.logits().copy()


def chunk_ends(prompt: "array[int]", reused: int, mark: int, splits: bool) -> list[int]:
    """Where the chunks of one prompt end: every CHUNK tokens, at the mark where it splits, and at its end."""
    starts = [reused, mark] if splits and reused < mark < len(prompt) else [reused]
    stops = [*starts[1:], len(prompt)]
    return [
        end
        for start, stop in zip(starts, stops, strict=True)
        for end in [*range(start + CHUNK, stop, CHUNK), stop]
    ]


def history(random: Random, unit: int) -> list["array[int]"]:
    """Prompts that append to, shrink, branch off or repeat the one before, at multiples of `unit` tokens."""
    prompts = [tokens(random, unit * random.randrange(1, 160 // unit))]
    for _ in range(random.randrange(1, 6)):
        last = prompts[-1]
        kept = random.choice([len(last), len(last), unit * random.randrange(len(last) // unit + 1)])
        added = unit * random.choice([0, 1, random.randrange(1, 64 // unit)])
        prompts.append(last[:kept] + tokens(random, added) or tokens(random, unit))
    return prompts


def follow_history(
    decoder: Decoder, fresh: Decoder, prompts: list["array[int]"], splits: bool, close: float
) -> int:
    """Ask the prompts in turn; each logit must be that of an empty memory filled in the same chunks.

    Bit for bit where every reuse began at the end of a chunk (their number is returned), within `close` where
    one began inside a chunk, whose first part was then computed together with what followed it before.
    """
    decoder.forget()
    keeps = [reusable(b, a) for a, b in pairwise(prompts)]
    ends: list[int] = []
    exact, exact_steps = True, 0
    for prompt, held, mark in zip(prompts, [0, *keeps], [*keeps, 0], strict=True):
        reused, logits = asked(decoder, prompt, mark)
        assert reused == held or splits
        exact = reused == 0 or (exact and reused in ends)
        ends = [end for end in ends if end <= reused] + chunk_ends(prompt, reused, mark, splits)
        expected = evaluated(fresh, prompt, ends)
        if exact:
            exact_steps += 1
            assert np.array_equal(logits, expected)
        else:
            assert np.abs(logits - expected).max() < close
    return exact_steps


@pytest.mark.parametrize("kind", ALL)
def test_random_histories_never_give_a_wrong_logit(kind: str, decoder_on: Callable[..., Decoder]) -> None:
    decoder, fresh = decoder_on(kind), decoder_on(kind)
    splits = kind in STATES
    unit = 1 if splits else CHUNK
    exact = sum(
        follow_history(decoder, fresh, history(Random(seed), unit), splits, 0.1) for seed in range(100)
    )
    assert exact > 120


@pytest.mark.parametrize("kind", ["attention", "window"])
def test_reuse_inside_a_chunk_differs_by_rounding_only(kind: str, decoder_on: Callable[..., Decoder]) -> None:
    decoder, fresh = decoder_on(kind), decoder_on(kind)
    for seed in range(30):
        follow_history(decoder, fresh, history(Random(seed), 1), False, 0.1)


@pytest.mark.parametrize("kind", ALL)
def test_one_other_token_is_a_difference_these_tests_see(
    kind: str, decoder_on: Callable[..., Decoder]
) -> None:
    decoder = decoder_on(kind)
    prompt = tokens(Random(0), 100)
    other = prompt[:]
    other[90] = (other[90] + 1) % 256
    assert np.abs(evaluated(decoder, prompt, [100]) - evaluated(decoder, other, [100])).max() > 0.1


@pytest.mark.parametrize("kind", STATES)
def test_a_state_is_kept_exactly_at_the_mark(kind: str, decoder_on: Callable[..., Decoder]) -> None:
    decoder = decoder_on(kind)
    prompt = tokens(Random(1), 100)
    assert asked(decoder, prompt, 70)[0] == 0
    assert asked(decoder, prompt[:70] + tokens(Random(2), 30), 90)[0] == 70
    assert asked(decoder, prompt[:70] + tokens(Random(2), 30), 0)[0] == 90


@pytest.mark.parametrize("kind", STATES)
def test_a_state_returns_to_the_mark_before_a_place_without_one(
    kind: str, decoder_on: Callable[..., Decoder]
) -> None:
    decoder = decoder_on(kind)
    prompt = tokens(Random(1), 100)
    asked(decoder, prompt, 70)
    assert asked(decoder, prompt[:80] + tokens(Random(2), 20), 0)[0] == 70


@pytest.mark.parametrize("kind", STATES)
def test_a_state_without_a_mark_starts_again(kind: str, decoder_on: Callable[..., Decoder]) -> None:
    decoder = decoder_on(kind)
    prompt = tokens(Random(1), 100)
    asked(decoder, prompt, 70)
    assert asked(decoder, prompt[:60] + tokens(Random(2), 40), 0)[0] == 0
    assert asked(decoder, prompt[:70] + tokens(Random(3), 10), 0)[0] == 0


@pytest.mark.parametrize("kind", ALL)
def test_a_mark_inside_a_forced_answer_is_where_the_next_prompt_continues(
    kind: str, decoder_on: Callable[..., Decoder]
) -> None:
    decoder, fresh = decoder_on(kind), decoder_on(kind)
    prompt, answer = tokens(Random(1), 50), tokens(Random(2), 20)
    decoder.prefill(prompt, 0, 60)
    decoder.follow(50, answer, 60)
    decoder.cached = prompt + answer[:-1]
    following = (prompt + answer)[:60] + tokens(Random(3), 30)
    reused, logits = asked(decoder, following, 0)
    assert reused == 60
    assert np.array_equal(logits, evaluated(fresh, following, [*range(CHUNK, 50, CHUNK), *range(50, 61), 90]))


@pytest.mark.parametrize("kind", ALL)
def test_what_is_evaluated_to_its_end_continues_without_a_mark(
    kind: str, decoder_on: Callable[..., Decoder]
) -> None:
    decoder = decoder_on(kind)
    prompt, answer = tokens(Random(1), 50), tokens(Random(2), 20)
    decoder.prefill(prompt, 0, 0)
    decoder.follow(50, answer, 0)
    decoder.cached = prompt + answer[:-1]
    assert asked(decoder, prompt + answer + tokens(Random(3), 5), 0)[0] == 69


def test_forced_steps_agree_where_the_argmax_was_the_recorded_token(
    decoder_on: Callable[..., Decoder],
) -> None:
    decoder = decoder_on("attention")
    prompt = tokens(Random(4), 40)
    decoder.prefill(prompt, 0, 0)
    spoken = decoder.speak(40, 12, lambda token: False)
    decoder.forget()
    decoder.prefill(prompt, 0, 0)
    followed = decoder.follow(40, spoken.tokens, 0)
    assert (followed.tokens, followed.agreed) == (spoken.tokens, 12)
    other = spoken.tokens[:]
    other[-1] = 0
    decoder.forget()
    decoder.prefill(prompt, 0, 0)
    assert decoder.follow(40, other, 0).agreed == 11


def test_the_lowest_token_wins_a_tie() -> None:
    assert likeliest(np.array([0, 7, 7, 1], dtype=np.float32)) == 1


def test_logits_that_are_no_numbers_are_an_engine_error() -> None:
    with pytest.raises(EngineError, match="no numbers"):
        likeliest(np.array([0, np.nan, 7], dtype=np.float32))


def test_without_an_evaluation_there_are_no_logits(decoder_on: Callable[..., Decoder]) -> None:
    with pytest.raises(EngineError, match="no logits"):
        decoder_on("attention").logits()


def test_a_set_flag_stops_a_batch_and_the_emptied_memory_is_right_again(
    model: Callable[..., Path], settings_of: Callable[..., EngineSettings]
) -> None:
    stop = RawArray("B", 2)
    engine = LlamaEngine(settings_of(model("hybrid")), stop)
    decoder = engine._decoder
    assert decoder is not None
    prompt = tokens(Random(5), 200)
    expected = asked(decoder, prompt, 0)[1]
    stop[0] = 1
    with pytest.raises(Cancelled):
        decoder.prefill(prompt + prompt, 200, 0)
    stop[0] = 0
    decoder.forget()
    assert np.array_equal(asked(decoder, prompt, 0)[1], expected)
    engine.close()


def test_what_cannot_be_interrupted_stops_between_batches(decoder_on: Callable[..., Decoder]) -> None:
    decoder = decoder_on("attention")
    decoder._stop = (1, 0)  # not the flag that llama.cpp asks, so the batch itself runs to its end
    with pytest.raises(Cancelled):
        decoder.prefill(tokens(Random(6), 3 * CHUNK), 0, 0)
    assert decoder.rewind(CHUNK) == CHUNK
