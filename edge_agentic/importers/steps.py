"""Items of a session to steps: what is put to the model, then its whole reply."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from edge_agentic.importers.normal import Item, Notes, Reply, ToolResult, UserText


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model call: the items that are new in its prompt, and its reply."""

    new: tuple[UserText | ToolResult, ...]
    reply: Reply


def steps_of(items: Iterable[Item], notes: Notes) -> tuple[list[Step], tuple[UserText | ToolResult, ...]]:
    """Return the steps, and the items after the last reply.

    Parts of one call become one reply (R2), a call that gave neither text nor a tool call is left out and
    its new items go to the next one (R12), of a series of failed attempts the last one stays (R3).
    """
    grouped, tail = _grouped(items, notes)
    steps: list[Step] = []
    carried: tuple[UserText | ToolResult, ...] = ()
    for step in grouped:
        new = (*carried, *step.new)
        if step.reply.failed:
            notes.repair("R3")
        elif step.reply.text or step.reply.calls:
            steps.append(Step(new=new, reply=step.reply))
            carried = ()
            continue
        else:
            notes.repair("R12")
        carried = new
    return steps, (*carried, *tail)


def _grouped(items: Iterable[Item], notes: Notes) -> tuple[list[Step], tuple[UserText | ToolResult, ...]]:
    steps: list[Step] = []
    new: list[UserText | ToolResult] = []
    for item in items:
        if not isinstance(item, Reply):
            if isinstance(item, ToolResult) or item.text:
                new.append(item)
        elif steps and item.key is not None and item.key == steps[-1].reply.key:
            # Results may stand between the parts of a call where tools ran while it was still streamed.
            notes.repair("R2")
            steps[-1] = Step(new=steps[-1].new, reply=joined(steps[-1].reply, item, "\n"))
        else:
            steps.append(Step(new=tuple(new), reply=item))
            new = []
    return steps, tuple(new)


def joined(first: Reply, second: Reply, between: str) -> Reply:
    """Return two replies as one; counts and times are the later ones where it has them."""
    ended = [value for value in (first.ended_s, second.ended_s) if value is not None]
    return replace(
        first,
        text=_join([first.text, second.text], between),
        reasoning=_join([first.reasoning, second.reasoning], between),
        calls=(*first.calls, *second.calls),
        ended_s=max(ended, default=None),
        input_tokens=first.input_tokens if second.input_tokens is None else second.input_tokens,
        output_tokens=first.output_tokens if second.output_tokens is None else second.output_tokens,
        finish=second.finish or first.finish,
        failed=second.failed,
    )


def _join(parts: Sequence[str], between: str) -> str:
    return between.join(part for part in parts if part)
