"""Chat templates: messages and tools in, the prompt's text out, the way serving engines render it.

A template comes out of a downloaded model file, so it is run in jinja's immutable sandbox. It knows no
tokens: what is special in the text is the vocabulary's business.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bfcl_gate.errors import InputError
from bfcl_gate.model.chat import Message, Tool

CLOCK = datetime(2026, 1, 1)
"""What a template that prints today's date is told: a prompt must not change from one day to the next."""

_FAILURES = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


class _GenerationBlock(Extension):
    """`{% generation %}` marks the assistant's tokens for training; for a prompt its body is all there is."""

    tags = {"generation"}  # noqa: RUF012 - the attribute jinja reads

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _tojson(
    value: Any, indent: int | None = None, separators: tuple[str, str] | None = None, sort_keys: bool = False
) -> str:
    """`tojson` as the field's templates expect it: no HTML escaping, characters as they are."""
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: str) -> None:
    raise TemplateError(message)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _GenerationBlock]
    )
    environment.filters["tojson"] = _tojson
    environment.filters["from_json"] = json.loads
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = CLOCK.strftime
    return environment


def _object_arguments(message: Message) -> Message:
    """Return the message with JSON-text arguments as objects, which most templates print or iterate."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "tool_calls": [_object_call(call) for call in calls]}


def _object_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except (TypeError, ValueError):
        return call
    if not isinstance(arguments, dict):
        return call
    return {**call, "function": {**function, "arguments": arguments}}


class ChatTemplate:
    """A compiled chat template with its fixed variables.

    Raises InputError when the source does not compile.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", arguments: Mapping[str, Any]) -> None:
        self.source = source
        self._variables = {
            "bos_token": bos,
            "eos_token": eos,
            "date_string": CLOCK.strftime("%d %b %Y"),
            **arguments,
        }
        try:
            self._template = _environment().from_string(source)
        except _FAILURES as error:
            raise InputError(
                f"The model's chat template does not compile ({error}). Expected a Jinja template; give a "
                "corrected one with --chat-template FILE."
            ) from error

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        *,
        generation_prompt: bool,
        content: Callable[[Any], Any] = lambda value: value,
    ) -> str:
        """Return the prompt's text; `content` is applied to every message and tool before rendering.

        Arguments of earlier calls are given as objects and, where a template cannot take those, as text.
        Raises InputError when the template refuses the conversation.
        """
        plain = [self._message(content(message)) for message in messages]
        try:
            return self._render([_object_arguments(m) for m in plain], content(list(tools)), generation_prompt)
        except _FAILURES as first:
            try:
                return self._render(plain, content(list(tools)), generation_prompt)
            except _FAILURES:
                raise InputError(
                    f"The model's chat template cannot render this conversation ({first}). Its roles are "
                    f"{', '.join(dict.fromkeys(str(m.get('role')) for m in messages))}; use a model whose template "
                    "knows them and tools, or give one with --chat-template FILE."
                ) from first

    def _render(self, messages: Sequence[Message], tools: Sequence[Tool], generation_prompt: bool) -> str:
        return self._template.render(
            **self._variables,
            messages=messages,
            tools=tools or None,
            add_generation_prompt=generation_prompt,
        )

    def _message(self, message: Message) -> Message:
        """Return the message with text content, and with `developer` as `system` where the template lacks it."""
        changed = dict(message)
        changed["content"] = "" if message.get("content") is None else message["content"]
        if message.get("role") == "developer" and "developer" not in self.source:
            changed["role"] = "system"
        return changed

    def generation_prefix(self) -> str:
        """Return the text the template adds to open an answer, "" where it adds none or cannot tell."""
        messages = [{"role": "user", "content": "x"}]
        try:
            asked = self.render(messages, (), generation_prompt=False)
            opened = self.render(messages, (), generation_prompt=True)
        except InputError:
            return ""
        return opened[len(asked) :] if opened.startswith(asked) else ""
