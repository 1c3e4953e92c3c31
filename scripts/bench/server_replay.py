#!/usr/bin/env python3
"""The first turns of a trace on this product's engine and on llama-server with prompt caching, turn by turn.

    scripts/bench/server_replay.py [--model NAME|PATH] [--trace mlperf|PATH] [--turns 60] [--rows FILE.jsonl]

Natural decoding, same file, threads and context; each turn is asked here and there before the next one. The server is
asked for chat completions by a plain client over one kept connection. Compared are the time of a whole turn (here from
taking up the request to its last token, there from sending to the end of the answer), the tokens evaluated, the tokens
of the prompts, the first token and the text. Where texts differ, the margin is that of the two likeliest tokens at the
first difference, in logits, computed here from an empty cache.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from time import perf_counter_ns
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SCRIPTS.parent), str(SCRIPTS)]

import numpy as np
from llama_server import Client, ServerError, program, prompt_of, running, tokens_of

from bfcl_gate.cache import sha256_of
from bfcl_gate.cli.engine import needed_ctx
from bfcl_gate.download import fetch_model
from bfcl_gate.model.catalog import DEFAULT
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.child_engine import ChildEngine
from bfcl_gate.model.engine import EngineSettings, TimedResponse
from bfcl_gate.model.llama_engine import LlamaEngine, usable_threads
from edge_agentic.benchmark import warm_up_request
from edge_agentic.engine_comparison import shown
from edge_agentic.replay import ReplayOptions, TurnPlan, plan_replay, select_turns
from edge_agentic.trace import find_trace, read_trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the server answered: text, its counts, and the time (ns) from sending to the end of the answer."""

    text: str
    output_tokens: int
    evaluated_tokens: int
    cached_tokens: int
    taken_ns: int
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One turn asked of both."""

    plan: TurnPlan
    ours: TimedResponse
    theirs: Served
    control_texts: tuple[str, ...]

    @property
    def taken_ns(self) -> int:
        return self.ours.completed_ns - self.ours.submitted_ns

    @property
    def same_length(self) -> bool:
        return self.ours.output_tokens == self.theirs.output_tokens

    @property
    def same_text(self) -> bool:
        return self.seen(self.ours.text) == self.seen(self.theirs.text)

    def seen(self, text: str) -> str:
        """Return what both show of a text: the server leaves out control tokens and the white space before the rest."""
        return shown(text, self.control_texts)


def settings_of(given: argparse.Namespace, plans: Sequence[Sequence[ChatRequest]]) -> EngineSettings:
    """Return the settings of the engine, with the context that holds every turn."""
    model = fetch_model(given.model)
    settings = EngineSettings(
        model_path=model,
        model_sha256=sha256_of(model),
        ctx=256,
        threads=given.threads or usable_threads(),
        special_in_content="parse",
        vocab_only=True,
    )
    planner = ChildEngine(settings)
    try:
        return replace(settings, ctx=needed_ctx(planner, plans), vocab_only=False)
    finally:
        planner.close()


def ask_server(client: Client, request: ChatRequest) -> Served:
    """Ask for a chat completion as any client would."""
    body: dict[str, Any] = {
        "messages": list(request.messages),
        "temperature": 0.0,
        "max_tokens": request.max_tokens,
        "cache_prompt": True,
    }
    if request.tools:
        body["tools"] = list(request.tools)
    begin = perf_counter_ns()
    try:
        answer = client.post("/v1/chat/completions", body)
    except ServerError as error:  # it refuses answers that its own parser does not understand
        return _refused(str(error), perf_counter_ns() - begin)
    taken_ns = perf_counter_ns() - begin
    message, timings = answer["choices"][0]["message"], answer["timings"]
    return Served(
        text=_said(message),
        output_tokens=answer["usage"]["completion_tokens"],
        evaluated_tokens=timings["prompt_n"],
        cached_tokens=timings["cache_n"],
        taken_ns=taken_ns,
        prompt=prompt_of(client, request.messages, request.tools),
    )


def _refused(why: str, taken_ns: int) -> Served:
    return Served(
        text=why, output_tokens=0, evaluated_tokens=0, cached_tokens=0, taken_ns=taken_ns, prompt=""
    )


def _said(message: dict[str, Any]) -> str:
    """Return the answer as text; calls that the server took out of it are written out as JSON."""
    calls = [json.dumps(call["function"]) for call in message.get("tool_calls") or ()]
    return "".join([message.get("reasoning_content") or "", message.get("content") or "", *calls])


def ask_all(settings: EngineSettings, given: argparse.Namespace) -> tuple[list[Pair], list[bool]]:
    """Ask every turn of both; return the pairs, and for each whether its prompts are the same tokens."""
    options = ReplayOptions(decode="natural", max_tokens=given.max_tokens)
    trace = read_trace(find_trace(given.trace))
    selected = select_turns(trace.trajectories, options, given.turns)
    flags = f"-c {settings.ctx} -t {settings.threads} -tb {settings.threads} -fa on -b 512 -ub 512"
    engine = ChildEngine(settings)
    pairs: list[Pair] = []
    try:
        with running(program(), settings.model_path, *flags.split()) as client:
            ask_server(client, warm_up_request())
            engine.generate(warm_up_request())
            for plans in plan_replay(engine, selected, options):
                engine.forget()
                for plan in plans:
                    pairs.append(_pair(engine, client, plan, first_here=len(pairs) % 2 == 0))
                    sys.stderr.write(f"{len(pairs)}: {_line(pairs[-1])}\n")
            theirs = [tokens_of(client, pair.theirs.prompt) for pair in pairs]
    finally:
        engine.close()
    return pairs, same_prompts(settings, pairs, theirs)


def _pair(engine: ChildEngine, client: Client, plan: TurnPlan, *, first_here: bool) -> Pair:
    """Ask one turn of both, each first every other time."""
    keep = plan.tokens.keep if plan.tokens else 0
    ours = engine.generate(plan.request, keep) if first_here else None
    theirs = ask_server(client, plan.request)
    ours = ours or engine.generate(plan.request, keep)
    return Pair(plan=plan, ours=ours, theirs=theirs, control_texts=engine.control_texts())


def _line(pair: Pair) -> str:
    ours, theirs = pair.ours, pair.theirs
    return (
        f"{pair.plan.key[0]} turn {pair.plan.key[1]}: {pair.taken_ns / 1e9:.3f} s here, {theirs.taken_ns / 1e9:.3f} s "
        f"there; evaluated {ours.evaluated_tokens}, {theirs.evaluated_tokens}; output {ours.output_tokens}, "
        f"{theirs.output_tokens}; text {'same' if pair.same_text else 'differs'}"
    )


def same_prompts(
    settings: EngineSettings, pairs: Sequence[Pair], theirs: Sequence[Sequence[int]]
) -> list[bool]:
    """Return for each turn whether the server's prompt has the tokens of ours."""
    engine = LlamaEngine(replace(settings, vocab_only=True, ctx=256), RawArray("B", 2))
    try:
        return [
            list(engine.prompt(pair.plan.request).tokens) == list(tokens)
            for pair, tokens in zip(pairs, theirs, strict=True)
        ]
    finally:
        engine.close()


