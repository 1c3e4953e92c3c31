#!/usr/bin/env python3
"""What drafts from the prompt save and cost: decode times of the same turns with and without them, forced and natural.

    scripts/bench/speculation.py                  8 turns whose answers copy and 8 others, 5 pairs: about 10 minutes

An answer copies where a third of what it says (content and argument values, not the framing of calls) stands in its
prompt in stretches of 40 characters or more. One engine holds one memory, and for the plain side its drafts are
switched off: a turn is prefilled once, then its recorded answer is decoded with and without drafts in turns, the order
changing from pair to pair. A pair's ratio is the sum of decode times (first to last token) of all turns with drafts
over that without; medians and ranges are over the pairs. Natural: the model's own greedy answers, counted where they
differ.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.sharedctypes import RawArray
from statistics import median
from typing import Any

from bfcl_gate.cli.engine import EngineOptions, local_settings, needed_ctx
from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.llama_engine import LlamaEngine
from edge_agentic.replay import ReplayOptions, requests_of, select_turns
from edge_agentic.trace import find_trace, load_trajectories

STRETCH = 40  # characters
COPIES = 1 / 3  # share of an answer from which it counts as copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A turn to be asked: its name, its request, and the share of its answer that stands in its prompt."""

    name: str
    request: ChatRequest
    copied: float


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text inside a message's fields, arguments of calls decoded."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_of(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from texts_of(inner)


def said(message: Message) -> str:
    """Return what a message says: content, reasoning and the values of its calls' arguments."""
    calls = message.get("tool_calls") or ()
    parts = [message.get("reasoning_content"), message.get("content")]
    return "\n".join(texts_of([*parts, *(call["function"]["arguments"] for call in calls)]))


def copied_share(answer: str, context: str) -> float:
    """Return the share of an answer's characters in stretches of STRETCH or more that stand in the context."""
    place = copied = 0
    while place + STRETCH <= len(answer):
        length = STRETCH if answer[place : place + STRETCH] in context else 0
        while length and place + length < len(answer) and answer[place : place + length + 1] in context:
            length += 1
        copied += length
        place += length or 1
    return copied / max(1, len(answer))


def asked_turns(trace: str, longest_prompt: int, longest_answer: int) -> list[Asked]:
    """Return the turns of a trace whose prompt and answer say at most so many characters, the answer at least 80."""
    options = ReplayOptions(decode="forced")
    found = []
    for turns in select_turns(load_trajectories(find_trace(trace)), options):
        for turn, request in zip(turns, requests_of(turns, options), strict=True):
            context = "\n".join(said(message) for message in request.messages)
            answer = said(request.recorded or {})
            if 80 <= len(answer) <= longest_answer and len(context) <= longest_prompt:
                name = f"{turn.trajectory_id} turn {turn.number}"
                found.append(Asked(name=name, request=request, copied=copied_share(answer, context)))
    return found


