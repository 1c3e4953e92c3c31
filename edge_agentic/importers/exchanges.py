"""Logged requests to conversations: each request holds its whole history, so equal beginnings belong together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edge_agentic.importers.covered import beginnings, compared
from edge_agentic.importers.normal import Item, Notes, Reply, Session, SplitReason, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and the reply to it (None where the log has none). Times are seconds of one clock."""

    items: tuple[Item, ...]
    reply: Reply | None
    system: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    model: str | None = None
    max_tokens: int | None = None
    started_s: float | None = None
    conversation: str | None = None


@dataclass(slots=True, kw_only=True)
class _Chain:
    """The exchanges of one conversation so far, and the digest of the last one's whole prompt."""

    exchanges: list[Exchange]
    digest: bytes
    parent: "_Chain | None" = None
    reason: SplitReason | None = None


_Asked = Mapping[bytes, Sequence[Exchange]]
"""Every exchange by the digest of its prompt."""


def chain(exchanges: Iterable[Exchange], name: str, notes: Notes) -> list[Session]:
    """Return one session for each series of requests in which each prompt extends the one before.

    A request that leaves a conversation at an older prompt is a fork, or, where it is longer than the newest
    prompt, the same work on a rewritten history. Ids, reasoning and system prompts are not compared: clients
    rewrite them.
    """
    ordered = _in_time(list(exchanges))
    prompts: dict[bytes, _Chain] = {}
    asked: dict[bytes, list[Exchange]] = {}
    chains: list[_Chain] = []
    reason: SplitReason | None
    for exchange in ordered:
        digests = beginnings(exchange.items, exchange.conversation or "")
        found = _extended(exchange, digests, prompts)
        last = found.exchanges[-1] if found else None
        if found is None or last is None:
            parent = _relative(digests, prompts)
            reason = None if parent is None else "history_rewrite"
            found = _Chain(exchanges=[exchange], digest=digests[-1], parent=parent, reason=reason)
            chains.append(found)
        elif digests[-1] == found.digest:
            notes.repair("R20" if _same_reply(last, exchange) else "R3")
            found.exchanges[-1] = exchange if exchange.reply else last
        elif len(last.items) < len(exchange.items) and digests[len(last.items)] == found.digest:
            found.exchanges.append(exchange)
            found.digest = digests[-1]
        else:
            # One that goes on behind the newest prompt continues the same work on an altered history.
            reason = "history_rewrite" if len(exchange.items) > len(last.items) else "fork"
            found = _Chain(exchanges=[exchange], digest=digests[-1], parent=found, reason=reason)
            chains.append(found)
        prompts[digests[-1]] = found
        asked.setdefault(digests[-1], []).append(exchange)
    _note_systems(chains, notes)
    return _sessions(chains, asked, name)


def _in_time(exchanges: list[Exchange]) -> list[Exchange]:
    if all(exchange.started_s is not None for exchange in exchanges):
        return sorted(exchanges, key=lambda exchange: exchange.started_s or 0.0)
    return exchanges


def _extended(exchange: Exchange, digests: Sequence[bytes], prompts: Mapping[bytes, _Chain]) -> _Chain | None:
    """Return the chain whose longest prompt is a beginning of this one, followed by a reply."""
    for length in range(len(digests) - 1, 0, -1):
        found = prompts.get(digests[length])
        if found is None:
            continue
        # A prompt is followed by its reply; a record that holds its reply, by anything.
        if length == len(exchange.items) or any(
            isinstance(item, Reply) for item in exchange.items[length - 1 : length + 1]
        ):
            return found
    return None


def _same_reply(one: Exchange, other: Exchange) -> bool:
    first, second = (compared(each.reply) if each.reply else None for each in (one, other))
    return first == second


def _relative(digests: Sequence[bytes], prompts: Mapping[bytes, _Chain]) -> _Chain | None:
    """Return a chain that began with the same first prompt."""
    return next((prompts[d] for d in digests[1:] if d in prompts), None)


def _note_systems(chains: Sequence[_Chain], notes: Notes) -> None:
    varied = sum(
        len({exchange.system for exchange in each.exchanges if exchange.system}) > 1 for each in chains
    )
    if varied:
        notes.remark(
            f"The system prompt varies within {varied} of {len(chains)} conversations; the first is kept, so the "
            "replay reuses more of its prompts than the recording could (system_prompt_varies)."
        )


def _sessions(chains: Sequence[_Chain], asked: _Asked, name: str) -> list[Session]:
    names = {
        id(each): each.exchanges[0].conversation or (name if len(chains) == 1 else f"{name}.{number}")
        for number, each in enumerate(chains, start=1)
    }
    return [
        replace(
            _session(each, asked, names[id(each)]),
            parent=names.get(id(each.parent)),
            split_reason=each.reason,
        )
        for each in chains
    ]


def _session(each: _Chain, asked: _Asked, name: str) -> Session:
    last = each.exchanges[-1]
    items = list(last.items)
    requests = _requests(each, asked)
    for at, exchange in requests.items():
        if exchange.reply is None:
            continue
        if at == len(items):
            items.append(exchange.reply)
        elif isinstance(sent := items[at], Reply):
            items[at] = _with_record(sent, exchange.reply)
    return Session(
        id=name,
        items=tuple(_with_waits(items, requests)),
        system=next((e.system for e in each.exchanges if e.system), None),
        tools=next((e.tools for e in each.exchanges if e.tools), ()),
        model=next((e.model for e in each.exchanges if e.model), None),
        max_tokens=next((e.max_tokens for e in each.exchanges if e.max_tokens), None),
    )


def _requests(each: _Chain, asked: _Asked) -> dict[int, Exchange]:
    """Return the exchange that asked for the reply at each place of the conversation.

    The same prompt may have been put twice (a retry, the common beginning of two forks); then the one whose
    reply went into this conversation counts.
    """
    last = each.exchanges[-1]
    own = {len(exchange.items): exchange for exchange in each.exchanges}
    found: dict[int, Exchange] = {}
    for at, digest in enumerate(beginnings(last.items, last.conversation or "")):
        sent = last.items[at] if at < len(last.items) else None
        same = [e for e in asked.get(digest, ()) if e.reply and sent and compared(e.reply) == compared(sent)]
        if exchange := same[0] if same else own.get(at):
            found[at] = exchange
    return found


def _with_record(sent: Reply, recorded: Reply) -> Reply:
    """The text stays as later prompts hold it; what only the reply tells is added."""
    return replace(
        sent,
        reasoning=sent.reasoning or recorded.reasoning,
        ended_s=recorded.ended_s,
        input_tokens=recorded.input_tokens,
        output_tokens=recorded.output_tokens,
        finish=recorded.finish,
    )


def _with_waits(items: Sequence[Item], requests: Mapping[int, Exchange]) -> Iterable[Item]:
    """Give the results of a request its start: until then the client waited for its tools."""
    starts = sorted((at, each.started_s) for at, each in requests.items() if each.started_s is not None)
    for position, item in enumerate(items):
        if isinstance(item, ToolResult) and item.wait_s is None and item.ended_s is None:
            request = next((start for at, start in starts if at > position), None)
            yield replace(item, ended_s=request)
        else:
            yield item
