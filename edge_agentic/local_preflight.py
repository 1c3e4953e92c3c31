"""What is looked at before a local run: does the engine repeat itself, and does the template let the cache work?"""

from collections.abc import Sequence

from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.engine import Engine
from bfcl_gate.model.findings import INFO, WARN, Finding
from edge_agentic.replay import TurnPlan

LOCAL = "local"
_QUESTION = "Write the names of the days of the week, one a line, and after each the number of its letters."
_TOKENS = 16


def local_preflight(engine: Engine, planned: Sequence[Sequence[TurnPlan]]) -> tuple[Finding, ...]:
    """Return what was found of a local engine, nothing of any other. The engine's cache is empty afterwards.

    Raises EngineError when the engine is gone.
    """
    if engine.info().kind != LOCAL:
        return ()
    return repeatable(engine), template_stable(planned)


def repeatable(engine: Engine) -> Finding:
    """Ask one short prompt twice, each time from an empty cache: tokens and logits have to be the same, bit for bit."""
    request = ChatRequest(
        messages=({"role": "user", "content": _QUESTION},), max_tokens=_TOKENS, fingerprint=True
    )
    answers = []
    for _ in range(2):
        engine.forget()
        answers.append(engine.generate(request))
    engine.forget()
    first, again = answers
    tokens = first.token_ids == again.token_ids
    logits = first.logits_sha256 is not None and first.logits_sha256 == again.logits_sha256
    said = f"{len(first.token_ids)} tokens, {'the same' if tokens else 'others the second time'}"
    return Finding(
        name="repeatable",
        level=WARN,
        passed=tokens and logits,
        detail=f"one prompt twice from an empty cache: {said}; logits {'the same' if logits else 'differ'}",
        meaning="where it does not hold, answers and the gate's marks may change from run to run",
    )


def template_stable(planned: Sequence[Sequence[TurnPlan]]) -> Finding:
    """Look whether each prompt goes on with what its trajectory had come to, and name the first that does not."""
    turns = [plan for plans in planned for plan in plans[1:] if plan.tokens is not None]
    departing = [(plan, plan.tokens.departure) for plan in turns if plan.tokens and plan.tokens.departure]
    detail = f"{len(turns) - len(departing)} of {len(turns)} prompts extend the conversation before them"
    if departing:
        plan, found = departing[0]
        where = f"{plan.turn.trajectory_id} turn {plan.turn.number}"
        detail += (
            f"; first departure: {where}, token {found.at}: {_shown(found.before)} became {_shown(found.now)}"
        )
    return Finding(
        name="template_stable",
        level=INFO,
        passed=not departing,
        detail=detail,
        meaning="what comes after a departure is evaluated again: the template rewrites earlier turns",
    )


def _shown(text: str) -> str:
    return repr(text) if text else "the end"
