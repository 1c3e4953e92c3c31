"""What a server may do otherwise than others for every request: no failure, but something a run should know of."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bfcl_gate.model.scripted_server.dialects import Prompt, Said

QUIRKS: Mapping[str, str] = {
    "no-usage": "states no token counts",
    "no-cache": "evaluates every prompt anew",
    "not-repeatable": "gives another answer each time",
    "ignores-max-tokens": "answers as long as it likes",
    "rejects-no-content": "refuses messages without content",
    "rejects-tool-choice": "does not know tool_choice",
    "ignores-seed": "samples without the seed",
    "ignores-ignore-eos": "ends its answers although asked to go on",
    "synthetic-drafts": "accepts drafted tokens by lot, as llama-server --spec-synth-len does",
    "whole-calls": "sends each tool call in one piece",
    "hides-slots": "does not tell its slots, its template and its tokenizer",
}
"""The quirks of the scripted server."""

_FILLER = "and so on "


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, its number and its body."""

    number: int
    body: Mapping[str, Any]


def refusal(asked: Asked, quirks: Collection[str]) -> str | None:
    """Return why a request is refused with status 400, None where it is answered."""
    messages = asked.body.get("messages") or ()
    if "rejects-no-content" in quirks and any(m.get("content") is None for m in messages):
        return "content must be a string"
    if "rejects-tool-choice" in quirks and "tool_choice" in asked.body:
        return "unknown field tool_choice"
    return None


def said(script: Callable[[Mapping[str, Any]], Said], asked: Asked, quirks: Collection[str]) -> Said:
    """Return the script's answer as sampling, ignore_eos and the quirks change it."""
    answer, body = script(asked.body), asked.body
    if body.get("tool_choice") == "none":
        answer = replace(answer, calls=())
    if body.get("temperature"):
        answer = _varied(answer, asked.number if "ignores-seed" in quirks else body.get("seed"))
    if "synthetic-drafts" in quirks:
        answer = _varied(answer, body.get("seed"))
    if "not-repeatable" in quirks:
        answer = _varied(answer, asked.number)
    goes_on = body.get("ignore_eos") and "ignores-ignore-eos" not in quirks
    if goes_on or "ignores-max-tokens" in quirks:
        answer = replace(answer, text=answer.text + _FILLER * (body.get("max_completion_tokens") or 128))
    return answer


def _varied(answer: Said, by: object) -> Said:
    return replace(answer, text=f"{by} {answer.text}")


def counted(prompt: Prompt, quirks: Collection[str]) -> Prompt:
    """Return a prompt's counts as the quirks change them."""
    return replace(prompt, reused_tokens=0) if "no-cache" in quirks else prompt


def limited(body: Mapping[str, Any], quirks: Collection[str]) -> Mapping[str, Any]:
    """Return the body whose token limit is kept to."""
    return {**body, "max_completion_tokens": 1 << 30} if "ignores-max-tokens" in quirks else body


def stated(chunk: Mapping[str, Any], quirks: Collection[str]) -> Mapping[str, Any]:
    """Return a chunk with the counts that the server states."""
    if "no-usage" in quirks:
        return {key: value for key, value in chunk.items() if key not in ("usage", "timings")}
    if "synthetic-drafts" in quirks and "timings" in chunk:
        return {**chunk, "timings": {**chunk["timings"], "draft_n": 16, "draft_n_accepted": 12}}
    return chunk
