"""The same turns on the local engine and through a server: paired, and the difference in time explained.

Every turn's latency is taken apart into prefill, decode and the rest; the parts of both sides add up to their whole, so
nothing of a difference is left over. Source of the parts: the local engine's readings, the server's own `timings`.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

from edge_agentic.metrics import NS_PER_S, turn_latency_s
from edge_agentic.turns import TurnResult

Pair = tuple[TurnResult, TurnResult]
"""One turn on the local engine and through the server."""

FirstToken = Callable[[str], int | str | None]
"""What the first token of a text is: its id where a tokenizer can be asked, else its first character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPair:
    """The tokens of one prompt as either side makes them; `server_tokens` None where the server does not tell.

    `at` is the first token that differs; `local` and `server` are the texts from their first difference on, both empty
    where one text was cut into other tokens. None where all is equal.
    """

    trajectory_id: str
    turn: int
    local_tokens: int
    server_tokens: int | None
    at: int | None = None
    local: str | None = None
    server: str | None = None

    @property
    def equal(self) -> bool | None:
        return None if self.server_tokens is None else self.at is None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of engine_compare.json."""
        return {**asdict(self), "equal": self.equal}


def pairs_of(local: Sequence[TurnResult], server: Sequence[TurnResult]) -> tuple[Pair, ...]:
    """Return the turns that both sides answered, in the local order."""
    others = {(turn.trajectory_id, turn.turn): turn for turn in server if turn.error is None}
    known = ((turn, others.get((turn.trajectory_id, turn.turn))) for turn in local if turn.error is None)
    return tuple((one, two) for one, two in known if two is not None)


def parts_s(turn: TurnResult) -> Mapping[str, float] | None:
    """Return prefill, decode and the rest of a turn in seconds; None where the engine's own times are not known.

    Local: prefill = first_token_ns - rendered_ns, decode = first to last token. Server: its own times. The rest is
    rendering and tokenising; through a server HTTP and waiting too.
    """
    if turn.server_prefill_ns is not None and turn.server_decode_ns is not None:
        prefill_ns, decode_ns = turn.server_prefill_ns, turn.server_decode_ns
    elif turn.rendered_ns is not None and turn.first_token_ns is not None and turn.token_ns:
        prefill_ns, decode_ns = turn.first_token_ns - turn.rendered_ns, turn.token_ns[-1] - turn.token_ns[0]
    else:
        return None
    rest = turn_latency_s(turn) - (prefill_ns + decode_ns) / NS_PER_S
    return {"prefill": prefill_ns / NS_PER_S, "decode": decode_ns / NS_PER_S, "rest": rest}


def is_empty(turn: TurnResult) -> bool:
    """Return whether an answer is nothing but its end."""
    return not turn.text and not turn.tool_calls


def same_start(pair: Pair, first_token: FirstToken, control_texts: Collection[str] = ()) -> bool:
    """Return whether both answers begin with the same token; an end token here and an empty answer there are equal.

    Compared is what a server shows of an answer. Where it parsed a call its raw text is unknown: the names of the first
    calls are compared.
    """
    local, server = pair
    own, theirs = shown(local.text or "", control_texts), shown(server.text or "", control_texts)
    if not theirs and server.tool_calls:
        names = [(turn.tool_calls or ({},))[0].get("name") for turn in pair]
        return names[0] == names[1]
    if not own or not theirs:
        return own == theirs
    return first_token(own) == first_token(theirs)


def shown(text: str, control_texts: Collection[str]) -> str:
    """Return what a server shows of an answer's text: no control tokens, and no white space before the rest."""
    hidden = "|".join(map(re.escape, control_texts))
    return (re.sub(hidden, "", text) if hidden else text).lstrip()


def first_character(text: str) -> str | None:
    """Return the first character of a text: what can be compared without a tokenizer."""
    found = re.match(r"(?s).", text)
    return None if found is None else found[0]


def compare_engines(
    pairs: Sequence[Pair],
    prompts: Sequence[PromptPair],
    *,
    decode: str,
    first_token: FirstToken,
    control_texts: Collection[str] = (),
) -> dict[str, Any]:
    """Return the document of engine_compare.json: counts, sums of both sides and the sentences that explain them.

    `decode` is recorded (both sides decode as many tokens as the recorded answer) or natural; `control_texts` are those
    of the vocabulary's control tokens, which a server leaves out of what it says.
    """
    known = [prompt for prompt in prompts if prompt.equal is not None]
    starts = [same_start(pair, first_token, control_texts) for pair in pairs] if decode == "natural" else []
    document = {
        "decode": decode,
        "turns": len(pairs),
        "prompts": {
            "equal": sum(bool(p.equal) for p in known),
            "compared": len(known),
            "turns": len(prompts),
        },
        "starts": {"equal": sum(starts), "compared": len(starts)},
        "empty": {
            side: sum(is_empty(pair[i]) for pair in pairs) for i, side in enumerate(("local", "server"))
        },
        "tokens": {
            name: _both(pairs, attrgetter(f"{name}_tokens"))
            for name in ("input", "reused", "evaluated", "output")
        },
        "seconds": _seconds(pairs),
        "differences": [prompt.to_dict() for prompt in prompts if prompt.equal is False],
    }
    return {**document, "explained": explained(document)}


