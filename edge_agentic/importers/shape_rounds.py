"""Traces of lengths only, in one form: rounds whose prompts are runs of tokens, and the chats they make up.

A run is a number of tokens under a key: equal keys behind equal beginnings are the same tokens. So runs say
which prompts begin alike, without a word of their text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from edge_agentic.importers.normal import Notes, SplitReason

Run = tuple[str, int]
"""A key and its number of tokens."""

_Tips = dict[tuple[str | None, int, str], "Chat"]
"""Chats by session, solid tokens of the newest prompt and the key these end with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One request of a trace of lengths.

    `runs` sum up to the prompt; the first `solid` tokens of them are comparable (the rest is a block that was
    not full yet). `group` names the session, where the trace knows sessions; `agent_of` the group that began
    it. `wait` is the recorded wait for tools before the request in seconds, and where it is from.
    """

    runs: tuple[Run, ...]
    solid: int
    output_tokens: int
    group: str | None = None
    agent_of: str | None = None
    wait: tuple[float, str] | None = None
    model: str | None = None

    @property
    def input_tokens(self) -> int:
        """The length of the prompt."""
        return sum(tokens for _, tokens in self.runs)


@dataclass(slots=True, kw_only=True)
class Chat:
    """Rounds of which each prompt extends the one before by at least a reply and a text."""

    id: str
    rounds: list[Round] = field(default_factory=list)
    parent: str | None = None
    reason: SplitReason | None = None


def block_runs(ids: Iterable[object], block: int, tokens: int, rest: str) -> tuple[tuple[Run, ...], int]:
    """Return the runs of a prompt of `tokens` in blocks of `block`, and how many of them are solid.

    The last block may be cut by the end of the prompt; what no id covers is a run of its own, under `rest`.
    """
    runs: list[Run] = []
    left = tokens
    for id_ in ids:
        if left <= 0:
            break
        runs.append((f"block {id_}", min(block, left)))
        left -= block
    solid = sum(size for _, size in runs if size == block)
    if left > 0:
        runs.append((rest, left))
    return tuple(runs), solid


def first_tokens(runs: Iterable[Run], tokens: int) -> tuple[Run, ...]:
    """Return the runs of the first `tokens` tokens."""
    kept: list[Run] = []
    for key, size in runs:
        if tokens <= 0:
            break
        kept.append((key, min(size, tokens)))
        tokens -= size
    return tuple(kept)


def shared(one: Round, other: Round) -> int:
    """Return the tokens with which both prompts begin."""
    total = 0
    for (key, tokens), (other_key, other_tokens) in zip(one.runs, other.runs, strict=False):
        if key != other_key:
            break
        total += min(tokens, other_tokens)
        if tokens != other_tokens:
            break
    return total


def chats_of(rounds: Iterable[Round], name: str, shortest: int, least: int, notes: Notes) -> list[Chat]:
    """Join rounds to chats. A prompt has at least `shortest` tokens, the next of a chat `least` more.

    A round follows the chat whose newest prompt it extends. Where it extends none it begins a chat, which
    is linked to the one of its session with which it shares most: its history was rewritten.
    """
    chats: list[Chat] = []
    by_group: dict[str | None, list[Chat]] = {}
    tips: _Tips = {}
    owners: dict[str, Chat] = {}
    for each in rounds:
        chat = _followed(each, tips, owners, shortest, least)
        if chat is None:
            known = by_group.setdefault(each.group, [])
            chat = _begun(each, known, f"{name}.{len(chats) + 1}")
            known.append(chat)
            chats.append(chat)
        chat.rounds.append(each)
        tips[each.group, each.solid, _last_solid(each)] = chat
        for key, _ in each.runs:
            owners.setdefault(key, chat)
    if rewritten := sum(chat.reason == "history_rewrite" for chat in chats):
        notes.remark(
            f"Prompts that do not extend the one before: {rewritten:,} (compaction, pruning, rewinds, or too small a "
            "step for a reply and a text); each begins a linked trajectory that shares the recorded beginning."
        )
    return chats


def _followed(each: Round, tips: _Tips, owners: dict[str, Chat], shortest: int, least: int) -> Chat | None:
    """Return the chat that the round follows: the one with the longest prompt that it extends."""
    ends = list(accumulate(tokens for _, tokens in each.runs))
    for end, (key, _) in zip(reversed(ends), reversed(each.runs), strict=True):
        chat = tips.get((each.group, end, key))
        if chat is None:
            continue
        tip = chat.rounds[-1]
        long_enough = ends[-1] >= max(tip.input_tokens, shortest) + least
        # Among requests of unknown sessions a prompt that ends within what many begin with (a common system
        # prompt) would be continued by any of them.
        its_own = each.group is not None or owners.get(key) is chat
        if tip.solid == end and long_enough and its_own and shared(tip, each) >= end:
            return chat
    return None


def _last_solid(each: Round) -> str:
    ends = accumulate(tokens for _, tokens in each.runs)
    return next((key for end, (key, _) in zip(ends, each.runs, strict=True) if end >= each.solid), "")


def _begun(each: Round, known: Sequence[Chat], name: str) -> Chat:
    if each.group is None:
        return Chat(id=name)
    if not known:
        return Chat(id=each.group, parent=each.agent_of, reason="subagent" if each.agent_of else None)
    nearest = max(known, key=lambda chat: shared(chat.rounds[-1], each))
    return Chat(id=f"{each.group}.r{len(known) + 1}", parent=nearest.id, reason="history_rewrite")


def cut(chats: Iterable[Chat], longest: int | None, notes: Notes) -> list[Chat]:
    """End each chat before its first prompt of more than `longest` tokens."""
    kept, dropped = [], 0
    for chat in chats:
        sizes = [each.input_tokens for each in chat.rounds]
        end = next((i for i, size in enumerate(sizes) if longest is not None and size > longest), len(sizes))
        dropped += len(sizes) - end
        if end:
            kept.append(Chat(id=chat.id, rounds=chat.rounds[:end], parent=chat.parent, reason=chat.reason))
    if dropped:
        notes.remark(
            f"Requests left out: {dropped:,} of {dropped + sum(len(chat.rounds) for chat in kept):,}; they stand at or "
            f"behind the first prompt of their chat with more than {longest:,} tokens (--max-prompt)."
        )
    return kept


def note_reuse(rounds: Iterable[Round], chats: Iterable[Chat], notes: Notes) -> None:
    """Say how much of the prompts stands at the beginning of an earlier one, as recorded and as imported."""
    prompts = [each.runs for each in rounds]
    total = sum(tokens for runs in prompts for _, tokens in runs)
    imported = [each.input_tokens for chat in chats for each in chat.rounds]
    within = sum(before.input_tokens for chat in chats for before in chat.rounds[:-1])
    across = sum(_repeated([chat.rounds[0].runs for chat in chats]))
    if total and imported:
        notes.remark(
            f"Of the recorded prompt tokens {sum(_repeated(prompts)) / total:.1%} stand at the beginning of an earlier "
            f"prompt, of the imported ones {(within + across) / sum(imported):.1%}: {within / sum(imported):.1%} in "
            f"trajectories, {across / sum(imported):.1%} across them (locally each begins with an empty cache)."
        )


def _repeated(prompts: Iterable[Sequence[Run]]) -> Iterable[int]:
    """Yield for each prompt the tokens at its beginning that an earlier one begins with as well."""
    seen: dict[tuple[int, str], int] = {}
    for runs in prompts:
        beginning, common, differs = 0, 0, False
        for key, tokens in runs:
            known = seen.get((beginning, key), 0)
            common += 0 if differs else min(known, tokens)
            differs = differs or known < tokens
            seen[beginning, key] = max(known, tokens)
            beginning = hash((beginning, key, tokens))
        yield common