def margins(settings: EngineSettings, pairs: Sequence[Pair]) -> list[tuple[Pair, int, float]]:
    """Return for each turn whose texts differ the token where they do and the margin there in logits."""
    engine = LlamaEngine(settings, RawArray("B", 2))
    try:
        return [(pair, *_margin(engine, pair)) for pair in pairs if not pair.same_text]
    finally:
        engine.close()


def _margin(engine: LlamaEngine, pair: Pair) -> tuple[int, float]:
    ids = pair.ours.token_ids
    # Half a character is none.
    said = [pair.seen(engine.text_of(ids[: n + 1]).rstrip("\ufffd")) for n in range(len(ids))]
    theirs = pair.seen(pair.theirs.text)
    same = next((n for n, text in enumerate(said) if not theirs.startswith(text)), len(ids))
    tokens = engine.prompt(pair.plan.request).tokens
    logits = engine.logits_after([*tokens, *ids[:same]])
    second, first = np.partition(logits, -2)[-2:]
    return same, float(first - second)


def print_findings(pairs: Sequence[Pair], prompts: Sequence[bool], differing: Sequence[Any]) -> None:
    """Print what was compared."""
    equal = [pair for pair in pairs if pair.same_length]
    spoken = [pair for pair in pairs if pair.ours.text or pair.theirs.text]
    apart = {id(pair): token for pair, token, _ in differing}
    first = [apart.get(id(pair), 1) > 0 for pair in pairs]
    ours_s, theirs_s = sum(p.taken_ns for p in equal) / 1e9, sum(p.theirs.taken_ns for p in equal) / 1e9
    ratios = sorted(pair.taken_ns / pair.theirs.taken_ns for pair in equal)
    print(f"{len(pairs)} turns; output token counts agree on {len(equal)}")
    if equal:
        print(
            f"total time of those turns: {ours_s:.2f} s here, {theirs_s:.2f} s there, ratio {ours_s / theirs_s:.3f}"
        )
        print(
            f"turn by turn: median ratio {statistics.median(ratios):.3f} ({ratios[0]:.3f} .. {ratios[-1]:.3f})"
        )
    evaluated = (
        sum(p.ours.evaluated_tokens or 0 for p in pairs),
        sum(p.theirs.evaluated_tokens for p in pairs),
    )
    starts = [pair for pair in pairs if pair.plan.tokens and not pair.plan.tokens.possible_natural]
    shared = sum(pair.theirs.cached_tokens for pair in starts)
    print(
        f"evaluated tokens: {evaluated[0]} here, {evaluated[1]} there; it shares {shared} across trajectories"
    )
    print(f"prompts of the same tokens: {sum(prompts)} of {len(prompts)}")
    print(f"same first token: {sum(first)} of {len(first)}")
    print(f"same text: {sum(p.same_text for p in spoken)} of {len(spoken)} non-empty answers")
    for pair, token, margin in differing:
        print(
            f"  {pair.plan.key[0]} turn {pair.plan.key[1]}: differs at token {token}, margin {margin:.4f} logits"
        )
    for pair in pairs:
        if not pair.same_length:
            print(
                f"  {pair.plan.key[0]} turn {pair.plan.key[1]}: {pair.ours.output_tokens} and "
                f"{pair.theirs.output_tokens} output tokens"
            )