def _both(pairs: Sequence[Pair], of: Callable[[TurnResult], int | float | None]) -> dict[str, Any]:
    """Return the sum of both sides over the turns where both are known."""
    known = [(a, b) for one, two in pairs if (a := of(one)) is not None and (b := of(two)) is not None]
    return {"local": sum(a for a, _ in known), "server": sum(b for _, b in known), "turns": len(known)}


def _seconds(pairs: Sequence[Pair]) -> dict[str, Any]:
    whole = [(parts_s(one), parts_s(two)) for one, two in pairs]
    told = [pair for pair, parts in zip(pairs, whole, strict=True) if None not in parts]
    found = {"latency": _both(told or pairs, turn_latency_s)}
    return {**found, **{name: _both(told, _part(name)) for name in ("prefill", "decode", "rest")}}


def _part(name: str) -> Callable[[TurnResult], float | None]:
    return lambda turn: (parts_s(turn) or {}).get(name)


def explained(document: Mapping[str, Any]) -> list[str]:
    """Return in sentences where the difference comes from: template, tokens, cache, length, speed, HTTP."""
    prompts, tokens, seconds = document["prompts"], document["tokens"], document["seconds"]
    told = [_of_prompts(prompts)]
    evaluated, output = tokens["evaluated"], tokens["output"]
    if evaluated["turns"]:
        told.append(
            f"Cache: {evaluated['local']:,} prompt tokens were evaluated locally, {evaluated['server']:,} by the server"
            f" ({_percent(evaluated)}); {tokens['reused']['local']:,} and {tokens['reused']['server']:,} were reused."
        )
    if output["turns"]:
        told.append(
            f"Length: {output['local']:,} output tokens locally, {output['server']:,} by the server"
            f" ({_percent(output)})."
        )
    if not seconds["prefill"]["turns"]:
        return [*told, "The server states no times of its own, so HTTP and engine cannot be told apart."]
    told += _speeds(tokens, seconds)
    rest = seconds["rest"]
    a_turn = {side: 1e3 * rest[side] / rest["turns"] for side in ("local", "server")}
    told.append(
        f"Outside the engine: {a_turn['local']:.1f} ms a turn locally (template, tokeniser), {a_turn['server']:.1f} ms "
        "through the server (HTTP, JSON, template, tokeniser, waiting for a slot)."
    )
    gap = {name: seconds[name]["server"] - seconds[name]["local"] for name in ("prefill", "decode", "rest")}
    parts = ", ".join(f"{name} {value:+.2f} s" for name, value in gap.items())
    return [*told, f"Together: {sum(gap.values()):+.2f} s over {seconds['latency']['turns']} turns: {parts}."]


def _of_prompts(prompts: Mapping[str, int]) -> str:
    if not prompts["compared"]:
        return "Template: the server does not lend its template and tokeniser, so prompts cannot be compared."
    same = f"{prompts['equal']} of {prompts['compared']} prompts are equal token by token"
    return (
        f"Template and tokens: {same}."
        if prompts["equal"] == prompts["compared"]
        else (f"Template and tokens: {same}; the others are listed with the place where they part.")
    )


def _speeds(tokens: Mapping[str, Any], seconds: Mapping[str, Any]) -> list[str]:
    """Return the speeds of both engines at the same kind of work, HTTP left out.

    An answer's first token comes out of the prefill, so it is none of the decoded ones.
    """
    told = []
    for name, amount, first in (("prefill", "evaluated", 0), ("decode", "output", 1)):
        sums = tokens[amount]
        rates = [
            (sums[side] - first * sums["turns"]) / seconds[name][side] if seconds[name][side] > 0 else None
            for side in ("local", "server")
        ]
        if None not in rates and all(rates):
            told.append(
                f"Speed of {name}: {rates[0]:.1f} tokens/s locally, {rates[1]:.1f} in the server, by its own times."
            )
    return told


def _percent(sums: Mapping[str, float]) -> str:
    return "no ratio" if not sums["local"] else f"{100 * (sums['server'] / sums['local'] - 1):+.1f} %"
