"""What is known of an answer before, while and after its tool calls are read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bfcl_gate.model.chat import Tool
from bfcl_gate.model.toolcalls.scan import Unreadable, balanced_end, json_value

Problem = Literal["truncated", "invalid-json", "invalid-call"]
"""Why an attempt is no call: the text ends inside it; its JSON is none; it is readable but not a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call as it would be executed."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempted call.

    `arguments` is None where the attempt could not be read; then `raw_arguments` is the model's own text
    and decodes to a JSON object only where the whole attempt is one without a usable name. Otherwise
    `raw_arguments` is JSON text that decodes to `arguments`.
    `name` is "" where none could be read. `declared` tells whether a tool of that name was offered.
    `offset` is the character of the answer at which the arguments begin.
    """

    name: str
    raw_arguments: str
    arguments: dict[str, Any] | None
    declared: bool
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """An answer split into calls, content and reasoning; `content` and `reasoning` are None when empty.

    `error` is the first problem met: "truncated", "invalid-json" or "invalid-call". `native` is True when
    every attempt has the syntax's exact form, False when one has not, None without any attempt.
    """

    calls: tuple[ToolCall, ...]
    attempts: tuple[Attempt, ...]
    content: str | None
    reasoning: str | None
    error: Problem | None
    native: bool | None

    @property
    def first_argument_offset(self) -> int | None:
        """The character of the answer at which the first attempted call's arguments begin."""
        return self.attempts[0].offset if self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The text being read: its end-of-generation markers are off, `schemas` maps tool to parameter schemas.

    `prefix` is the end of the generation prompt; `cut` tells that generation stopped at the token limit.
    """

    text: str
    schemas: Mapping[str, Mapping[str, Any]]
    cut: bool
    prefix: str = ""

    def read(self, name: str, arguments: dict[str, Any], offset: int, raw: str | None = None) -> Attempt:
        """Return a call; `raw` is the model's JSON text where it wrote the arguments as strict JSON."""
        raw = json.dumps(arguments, ensure_ascii=False) if raw is None else raw
        return Attempt(
            name=name,
            raw_arguments=raw,
            arguments=arguments,
            declared=name in self.schemas,
            offset=offset,
        )

    def failed(self, name: str, *, start: int, end: int, offset: int) -> Attempt:
        """Return an unreadable attempt that stands in text[start:end] and whose arguments begin at `offset`.

        Where the arguments alone would decode (only what is around them is broken), the raw text is the
        whole attempt, so that nobody takes it for a call.
        """
        bracketed = self.text.startswith(("{", "["), offset)
        closed = balanced_end(self.text, offset, end) if bracketed else None
        raw = self.text[offset : closed or end].strip()
        if _is_json_object(raw):
            raw = self.text[start:end]
        return Attempt(
            name=name, raw_arguments=raw, arguments=None, declared=name in self.schemas, offset=offset
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of the answer that is, or tries to be, one or more calls; it is no content.

    Without attempts and error it is mere markup of the syntax.
    """

    start: int
    end: int
    attempts: tuple[Attempt, ...]
    native: bool
    error: Problem | None = None

    @property
    def tries(self) -> bool:
        """Whether it is more than markup."""
        return bool(self.attempts) or self.error is not None


def parameter_schemas(tools: Sequence[Tool]) -> dict[str, Mapping[str, Any]]:
    """Map each tool's name to its parameters' schemas; what is not shaped like a tool is left out."""
    schemas: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            continue
        parameters = function.get("parameters")
        properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
        schemas[function["name"]] = properties if isinstance(properties, Mapping) else {}
    return schemas


def _is_json_object(text: str) -> bool:
    try:
        value, end = json_value(text, 0)
    except Unreadable:
        return False
    return isinstance(value, dict) and end == len(text)
