"""Small requests that find out what a live server does, because what it says of itself is not enough.

Every probe is one or a few short answers. Whatever a server does with them is a finding, never an error; only a server
that is gone raises EngineError.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import time_ns
from typing import Any

from bfcl_gate.model.chat import ChatRequest, Message, Tool
from bfcl_gate.model.endpoint_engine import EndpointEngine
from bfcl_gate.model.engine import TimedResponse
from bfcl_gate.model.findings import INFO, INVALID, WARN, Finding

MEANINGS = {
    "tool_history": "every turn of an agent after its first holds earlier calls, often without content, and results",
    "tool_choice": "every sample of the gate sends tool_choice auto; required is never sent and only shown",
    "usage": "without counts of tokens there is no TPOT, no decode rate and no share of reused prompt",
    "max_tokens": "an answer beyond the asked length is a failed turn",
    "repeatable": "greedy answers that differ let the gate's verdict and the length of answers vary from run to run",
    "cache": "an agent's turn repeats the conversation: without a cache its whole prompt is evaluated every time",
    "synthetic": "drafts that are accepted at random (llama-server --spec-synth-len) give speed without a model",
    "seed": "answers are asked for greedily, so a seed changes nothing; it matters to sampling only",
    "ignore_eos": "where it holds, an answer can be made as long as the recorded one (run --engine-compare)",
}
TOKENS = 24
_TOOL: Tool = {
    "type": "function",
    "function": {
        "name": "list_files",
        "description": "List the files of a folder.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
_CALL = {"id": "call_0", "type": "function", "function": {"name": "list_files", "arguments": '{"path": "."}'}}
_QUESTION: Message = {"role": "user", "content": "Which files are in the current folder? Use the tool."}
_HISTORY: tuple[Message, ...] = (
    {"role": "system", "content": "You work with files."},
    _QUESTION,
    {"role": "assistant", "tool_calls": [_CALL]},  # null content is left out, as a replay does
    {"role": "tool", "tool_call_id": "call_0", "content": "README.md\nmain.py"},
)
_LONG_TEXT = "Read this line of a log, remember its number and go on to the next one without a word. " * 16
_COUNT = "Now write the numbers from one to two hundred in words, separated by spaces, and nothing else."
_SHORT = "Answer with the single word yes."


@dataclass(frozen=True, slots=True)
class Answers:
    """Three answers to one prompt: greedy with a seed, greedy again, greedy with another seed."""

    first: TimedResponse
    again: TimedResponse
    other_seed: TimedResponse


def probe(engine: EndpointEngine) -> Iterator[Finding]:
    """Yield what a dozen small requests show, in the order of MEANINGS. Raises EngineError where the server is gone."""
    history = engine.generate(ChatRequest(messages=_HISTORY, tools=(_TOOL,), max_tokens=16))
    yield _accepted("tool_history", history, "a history with a tool call without content and its result")
    yield _tool_choice(engine)
    answers = _answers(engine)
    yield _usage(answers.first)
    yield _max_tokens(answers.first)
    yield _repeatable(answers)
    yield _cache(answers)
    yield _synthetic(answers)
    yield _seed(engine)
    yield _ignore_eos(engine)


def ignores_eos(engine: EndpointEngine) -> bool:
    """Return whether this server goes on after an end-of-generation token when it is asked to."""
    return _ignore_eos(engine).passed is True


def _found(name: str, level: str, passed: bool | None, detail: str) -> Finding:
    return Finding(name=name, level=level, passed=passed, detail=detail, meaning=MEANINGS[name])


def _accepted(name: str, response: TimedResponse, what: str) -> Finding:
    if response.error is None or _too_long(response):  # its length is another finding
        return _found(name, INVALID, True, f"{what} was answered")
    return _found(name, INVALID, False, f"{what} was refused: {response.error}")


def _too_long(response: TimedResponse) -> bool:
    return response.error is not None and response.error.startswith("over_limit")


def _tool_choice(engine: EndpointEngine) -> Finding:
    request = ChatRequest(messages=(_QUESTION,), tools=(_TOOL,), tool_choice="auto", max_tokens=64)
    found = _accepted("tool_choice", engine.generate(request), "tool_choice auto")
    required = engine.generate(replace(request, tool_choice="required"))
    if required.error is not None:
        told = f"refused ({required.error})"
    else:
        told = "honoured" if required.tool_calls else "answered without a call"
    return replace(found, detail=f"{found.detail}; required: {told}")


def _answers(engine: EndpointEngine) -> Answers:
    # The mark at the start keeps what an earlier probe left in a cache from being taken for this one's.
    messages = (
        {"role": "system", "content": f"Log {time_ns()}. {_LONG_TEXT}"},
        {"role": "user", "content": _COUNT},
    )
    request = ChatRequest(messages=messages, max_tokens=TOKENS)
    return Answers(
        engine.generate(request), engine.generate(request), engine.ask(request, {"seed": 1_234_567})
    )


def _failed(name: str, level: str, *responses: TimedResponse) -> Finding | None:
    """Return the finding where a probe was not answered at all."""
    error = next((response.error for response in responses if response.error is not None), None)
    return None if error is None else _found(name, level, None, f"the probe failed: {error}")


def _usage(response: TimedResponse) -> Finding:
    counts = {
        "prompt": response.input_tokens,
        "reused": response.reused_tokens,
        "output": response.output_tokens,
    }
    if (failed := _failed("usage", WARN, response)) is not None and not any(counts.values()):
        return failed
    told = ", ".join(f"{name} {count}" for name, count in counts.items() if count is not None)
    missing = ", ".join(name for name, count in counts.items() if count is None)
    detail = f"tokens stated: {told or 'none'}" + (f"; not stated: {missing}" if missing else "")
    return _found("usage", WARN, not missing, detail)


def _max_tokens(response: TimedResponse) -> Finding:
    if _too_long(response):
        return _found("max_tokens", INVALID, False, f"{TOKENS} tokens were asked for: {response.error}")
    if (failed := _failed("max_tokens", INVALID, response)) is not None:
        return failed
    tokens, reason, arrivals = response.output_tokens, response.finish_reason, len(response.token_ns)
    if tokens is None and arrivals > TOKENS + 2:  # role and finish may come in chunks of their own
        return _found("max_tokens", INVALID, False, f"{TOKENS} tokens were asked for, {arrivals} pieces came")
    if reason == "length":
        return _found(
            "max_tokens", INVALID, True, f"an answer was ended after {tokens or TOKENS} tokens as asked"
        )
    return _found(
        "max_tokens", INVALID, None, f"the answer ended by itself ({reason}) before {TOKENS} tokens"
    )


def _repeatable(answers: Answers) -> Finding:
    if (failed := _failed("repeatable", WARN, answers.first, answers.again)) is not None:
        return failed
    same = _said(answers.first) == _said(answers.again)
    detail = "the same greedy request twice gave " + ("the same answer" if same else "two answers")
    return _found("repeatable", WARN, same, detail)


def _cache(answers: Answers) -> Finding:
    if (failed := _failed("cache", WARN, answers.first, answers.again)) is not None:
        return failed
    cold, warm = answers.first.reused_tokens, answers.again.reused_tokens
    asked = answers.again.input_tokens
    if warm is None or asked is None:
        return _found("cache", WARN, None, "the server does not state how much of a prompt it reused")
    detail = f"{warm} of {asked} prompt tokens were reused when the prompt came again"
    if cold is not None:
        detail += f", {cold} when it was new"
    return _found("cache", WARN, warm >= asked / 2, detail)


def _synthetic(answers: Answers) -> Finding:
    """A greedy answer does not depend on the seed; one of drafts accepted by lot does."""
    if (
        failed := _failed("synthetic", INVALID, answers.first, answers.again, answers.other_seed)
    ) is not None:
        return failed
    drafted = answers.first.drafted_tokens
    if not drafted:
        return _found("synthetic", INVALID, True, "no drafted tokens are counted")
    texts = [_said(each) for each in (answers.first, answers.again, answers.other_seed)]
    if texts[0] != texts[1]:
        return _found("synthetic", INVALID, None, "greedy answers are not repeatable, so nothing can be told")
    same = texts[0] == texts[2]
    accepted = f"{answers.first.accepted_tokens} of {drafted} drafted tokens were accepted"
    depends = "does not change with the seed" if same else "changes with the seed"
    return _found("synthetic", INVALID, same, f"{accepted}; the greedy answer {depends}")


def _seed(engine: EndpointEngine) -> Finding:
    request = ChatRequest(messages=({"role": "user", "content": "Invent a name for a boat."},), max_tokens=12)
    one, again, other = (
        engine.ask(request, {"temperature": 1.0, "seed": seed}) for seed in (11, 11, 1_234_567)
    )
    if (failed := _failed("seed", INFO, one, again, other)) is not None:
        return failed
    if _said(one) != _said(again):
        return _found("seed", INFO, False, "the same seed gave two answers at temperature 1")
    if _said(one) == _said(other):
        return _found("seed", INFO, None, "two seeds gave the same answer at temperature 1")
    return _found("seed", INFO, True, "the same seed repeats an answer at temperature 1, another does not")


def _ignore_eos(engine: EndpointEngine) -> Finding:
    request = ChatRequest(messages=({"role": "user", "content": _SHORT},), max_tokens=TOKENS)
    natural, response = engine.generate(request), engine.ask(request, {"ignore_eos": True})
    if (failed := _failed("ignore_eos", INFO, response)) is not None:
        return replace(failed, passed=False)
    if natural.finish_reason != "stop":
        return _found(
            "ignore_eos", INFO, None, "no answer of this model ends by itself, so nothing can be told"
        )
    honoured = response.finish_reason == "length" and response.output_tokens in (TOKENS, None)
    came = "an unknown number" if response.output_tokens is None else response.output_tokens
    detail = f"{TOKENS} tokens of a one-word answer were asked for, {came} came ({response.finish_reason})"
    return _found("ignore_eos", INFO, honoured, detail)


def _said(response: TimedResponse) -> Any:
    calls = [call["function"] for call in response.tool_calls or ()]
    return response.text, response.reasoning, calls
