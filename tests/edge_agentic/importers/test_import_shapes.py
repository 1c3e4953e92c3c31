"""Traces of lengths: texts as long as recorded to the token, that begin alike as far as recorded."""

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from importing import SYNTHESIS, bare, run, write_lines

from bfcl_gate.errors import InputError
from bfcl_gate.model.catalog import DEFAULT
from bfcl_gate.model.chat import ChatRequest
from edge_agentic.importers.convert import import_trace
from edge_agentic.importers.normal import Notes
from edge_agentic.importers.rows import Limits
from edge_agentic.importers.shape_rounds import Round, block_runs, chats_of
from edge_agentic.importers.shape_text import measure_layout, sessions_of
from edge_agentic.importers.trajectories import Options
from edge_agentic.trace import load_trajectories


def row(length: int, output: int, *ids: int, **fields: Any) -> dict[str, Any]:
    return {"timestamp": 0, "input_length": length, "output_length": output, "hash_ids": ids, **fields}


def imported(source: Path, **fields: Any) -> Any:
    output = source.with_name("out.jsonl")
    synthesis = replace(SYNTHESIS, **fields)
    return import_trace(source, output, Options(limits=Limits()), synthesis=synthesis, force=True)


def planned(path: Path) -> dict[str, list[tuple[int, int | None]]]:
    """Return prompt and answer tokens of each turn, counted once more from the file."""
    return {
        each.id: [
            (turn.prompt_tokens, turn.answer_tokens)
            for turn in SYNTHESIS.plan([turn.request() for turn in each.turns]) or ()
        ]
        for each in load_trajectories(path)
    }


def test_prompts_and_replies_are_as_long_as_recorded(tmp_path: Path) -> None:
    source = write_lines(
        tmp_path / "m.jsonl",
        row(1200, 50, 0, 1, 2),
        row(1400, 7, 0, 1, 3),  # extends the first one: its full blocks, and more
        row(900, 5, 0, 4),
    )
    report = imported(source)
    assert planned(source.with_name("out.jsonl")) == {"m.1": [(1200, 50), (1400, 7)], "m.2": [(900, 5)]}
    assert any("3 of 3 prompts and 3 of 3 replies are exactly" in text for text in report.remarks)
    rows, _ = run(source)
    assert [each.get("max_new_tokens") for each in rows if each["role"] == "user"] == [50, 7, 5]
    assert [each["recorded_input_tokens"] for each in rows if each["role"] == "assistant"] == [
        1200,
        1400,
        900,
    ]


def tokens_of(turn: Any) -> list[str]:
    """Return the words of a prompt as the scripted engine counts them: one each."""
    words = ["[]"]
    for message in turn.messages:
        words += [f"{message['role']}:", *str(message["content"]).split(), "<end>"]
    return [*words, "assistant:"]


def common(one: list[str], other: list[str]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def test_prompts_begin_alike_for_as_many_blocks_as_recorded(tmp_path: Path) -> None:
    source = write_lines(
        tmp_path / "m.jsonl",
        row(1600, 5, 0, 1, 2, 3),
        row(1700, 5, 0, 1, 7, 8),
        row(1700, 5, 0, 9, 7, 8),
        row(600, 5, 20, 21),
    )
    imported(source)
    prompts = [tokens_of(each.turns[0]) for each in load_trajectories(source.with_name("out.jsonl"))]
    assert [len(prompt) for prompt in prompts] == [1600, 1700, 1700, 600]
    shared = [common(one, other) for one, other in ((prompts[0], prompts[1]), (prompts[0], prompts[2]))]
    # Words repeat, so a few more may agree by chance behind the recorded beginning.
    assert [
        512 * blocks <= tokens < 512 * blocks + 8 for blocks, tokens in zip((2, 1), shared, strict=True)
    ] == [
        True,
        True,
    ]
    # The same block behind another one is another text: what a cache holds is a beginning.
    assert common(prompts[0], prompts[3]) < 16


def test_one_seed_gives_one_text_and_another_another(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "m.jsonl", row(700, 5, 0, 1))
    first = imported(source).sha256
    texts = []
    for seed in (0, 0, 1):
        imported(source, seed=seed)
        texts.append(load_trajectories(source.with_name("out.jsonl"))[0].turns[0].messages[0]["content"])
    assert first
    assert texts[0] == texts[1] != texts[2]


def test_the_metadata_says_that_the_text_is_synthetic(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "m.jsonl", row(700, 5, 0, 1))
    imported(source, seed=7)
    head = source.with_name("out.jsonl").read_text("utf-8").splitlines()[0]
    assert '"text": "synthetic, made from seed 7 for the tokenizer and template of scripted"' in head


def test_a_reply_longer_than_the_growth_of_the_prompt_is_cut_and_counted(tmp_path: Path) -> None:
    session = {"session_id": "s"}
    source = write_lines(tmp_path / "m.jsonl", row(600, 90, 0, 1, **session), row(640, 5, 0, 2, **session))
    report = imported(source)
    ((first, second),) = planned(source.with_name("out.jsonl")).values()
    assert (first[0], second) == (600, (640, 5))
    assert first[1] < 90
    assert any(text.startswith("Replies cut short: 1, by ") for text in report.remarks)


def test_a_prompt_that_shrinks_begins_a_linked_trajectory_with_the_same_beginning(tmp_path: Path) -> None:
    session = {"session_id": "s"}
    source = write_lines(
        tmp_path / "m.jsonl",
        row(1600, 5, 0, 1, 2, 3, **session),
        row(1100, 5, 0, 1, 9, **session, delay=2500),
        row(1400, 5, 0, 1, 10, **session, delay=2500),
    )
    rows, report = run(source)
    found = bare(rows)
    assert {name: head[0].get("parent_conversation_id") for name, head in found.items()} == {
        "s": None,
        "s.r2": "s",
    }
    assert [row.get("delay_seconds") for row in found["s.r2"]] == [None, None, 2.5, None]
    first, second = (tokens_of(each.turns[0]) for each in load_trajectories(tmp_path / "imported.trace"))
    assert 1024 <= common(first, second) < 1032
    assert report.splits == {"history_rewrite": 1}


def test_a_common_system_prompt_does_not_join_strangers(tmp_path: Path) -> None:
    # The second one is all system prompt and a little more; the others begin with it and are no answer to it.
    source = write_lines(
        tmp_path / "m.jsonl",
        row(1500, 5, 0, 1, 2),
        row(600, 5, 0, 9),
        row(1500, 5, 0, 4, 5),
        row(1500, 5, 0, 6, 7),
    )
    assert imported(source).counts["trajectories"] == 4


def test_what_is_too_long_for_the_user_is_left_out(tmp_path: Path) -> None:
    session = {"session_id": "s"}
    source = write_lines(
        tmp_path / "m.jsonl",
        row(600, 5, 0, 1, **session),
        row(700, 5, 0, 2, **session),
        row(900, 5, 0, 3, **session),
        row(5000, 5, *range(50, 60)),
    )
    report = imported(source, longest=700)
    assert report.counts["turns"] == 2
    assert any(text.startswith("Requests left out: 2 of 4;") for text in report.remarks)
    with pytest.raises(InputError, match="at most"):
        imported(write_lines(tmp_path / "huge.jsonl", row(10**9, 5)))


def test_without_a_model_they_are_refused_with_the_cure(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "m.jsonl", row(600, 5, 0, 1))
    with pytest.raises(InputError, match="--model NAME"):
        import_trace(source, tmp_path / "out.jsonl", Options(limits=Limits()))
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.model
def test_the_command_makes_text_for_the_default_model(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "m.jsonl", row(600, 25, 0, 1), row(900, 7, 0, 2))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "edge_agentic", "traces", "import", str(source), "--model", DEFAULT),
            *("--output", str(tmp_path / "out.jsonl")),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0
    counted = (
        f"Counted by the template and tokenizer of {DEFAULT}: 2 of 2 prompts and 2 of 2 replies are exactly"
    )
    assert counted in done.stdout


