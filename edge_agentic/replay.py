"""The timed part: ask every turn on the recorded history and yield its readings.

Knows neither files nor terminals: journal and progress are plain loops around `replay`.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.model import parse_tool_calls
from bfcl_gate.model.chat import ChatRequest, Message, answer_message
from bfcl_gate.model.engine import READINGS, Engine, EngineInfo, PlannedTurn, TimedResponse
from edge_agentic import agreement
from edge_agentic.trace import Trajectory, Turn
from edge_agentic.turns import TurnResult

ABORTED = "not issued: an earlier turn of this trajectory failed"
TurnKey = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """How turns are asked. `calls` (native or lenient) decides which parse is scored in natural mode."""

    decode: str = "forced"
    tool_delay: str = "none"
    reasoning: str = "keep"
    max_tokens: int = 1024
    calls: str = "lenient"

    @property
    def forced(self) -> bool:
        return self.decode == "forced"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlan:
    """One turn that will be asked: its request, its place in the run, and its token counts where known."""

    turn: Turn
    position: int
    request: ChatRequest
    tokens: PlannedTurn | None

    @property
    def key(self) -> TurnKey:
        return self.turn.trajectory_id, self.turn.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What the replay did: `kind` turn, priming or seam. `response` is set for priming."""

    kind: str
    plan: TurnPlan
    result: TurnResult | None = None
    response: TimedResponse | None = None


def select_turns(
    trajectories: Sequence[Trajectory], options: ReplayOptions, limit: int | None = None
) -> tuple[tuple[Turn, ...], ...]:
    """Return the turns to ask, by trajectory in trace order: at most `limit`, in forced mode only answered ones."""
    chosen = []
    left = limit
    for trajectory in trajectories:
        turns = tuple(t for t in trajectory.turns if t.recorded is not None or not options.forced)[:left]
        if turns:
            chosen.append(turns)
        if left is not None:
            left -= len(turns)
    return tuple(chosen)


def requests_of(turns: Sequence[Turn], options: ReplayOptions) -> tuple[ChatRequest, ...]:
    """Return the requests of one trajectory's turns, in order; `reasoning` strip leaves recorded thoughts out."""
    requests = (t.request(max_tokens=options.max_tokens, forced=options.forced) for t in turns)
    return tuple(requests if options.reasoning == "keep" else map(_without_reasoning, requests))


def _without_reasoning(request: ChatRequest) -> ChatRequest:
    return replace(
        request,
        messages=tuple(_spoken(message) for message in request.messages),
        recorded=None if request.recorded is None else _spoken(request.recorded),
    )


