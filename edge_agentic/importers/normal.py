"""The one shape every format is read into, and what is noted on the way.

A session is one append-only chat in the order its prompts were built: the user's texts, the replies of
the model and the results of its tool calls. Texts are as recorded, byte for byte.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

REPAIRS = {
    "R1": "merged_user",
    "R2": "merged_assistant",
    "R3": "split_assistant",
    "R4": "orphan_call",
    "R5": "orphan_result",
    "R6": "text_tool",
    "R7": "rekeyed",
    "R8": "fixed_args",
    "R9": "folded_user",
    "R10": "dropped_tail",
    "R11": "dropped_head",
    "R12": "empty_reply",
    "R13": "split_conversation",
    "R14": "content_flattened",
    "R15": "image_replaced",
    "R16": "ansi",
    "R17": "bad_unicode",
    "R18": "bad_line",
    "R19": "capped_delay",
    "R20": "duplicate_record",
}
"""Every change an import makes to what was recorded, by code. docs/traces.md describes each."""

SplitReason = Literal["compaction", "rewind", "subagent", "fork", "history_rewrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText:
    """Text put to the model that is no tool result; `kind` says who put it there.

    `wait` is a recorded wait before it in seconds, and where it is from; a user's time to think is none.
    """

    text: str
    kind: str = "user"
    wait: tuple[float, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as recorded: `id` may be missing or repeated, `arguments` text, an object or nothing."""

    id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave back. Of its time at most one is known: how long the tool ran (`wait_s`), when it
    started and ended, or only when the result was there (`ended_s`, seconds of any one clock)."""

    call_id: str | None
    text: str
    wait_s: float | None = None
    started_s: float | None = None
    ended_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the model, or a part of one: parts with an equal `key` are one model call.

    `failed` marks an attempt whose text was thrown away and asked again. `limit` is the longest answer (tokens)
    to be asked for in its place, where that is not the limit of the whole import.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    key: str | None = None
    ended_s: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    finish: str | None = None
    failed: bool = False
    limit: int | None = None


Item = UserText | ToolResult | Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation. `parent` is the id of the session it came from, `spawn_call` the call that began it.

    `synthetic` marks one whose texts were made up for a trace of lengths.
    """

    id: str
    items: tuple[Item, ...]
    system: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    model: str | None = None
    parent: str | None = None
    split_reason: SplitReason | None = None
    spawn_call: str | None = None
    max_tokens: int | None = None
    synthetic: bool = False


class Notes:
    """What an import did: repairs by code, records left out by kind, remarks in order."""

    def __init__(self) -> None:
        self.repairs: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.remarks: list[str] = []

    def repair(self, code: str, count: int = 1) -> None:
        """Count a repair; `code` is a key of REPAIRS."""
        if count:
            self.repairs[code] += count

    def skip(self, kind: str) -> None:
        """Count a record that holds nothing a model was given."""
        self.skipped[kind if len(kind) <= 60 else f"{kind[:59]}…"] += 1

    def remark(self, text: str) -> None:
        """Add a sentence to the report, once."""
        if text not in self.remarks:
            self.remarks.append(text)
