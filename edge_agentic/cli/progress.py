"""How a person follows a run: bars on a terminal, a line a trajectory elsewhere; never a result before the gate.

The bar is redrawn between turns only: nothing of it runs while the model decodes.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from time import perf_counter

from bfcl_gate.cli.progress import shown
from bfcl_gate.cli.shell import safe_text
from edge_agentic.benchmark import Watch
from edge_agentic.metrics import decode_tokens_per_s, ttft_s
from edge_agentic.replay import ABORTED, Event, TurnPlan

DECODE_WEIGHT = 8
"""A decoded token takes about as long as this many prefilled ones; only time left depends on it."""


def watch(show_ungated: bool) -> Watch:
    """Return the watch of a run; with `show_ungated` every turn's TTFT and decode rate is said as well."""
    on_terminal = sys.stderr.isatty()

    def turns(events: Iterable[Event], left: Sequence[TurnPlan]) -> Iterable[Event]:
        followed = _alarmed(_bar(events, left) if on_terminal else _lines(events, left))
        return _ungated(followed) if show_ungated else followed

    return Watch(turns=turns, answers=shown)


def say(text: str) -> None:
    """Write one line of progress."""
    sys.stderr.write(safe_text(text) + "\n")


def _work(plan: TurnPlan) -> int:
    if plan.tokens is None:
        return 1
    reused = plan.tokens.possible_forced if plan.request.forced else plan.tokens.possible_natural
    answer = plan.tokens.answer_tokens or plan.request.max_tokens // 4
    return plan.tokens.prompt_tokens - reused + DECODE_WEIGHT * answer


def _bar(events: Iterable[Event], left: Sequence[TurnPlan]) -> Iterator[Event]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(True))
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, auto_refresh=False, transient=True, speed_estimate_period=600
    ) as bar:
        task = bar.add_task(_place(left[0], left), total=sum(map(_work, left)))
        bar.refresh()
        following = {plan.key: after for plan, after in pairwise(left)}
        for event in events:
            yield event
            if event.kind == "turn":
                after = following.get(event.plan.key, event.plan)
                bar.update(task, advance=_work(event.plan), description=_place(after, left))
                bar.refresh()


def _place(plan: TurnPlan, left: Sequence[TurnPlan]) -> str:
    context = f", {plan.tokens.prompt_tokens:,} tokens of context" if plan.tokens else ""
    place = sum(other.position <= plan.position for other in left)
    return f"replay: turn {place} of {len(left)}{context}"


def _lines(events: Iterable[Event], left: Sequence[TurnPlan]) -> Iterator[Event]:
    total, spent, begin = sum(map(_work, left)), 0, perf_counter()
    last = {plan.turn.trajectory_id: plan for plan in left}
    for event in events:
        yield event
        if event.kind != "turn":
            continue
        spent += _work(event.plan)
        if last[event.plan.turn.trajectory_id] is event.plan:
            minutes = (perf_counter() - begin) * (total - spent) / spent / 60
            say(f"{_place(event.plan, left)}, {spent / total:.0%} done, about {minutes:.0f} min left")


def _alarmed(events: Iterable[Event]) -> Iterator[Event]:
    """Say at once that the run became invalid: a failed turn takes the later ones of its trajectory along."""
    for event in events:
        yield event
        if event.result is not None and event.result.error not in (None, ABORTED):
            turn = event.result
            where = f"turn {turn.turn} of {turn.trajectory_id}"
            say(f"INVALID from here on: {where}: {turn.error}. Its later turns are dropped.")


def _ungated(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        yield event
        if event.result is not None:
            first, rate = ttft_s(event.result), decode_tokens_per_s(event.result)
            ttft = "" if first is None else f" TTFT {first:.2f} s"
            decode = "" if rate is None else f" decode {rate:.1f} tokens/s"
            say(f"UNGATED turn {event.result.turn} of {event.result.trajectory_id}:{ttft}{decode}")
