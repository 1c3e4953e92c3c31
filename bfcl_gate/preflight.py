"""Five questions before the hours of a run: does the model try to call tools at all, as they are judged?"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bfcl_gate.answers import Answer, mark_answer, reply_of
from bfcl_gate.errors import EngineError
from bfcl_gate.gate import ask, gate_request
from bfcl_gate.model.engine import Engine
from bfcl_gate.ruleset import GatePolicy
from bfcl_gate.samples import Sample, sample_of

Followed = Callable[[Iterable[Answer], str, int], Iterable[Answer]]
"""Passes answers on while somebody is told how many of how many there are: (answers, label, total)."""

PREFLIGHT_IDS = tuple(f"simple_python_{number}" for number in range(5))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightReport:
    """Whether any of the five answers holds a call attempt in the judged mode; their marks mean nothing.

    `cause` is the likely reason and `raw` one raw answer (control characters as they came); both None
    when passed.
    """

    passed: bool
    answers: tuple[Answer, ...]
    cause: str | None = None
    raw: str | None = None


def preflight_samples(policy: GatePolicy) -> tuple[Sample, ...]:
    """Return the five questions; the context has to hold them too."""
    return tuple(sample_of(sample_id, tools=policy.tool_schemas) for sample_id in PREFLIGHT_IDS)


def unwatched(answers: Iterable[Answer], label: str, total: int) -> Iterable[Answer]:
    """Tell nobody."""
    return answers


def preflight(engine: Engine, policy: GatePolicy, followed: Followed = unwatched) -> PreflightReport:
    """Ask simple_python_0…4. Raises EngineError when the engine is gone or answers none of them."""
    samples = preflight_samples(policy)
    answers = tuple(followed(ask(engine, samples, policy), "preflight", len(samples)))
    if all(answer.error is not None for answer in answers):
        raise EngineError(f"The preflight got no answer to any of its five questions ({answers[0].error}).")
    if any(answer.attempts for answer in answers):
        return PreflightReport(passed=True, answers=answers)
    answered = [answer for answer in answers if answer.error is None]
    cause = _likely_cause(engine, samples, policy, answered)
    return PreflightReport(passed=False, answers=answers, cause=cause, raw=answered[0].text)


def _likely_cause(
    engine: Engine, samples: Sequence[Sample], policy: GatePolicy, answers: list[Answer]
) -> str:
    if all(not (answer.text or "").strip() for answer in answers):
        return (
            "every answer is empty: the template or its end-of-generation token may not be the model's own; "
            "try --chat-template FILE"
        )
    if _ignores_tools(engine, samples[0], policy):
        return (
            "the prompt is the same with and without tools: the chat template ignores them; use a model "
            "whose template knows tools, or --chat-template FILE"
        )
    if all(answer.finish_reason == "length" for answer in answers):
        return (
            f"every answer was cut at {policy.max_tokens} tokens before a call: reasoning may eat the token "
            "limit; raise --max-tokens or switch reasoning off (often --template-arg enable_thinking=false)"
        )
    if policy.calls == "native" and _leniently_called(engine, samples, policy, answers):
        return (
            "the answers hold calls as fenced or bare JSON, not in the form the template asks for, and "
            "native calls are judged; --calls lenient judges such answers"
        )
    return "the answers are prose: the model does not try to call the tools it is given"


def _ignores_tools(engine: Engine, sample: Sample, policy: GatePolicy) -> bool:
    request = gate_request(sample, policy)
    with_tools, without = (engine.plan([r]) for r in (request, replace(request, tools=())))
    return bool(with_tools and without and with_tools[0].prompt_tokens == without[0].prompt_tokens)


def _leniently_called(
    engine: Engine, samples: Sequence[Sample], policy: GatePolicy, answers: list[Answer]
) -> bool:
    info, lenient = engine.info(), replace(policy, calls="lenient")
    by_id = {sample.id: sample for sample in samples}
    replies = ((by_id[a.id], reply_of(a, syntax=info.syntax, prefix=info.prefix)) for a in answers)
    return any(mark_answer(sample, reply, lenient).attempts for sample, reply in replies)