def spread(turns: Sequence[Asked], count: int) -> list[Asked]:
    """Return `count` of them, at equal distances through the whole list."""
    count = min(count, len(turns))
    return [turns[i * len(turns) // count] for i in range(count)]


def decode_ns(response: TimedResponse) -> int:
    return response.token_ns[-1] - response.token_ns[0]


class Pairs:
    """An engine that answers each turn twice, with and without drafts."""

    def __init__(self, model: str | None, turns: Sequence[Asked], limit: int) -> None:
        settings = replace(local_settings(EngineOptions(model=model)), speculative="prompt-lookup")
        planner = LlamaEngine(replace(settings, ctx=256, vocab_only=True), RawArray("B", 2))
        ctx = needed_ctx(planner, [[replace(turn.request, max_tokens=limit)] for turn in turns])
        planner.close()
        self._engine = LlamaEngine(replace(settings, ctx=ctx), RawArray("B", 2))
        self._drafts = self._engine._speculation

    def warm_up(self, request: ChatRequest) -> int:
        """Evaluate a prompt and return the place from which it can be asked again."""
        keep = self._engine.plan([request])[0].prompt_tokens - 1
        self._engine.generate(request, keep)
        return keep

    def ask(self, request: ChatRequest, keep: int, swapped: bool) -> tuple[TimedResponse, TimedResponse]:
        """Return the answer without and with drafts, `swapped` asked in the other order."""
        first = self._answer(request, keep, drafts=swapped)
        second = self._answer(request, keep, drafts=not swapped)
        return (second, first) if swapped else (first, second)

    def _answer(self, request: ChatRequest, keep: int, *, drafts: bool) -> TimedResponse:
        self._engine._speculation = self._drafts if drafts else None
        return self._engine.generate(request, keep)

    def close(self) -> None:
        self._engine.close()


def measure(
    pairs: Pairs, turns: Sequence[Asked], count: int
) -> list[list[tuple[TimedResponse, TimedResponse]]]:
    """Return for each turn its answers, one (plain, drafting) a pair."""
    answers = []
    for number, turn in enumerate(turns):
        keep = pairs.warm_up(turn.request)
        answers.append([pairs.ask(turn.request, keep, swapped=(i + number) % 2 == 1) for i in range(count)])
        ratio = median(decode_ns(b) / max(1, decode_ns(a)) for a, b in answers[-1])
        print(f"  {turn.name}: copied {turn.copied:.0%}, decode time x {ratio:.3f}", file=sys.stderr)
    return answers


def report(title: str, goal: float, answers: Sequence[Sequence[tuple[TimedResponse, TimedResponse]]]) -> None:
    if not answers:
        print(f"{title}: no such turn")
        return
    by_pair = list(zip(*answers, strict=True))
    ratios = [sum(decode_ns(b) for _, b in pair) / sum(decode_ns(a) for a, _ in pair) for pair in by_pair]
    first = [pair[0] for pair in answers]
    tokens = sum(a.output_tokens or 0 for a, _ in first)
    steps, passes = tokens - len(first), sum(b.passes or 0 for _, b in first)
    drafted, accepted = (sum(getattr(b, f"{n}_tokens") for _, b in first) for n in ("drafted", "accepted"))
    step_ms = median(sum(decode_ns(a) for a, _ in pair) / steps / 1e6 for pair in by_pair)
    agreed = sum(abs((a.agreed_tokens or 0) - (b.agreed_tokens or 0)) for a, b in first)
    print(
        f"{title}: decode time x {median(ratios):.3f} (range {min(ratios):.3f} to {max(ratios):.3f}, goal {goal}), "
        f"{len(ratios)} pairs of {len(first)} turns, {tokens} tokens, {step_ms:.1f} ms a plain step"
    )
    print(
        f"  {steps / max(1, passes):.2f} tokens a pass, {accepted} of {drafted} drafted tokens accepted; "
        f"the likeliest token agrees with the recording in {agreed} steps more or fewer"
    )
    for part in ("framing", "argument", "free_text"):
        all_of, hits = (sum(getattr(b, f"{part}_{n}") for _, b in first) for n in ("tokens", "accepted"))
        print(f"  {part.replace('_', ' ')}: {hits} of {all_of} tokens from drafts")


def compare_natural(pairs: Pairs, turns: Sequence[Asked], limit: int) -> None:
    """Print in how many turns the two engines' own greedy answers differ."""
    same = equal = total = 0
    for turn in turns:
        request = replace(turn.request, forced=False, max_tokens=limit)
        plain, drafting = pairs.ask(request, pairs.warm_up(request), swapped=False)
        length = min(len(plain.token_ids), len(drafting.token_ids))
        agree = next((i for i in range(length) if plain.token_ids[i] != drafting.token_ids[i]), length)
        same += plain.token_ids == drafting.token_ids
        equal, total = equal + agree, total + len(plain.token_ids)
    print(
        f"natural, at most {limit} tokens: {same} of {len(turns)} answers equal; {equal} of {total} tokens come before "
        "the first difference"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="catalogue name or file (default: the embedded model)")
    parser.add_argument("--traces", default="edge-coding", help="bundled trace or file")
    parser.add_argument("--turns", type=int, default=8, help="turns of each kind")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--natural-tokens", type=int, default=64, help="longest natural answer, 0 for none")
    parser.add_argument("--longest-prompt", type=int, default=18_000, help="characters")
    parser.add_argument("--longest-answer", type=int, default=1_200, help="characters")
    given = parser.parse_args()
    turns = asked_turns(given.traces, given.longest_prompt, given.longest_answer)
    copying = spread([turn for turn in turns if turn.copied >= COPIES], given.turns)
    others = spread([turn for turn in turns if turn.copied < COPIES], given.turns)
    print(f"{len(turns)} turns, {sum(turn.copied >= COPIES for turn in turns)} of them copy")
    pairs = Pairs(given.model, [*copying, *others], max(1, given.natural_tokens))
    try:
        for title, goal, chosen in (("answers that copy", 0.92, copying), ("other answers", 1.02, others)):
            report(title, goal, measure(pairs, chosen, given.pairs))
        if given.natural_tokens:
            compare_natural(pairs, [*copying, *others], given.natural_tokens)
    finally:
        pairs.close()


if __name__ == "__main__":
    main()