def _spoken(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def plan_replay(
    engine: Engine, selected: Sequence[Sequence[Turn]], options: ReplayOptions
) -> tuple[tuple[TurnPlan, ...], ...]:
    """Count the tokens of every turn before the first is asked, one tuple a trajectory.

    Raises InputError naming trace line and turn for a prompt that does not fit the engine's context.
    """
    planned = []
    position = 0
    ctx = engine.info().ctx
    for turns in selected:
        requests = requests_of(turns, options)
        counts = engine.plan(requests) or (None,) * len(turns)
        plans = []
        for turn, request, tokens in zip(turns, requests, counts, strict=True):
            _check_fits(turn, request, tokens, ctx)
            plans.append(TurnPlan(turn=turn, position=position, request=request, tokens=tokens))
            position += 1
        planned.append(tuple(plans))
    return tuple(planned)


def _check_fits(turn: Turn, request: ChatRequest, tokens: PlannedTurn | None, ctx: int | None) -> None:
    if tokens is None or ctx is None:
        return
    forced_tokens = tokens.answer_tokens if request.forced else None
    answer = forced_tokens or request.max_tokens
    if tokens.prompt_tokens + answer > ctx:
        raise InputError(
            f"line {turn.line} of the trace, conversation {turn.trajectory_id}, turn {turn.number}: a prompt of "
            f"{tokens.prompt_tokens} tokens and an answer of up to {answer} do not fit the context of {ctx}. Leave "
            f"--ctx out or give at least {tokens.prompt_tokens + answer}, or lower "
            f"{'--limit' if forced_tokens else '--max-tokens or --limit'}."
        )


def replay(
    engine: Engine,
    planned: Sequence[Sequence[TurnPlan]],
    options: ReplayOptions,
    done: Collection[TurnKey] = (),
    failed: Collection[str] = (),
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Event]:
    """Ask every turn that is not `done`, in order, and yield what happened.

    Each trajectory starts from an empty cache. One that was interrupted is primed first: its finished
    turns are evaluated again in the original chunks, untimed, and a seam marks where timing goes on.
    A failed turn drops the trajectory's later turns, also where it failed before an interruption (`failed` names such
    trajectories). Raises EngineError when the engine is gone.
    """
    for plans in planned:
        left = [plan for plan in plans if plan.key not in done]
        if not left:
            continue
        if left[0].turn.trajectory_id in failed:
            yield from _give_up(left, options)
            continue
        engine.forget()
        primed = plans[: len(plans) - len(left)]
        for plan in primed:
            yield Event(kind="priming", plan=plan, response=engine.generate(_priming(plan), _keep(plan)))
        if primed:
            yield Event(kind="seam", plan=left[0])
        yield from _ask(engine, left, options, sleep)


def _ask(
    engine: Engine, plans: Sequence[TurnPlan], options: ReplayOptions, sleep: Callable[[float], None]
) -> Iterator[Event]:
    info = engine.info()
    for place, plan in enumerate(plans):
        if options.tool_delay == "recorded" and plan.turn.delay_s:
            sleep(plan.turn.delay_s)
        response = engine.generate(plan.request, _keep(plan))
        yield Event(kind="turn", plan=plan, result=_result(plan, response, options, info))
        if response.error is not None:
            yield from _give_up(plans[place + 1 :], options)
            return


def _give_up(plans: Sequence[TurnPlan], options: ReplayOptions) -> Iterator[Event]:
    for plan in plans:
        yield Event(kind="turn", plan=plan, result=_dropped(plan, options))


def _keep(plan: TurnPlan) -> int:
    return plan.tokens.keep if plan.tokens else 0


def _priming(plan: TurnPlan) -> ChatRequest:
    """Return what brings the cache where this turn left it; a natural answer was not kept, one token is enough."""
    return plan.request if plan.request.forced else replace(plan.request, max_tokens=1)


def _possible(plan: TurnPlan) -> int | None:
    if plan.tokens is None:
        return None
    return plan.tokens.possible_forced if plan.request.forced else plan.tokens.possible_natural


def _result(plan: TurnPlan, response: TimedResponse, options: ReplayOptions, info: EngineInfo) -> TurnResult:
    calls, native, score = (None, None, None) if options.forced else _scored(plan, response, options, info)
    agreed, output = response.agreed_tokens, response.output_tokens
    return TurnResult(
        trajectory_id=plan.turn.trajectory_id,
        turn=plan.turn.number,
        position=plan.position,
        decode=options.decode,
        input_tokens=response.input_tokens,
        possible_tokens=_possible(plan),
        reused_tokens=response.reused_tokens,
        evaluated_tokens=response.evaluated_tokens,
        output_tokens=output,
        submitted_ns=response.submitted_ns,
        rendered_ns=response.rendered_ns,
        first_token_ns=response.first_token_ns,
        token_ns=response.token_ns,
        completed_ns=response.completed_ns,
        text=response.text,
        tool_calls=calls,
        native=native,
        finish_reason=response.finish_reason,
        error=response.error,
        agreement=score,
        token_agreement=agreed / output if agreed is not None and output else None,
        agreed_tokens=agreed,
        answer_extends=plan.tokens.answer_extends if plan.tokens else None,
        **{name: getattr(response, name) for name in READINGS},
    )


def _scored(
    plan: TurnPlan, response: TimedResponse, options: ReplayOptions, info: EngineInfo
) -> tuple[tuple[dict[str, Any], ...], bool | None, float | None]:
    """Return the calls of a natural answer as {name, arguments text}, whether native, and its agreement."""
    calls, content, native = _read(plan, response, options, info)
    answer = answer_message(content, calls) if response.error is None else {"role": "assistant"}
    score = agreement.score(plan.turn.recorded, answer) if plan.turn.recorded else None
    return calls, native, score


def _read(
    plan: TurnPlan, response: TimedResponse, options: ReplayOptions, info: EngineInfo
) -> tuple[tuple[dict[str, Any], ...], str, bool | None]:
    """Return the calls of an answer, its content, and whether the calls are native.

    At an endpoint the server's own calls are the native ones; only where it states none are calls looked for in the
    content, and only leniently.
    """
    if info.kind == "endpoint" and (response.tool_calls or options.calls == "native"):
        stated = [call["function"] for call in response.tool_calls or ()]
        calls = tuple({"name": f.get("name", ""), "arguments": f["arguments"]} for f in stated)
        return calls, response.text or "", True if calls else None
    parsed = parse_tool_calls(
        response.text or "",
        list(plan.request.tools),
        syntax=info.syntax,
        mode=options.calls,
        prefix=info.prefix,
        finish=response.finish_reason or "stop",
    )
    calls = tuple({"name": a.name, "arguments": a.raw_arguments} for a in parsed.attempts)
    return calls, parsed.content or "", parsed.native


def _dropped(plan: TurnPlan, options: ReplayOptions) -> TurnResult:
    """Return the row of a turn that was never issued; its instants are the moment it was given up."""
    now = time.perf_counter_ns()
    empty = TimedResponse(text=None, finish_reason=None, error=ABORTED, submitted_ns=now, completed_ns=now)
    unscored = replace(options, decode="forced")
    row = _result(plan, empty, unscored, EngineInfo(kind="none", identity={}))
    return replace(row, decode=options.decode)


def widest_turns(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns among which the one that needs the most context is: each before a user message, and the last.

    Within an agent's loop a prompt only grows; at a new user message a template may drop earlier reasoning. All turns
    where they state limits of their own: an earlier one may need more for a longer answer.
    """
    if len({turn.max_tokens for turn in turns}) > 1:
        return tuple(turns)
    following = [turn.messages[-1].get("role") for turn in turns[1:]]
    return tuple(t for t, role in zip(turns, [*following, "user"], strict=True) if role == "user")