def keep_rows(path: Path, pairs: Sequence[Pair], prompts: Sequence[bool]) -> None:
    """Write one JSON row a turn."""
    rows = (
        {
            "trajectory_id": pair.plan.key[0],
            "turn": pair.plan.key[1],
            "here_ns": pair.taken_ns,
            "there_ns": pair.theirs.taken_ns,
            "input_tokens": pair.ours.input_tokens,
            "evaluated_tokens": [pair.ours.evaluated_tokens, pair.theirs.evaluated_tokens],
            "output_tokens": [pair.ours.output_tokens, pair.theirs.output_tokens],
            "same_prompt": same,
            "text": [pair.ours.text, pair.theirs.text],
        }
        for pair, same in zip(pairs, prompts, strict=True)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    """Ask, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--trace", default="mlperf")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rows", type=Path)
    given = parser.parse_args()
    options = ReplayOptions(decode="natural", max_tokens=given.max_tokens)
    selected = select_turns(read_trace(find_trace(given.trace)).trajectories, options, given.turns)
    settings = settings_of(
        given, [[turn.request(max_tokens=given.max_tokens) for turn in turns] for turns in selected]
    )
    pairs, prompts = ask_all(settings, given)
    if given.rows:
        keep_rows(given.rows, pairs, prompts)
    print_findings(pairs, prompts, margins(settings, pairs))


if __name__ == "__main__":
    main()