def test_a_tokenizer_that_splits_every_word_is_refused(tmp_path: Path) -> None:
    def spelt(requests: Any) -> Any:
        return SYNTHESIS.plan(
            [
                ChatRequest(
                    messages=tuple({**m, "content": " ".join(m["content"])} for m in request.messages),
                    recorded=request.recorded,
                )
                for request in requests
            ]
        )

    source = write_lines(tmp_path / "m.jsonl", row(600, 5, 0, 1))
    with pytest.raises(InputError, match="common words as one token"):
        imported(source, plan=spelt)


LAYOUT = measure_layout(SYNTHESIS)
GROWTH = st.lists(st.tuples(st.integers(1, 900), st.integers(1, 300)), min_size=1, max_size=6)


@settings(max_examples=40)
@given(GROWTH, st.integers(0, 3))
def test_any_session_of_lengths_is_exact_but_for_what_is_counted(growth: Any, seed: int) -> None:
    size, rounds = 0, []
    for number, (more, output) in enumerate(growth):
        size += more
        runs, solid = block_runs(range(number * 100, number * 100 + 40), 64, size, f"rest {number}")
        rounds.append(Round(runs=runs, solid=solid, output_tokens=output, group="s"))
    chats = chats_of(rounds, "x", LAYOUT.first + 1, LAYOUT.least, Notes())
    assert [each for chat in chats for each in chat.rounds] == rounds  # unlike blocks: each begins a chat
    (one,) = chats_of(rounds[:1], "x", LAYOUT.first + 1, LAYOUT.least, Notes())
    (session,) = sessions_of([one], LAYOUT, seed, Notes())
    user, reply = session.items
    assert len(user.text.split()) == max(1, rounds[0].input_tokens - LAYOUT.first)
    assert len(reply.text.split()) == max(1, rounds[0].output_tokens - LAYOUT.end)


@settings(max_examples=40)
@given(GROWTH)
def test_any_growing_session_is_one_chat_of_exact_prompts(growth: Any) -> None:
    runs: tuple[tuple[str, int], ...] = ()
    rounds = []
    for number, (more, output) in enumerate(growth):
        runs = (*runs, (f"round {number}", more + LAYOUT.first + LAYOUT.least))
        solid = sum(tokens for _, tokens in runs)
        rounds.append(Round(runs=runs, solid=solid, output_tokens=output, group="s"))
    (chat,) = chats_of(rounds, "x", LAYOUT.first + 1, LAYOUT.least, Notes())
    (session,) = sessions_of([chat], LAYOUT, 0, Notes())
    messages: list[dict[str, str]] = []
    requests = []
    for user, reply in zip(session.items[::2], session.items[1::2], strict=True):
        messages.append({"role": "user", "content": user.text})
        said = {"role": "assistant", "content": reply.text}
        requests.append(ChatRequest(messages=tuple(messages), recorded=said))
        messages.append(said)
    counted = SYNTHESIS.plan(requests) or ()
    assert [turn.prompt_tokens for turn in counted] == [each.input_tokens for each in rounds]
    for (before, after), turn in zip(pairwise(rounds), counted, strict=False):
        room = after.input_tokens - before.input_tokens
        assert (
            turn.answer_tokens == max(2, before.output_tokens) or room <= before.output_tokens + LAYOUT.least
        )
