"""Text for traces of lengths: synthetic, from a seed, as long as recorded to the token for one model.

Every word is one token of that model's vocabulary, and which word stands at a position of a prompt follows
from the run of tokens that stands there. So prompts are exactly as long as recorded under the model's template
and begin alike exactly as far as their runs do.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random

from bfcl_gate.errors import InputError
from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import PlannedTurn
from edge_agentic.importers.normal import Item, Notes, Reply, Session, UserText
from edge_agentic.importers.shape_rounds import Chat, Round, Run
from edge_agentic.importers.shape_words import WORDS
from edge_agentic.importers.trajectories import Named
from edge_agentic.trace import Trajectory

Plan = Callable[[Sequence[ChatRequest]], "Sequence[PlannedTurn] | None"]
"""Counts the tokens of one trajectory's requests (`Engine.plan`)."""

MAX_TOKENS = 50_000_000
_FEWEST_WORDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """For which model text is made, from which seed, and the longest prompt that is kept (tokens)."""

    model: str
    plan: Plan = field(repr=False)
    seed: int = 0
    longest: int | None = None

    def describe(self) -> dict[str, str]:
        """Return what the metadata row of a trace says of its text."""
        return {
            "description": "Lengths, shared beginnings and waits as recorded; the text is synthetic.",
            "text": f"synthetic, made from seed {self.seed} for the tokenizer and template of {self.model}",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a model's template adds, in tokens, and the words that are one token each.

    `head` stands before the first text, `first` is head and what follows it up to the reply, `between` is all
    from the end of a reply to the next one but the text, `end` closes a reply.
    """

    words: tuple[str, ...]
    head: int
    first: int
    between: int
    end: int

    @property
    def least(self) -> int:
        """The fewest tokens by which a prompt is longer than the one before it."""
        return self.between + 2


@lru_cache(maxsize=1)
def measure_layout(synthesis: Synthesis) -> Layout:
    """Ask the model's tokenizer and template. Raises InputError where they do not allow exact lengths."""
    words = _single(synthesis)
    if len(words) < _FEWEST_WORDS:
        raise InputError(
            f"{synthesis.model}: its vocabulary has only {len(words)} of {len(WORDS)} common words as one token, so "
            "no text of exact length can be made for it; name another model with --model."
        )
    one, two = words[0], words[1]
    chat: list[Message] = [_user(one), _reply(two), _user(one), _reply(two), _user(one)]
    first, second, third = _planned(synthesis, [_asked(chat[:end], _reply(two)) for end in (1, 3, 5)])
    _, other = _planned(synthesis, [_asked([_user(one)]), _asked([_user(two)])])
    between = third.prompt_tokens - second.prompt_tokens - 2
    return Layout(
        words=words,
        head=other.possible_natural,
        first=first.prompt_tokens - 1,
        between=between,
        end=(first.answer_tokens or 1) - 1,
    )


def _single(synthesis: Synthesis) -> tuple[str, ...]:
    """Return the words that are one token each, at the start of a text and behind another word."""
    counts = _planned(synthesis, [_asked([_user(f"{word} {word} {word}")]) for word in WORDS])
    fewest = min(count.prompt_tokens for count in counts)
    return tuple(w for w, count in zip(WORDS, counts, strict=True) if count.prompt_tokens == fewest)


def _planned(synthesis: Synthesis, requests: Sequence[ChatRequest]) -> Sequence[PlannedTurn]:
    planned = synthesis.plan(requests)
    if planned is None:
        raise InputError(f"{synthesis.model}: its tokens cannot be counted here; name a local model.")
    return planned


def _asked(messages: Sequence[Message], recorded: Message | None = None) -> ChatRequest:
    return ChatRequest(messages=tuple(messages), recorded=recorded)


def _user(content: str) -> Message:
    return {"role": "user", "content": content}


def _reply(content: str) -> Message:
    return {"role": "assistant", "content": content}


def sessions_of(chats: Sequence[Chat], layout: Layout, seed: int, notes: Notes) -> list[Session]:
    """Return each chat as a session of synthetic texts. Raises InputError where they would be too long."""
    total = sum(chat.rounds[-1].input_tokens + chat.rounds[-1].output_tokens for chat in chats)
    if total > MAX_TOKENS:
        raise InputError(
            f"Prompts and replies have {total:,} tokens, at most {MAX_TOKENS:,} can be made; import a part of the "
            "recording, or shorter prompts only with --max-prompt N."
        )
    counts: Counter[str] = Counter()
    sessions = [_session(chat, layout, seed, counts) for chat in chats]
    _remark(counts, notes)
    return sessions


def _session(chat: Chat, layout: Layout, seed: int, counts: Counter[str]) -> Session:
    return Session(
        id=chat.id,
        items=tuple(_items(chat, layout, seed, counts)),
        model=chat.rounds[0].model,
        parent=chat.parent,
        split_reason=chat.reason,
        synthetic=True,
    )


def _items(chat: Chat, layout: Layout, seed: int, counts: Counter[str]) -> Iterator[Item]:
    """Yield text and reply of each round. `size` is the length of the prompt so far, in tokens."""
    size = 0
    tail = layout.first - layout.head
    for number, each in enumerate(chat.rounds):
        target = each.input_tokens
        if number == 0:
            words = max(1, target - layout.first)
            counts["longer"] += target < layout.first + 1
            start, size = layout.head, layout.first + words
            wait = None
        else:
            before = chat.rounds[number - 1]
            said = min(_said(before, layout), target - size - layout.between - 1)
            counts["cut tokens"] += _said(before, layout) - said
            counts["cut"] += said < _said(before, layout)
            yield _reply_item(before, _text(each.runs, size, said, layout, seed))
            words = target - size - said - layout.between
            start, size = target - tail - words, target
            wait = each.wait
        yield UserText(text=_text(each.runs, start, words, layout, seed), kind="synthetic", wait=wait)
    last = chat.rounds[-1]
    own: tuple[Run, ...] = ((f"last reply of {chat.id}", _said(last, layout)),)
    yield _reply_item(last, _text(own, 0, _said(last, layout), layout, seed))


def _said(each: Round, layout: Layout) -> int:
    """Return the words of a reply whose tokens are as many as recorded, its end included."""
    return max(1, each.output_tokens - layout.end)


def _reply_item(each: Round, text: str) -> Reply:
    return Reply(
        text=text, input_tokens=each.input_tokens, output_tokens=each.output_tokens, limit=each.output_tokens
    )


def _text(runs: Sequence[Run], start: int, count: int, layout: Layout, seed: int) -> str:
    """Return the words that stand at positions `start` to `start + count` of a prompt."""
    found: list[str] = []
    at = 0
    for key, tokens in runs:
        if at + tokens > start and len(found) < count:
            skipped = max(0, start - at)
            wanted = min(tokens, skipped + count - len(found))
            found += Random(f"{seed}/{key}".encode("utf-8", "surrogatepass")).choices(layout.words, k=wanted)[
                skipped:
            ]
        at += tokens
        if len(found) >= count:
            break
    # A prompt too short for the template still says something.
    return " ".join(found or layout.words[:1])


def _remark(counts: Counter[str], notes: Notes) -> None:
    notes.remark(
        "The text is synthetic: lengths, shared beginnings and waits are recorded, the words mean nothing. Do not "
        "judge answers by it."
    )
    if counts["cut"]:
        notes.remark(
            f"Replies cut short: {counts['cut']:,}, by {counts['cut tokens']:,} tokens in all; the prompts after them "
            "grew by less than the reply (reasoning is left out of later prompts)."
        )
    if counts["longer"]:
        notes.remark(f"Prompts longer than recorded: {counts['longer']:,}; the template alone is longer.")


def note_exactness(
    synthesis: Synthesis, named: Sequence[Named], trajectories: Sequence[Trajectory], notes: Notes
) -> None:
    """Count what was written by the model's own template and tokenizer, and say how many lengths are exact."""
    prompts, replies, total = 0, 0, 0
    for each, trajectory in zip(named, trajectories, strict=True):
        if not each.session.synthetic:
            continue
        planned = _planned(synthesis, [turn.request() for turn in trajectory.turns])
        answers = (row for row in each.rows if row["role"] == "assistant")
        for row, turn in zip(answers, planned, strict=True):
            total += 1
            prompts += turn.prompt_tokens == row["recorded_input_tokens"]
            replies += turn.answer_tokens == row["recorded_output_tokens"]
    if total:
        notes.remark(
            f"Counted by the template and tokenizer of {synthesis.model}: {prompts:,} of {total:,} prompts and "
            f"{replies:,} of {total:,} replies are exactly as long as recorded."
        )
