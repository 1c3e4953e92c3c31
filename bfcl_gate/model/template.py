"""Chat templates: messages and tools in, the prompt's text out, the way serving engines render it.

Templates in the wild disagree on what a message is; what is put right here is what serving engines put
right: arguments as objects, no null content, `developer` and `system` where a template lacks them. A
template knows no tokens: what is special in the text is the vocabulary's business.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.model.chat import Message, Tool
from bfcl_gate.model.sandbox import CLOCK, FAILURES, MARKED, Sandbox, mark

_RESERVED = ("messages", "tools", "add_generation_prompt")
_NEEDLE = "needle"


class ChatTemplate:
    """A compiled chat template with its fixed variables.

    `guard` is applied to every text of messages and tools before rendering, after JSON in it was decoded; it may
    put marks into it. Raises InputError when the source does not compile or `arguments` (--template-arg) cannot
    be given.
    """

    def __init__(
        self,
        source: str,
        *,
        arguments: Mapping[str, Any],
        bos: str = "",
        eos: str = "",
        guard: Callable[[str], str] = str,
    ) -> None:
        self.source = source
        self._guard = guard
        for name in _RESERVED:
            if name in arguments:
                raise InputError(
                    f"--template-arg {name}: every prompt gives the template its own {name}; leave it out."
                )
        self._variables = {
            "bos_token": bos,
            "eos_token": eos,
            "date_string": CLOCK.strftime("%d %b %Y"),
            **arguments,
        }
        self._sandbox = Sandbox(lambda value: _mapped(value, self._guard_decoded))
        try:
            self._template = self._sandbox.from_string(source)
        except FAILURES as error:
            raise InputError(
                f"The model's chat template does not compile ({_short(error)}). Expected a Jinja template; give a "
                "corrected one with --chat-template FILE."
            ) from error
        named = re.search(r"[.'\"]thinking\b", source)
        self._says_thinking = "reasoning_content" not in source and named is not None
        self._merges_system = self._drops_system()

    def _drops_system(self) -> bool:
        """Whether the template refuses a system message, or drops it without a word."""
        user = {"role": "user", "content": "x"}
        try:
            return _NEEDLE not in self._render([{"role": "system", "content": _NEEDLE}, user], (), True)
        except InputError:
            pass
        try:
            self._render([user], (), True)
        except InputError:
            return False  # it refuses everything so small; the conversation will tell
        return True

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], *, generation_prompt: bool) -> str:
        """Return the prompt's text.

        Arguments of earlier calls are given as objects and, where a template cannot take those, as text; no
        tools are given as None or else as an empty list. Raises InputError when the template refuses them all.
        """
        said = [self._message(message) for message in messages]
        return self._render(_without_system(said) if self._merges_system else said, tools, generation_prompt)

    def _render(self, messages: Sequence[Message], tools: Sequence[Tool], generation_prompt: bool) -> str:
        first: Exception | None = None
        for convert in (_object_arguments, dict):
            for given in (tools,) if tools else (None, ()):
                try:
                    return self._run([convert(message) for message in messages], given, generation_prompt)
                except FAILURES as error:
                    first = first or error
        roles = ", ".join(dict.fromkeys(str(message.get("role")) for message in messages))
        raise InputError(
            f"The model's chat template cannot render this conversation ({_short(first)}). Its roles are "
            f"{_short(roles)}; use a model whose template knows them and tools, or give one with "
            "--chat-template FILE."
        ) from first

    def _run(self, messages: Sequence[Message], tools: Sequence[Tool] | None, generation_prompt: bool) -> str:
        variables = {
            **_mapped(self._variables, str),
            "messages": _mapped(messages, self._guard),
            "tools": _mapped(tools, self._guard),
            "add_generation_prompt": generation_prompt,
        }
        return self._sandbox.run(self._template, variables)

    def _guard_decoded(self, text: str) -> str:
        """Guard what a template decoded from guarded JSON: marks in it stay, what escapes spelt is guarded."""
        pieces = MARKED.split(text)
        return "".join(mark(int(p)) if place % 2 else self._guard(p) for place, p in enumerate(pieces))

    def _message(self, message: Message) -> Message:
        """Return the message with text content and without empty fields, whose mere presence many templates test.

        `developer` becomes `system` where the template lacks it; reasoning is also given as `thinking` to templates
        that call it so.
        """
        given = {key: value for key, value in message.items() if value is not None and value != []}
        changed = {**given, "content": _text_content(message.get("content"))}
        if message.get("role") == "developer" and "developer" not in self.source:
            changed["role"] = "system"
        if "reasoning_content" in given and self._says_thinking:
            changed["thinking"] = given["reasoning_content"]
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


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy a template may alter, every text of it changed, names of fields too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {_mapped(key, change): _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, change) for item in value]
    return value


def _short(problem: object) -> str:
    """Return a problem's text without the megabyte a template may have put into it."""
    text = str(problem) or type(problem).__name__
    return text if len(text) <= 300 else text[:300] + "…"


def _text_content(content: Any) -> str:
    """Return message content as text; raises InputError for parts that are not text."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list | tuple) else [content]
    if not all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in parts):
        raise InputError(
            f"A message's content is {type(content).__name__}; expected text, text parts or null."
        )
    return "\n".join(part["text"] for part in parts)


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with the text of a leading system message before that of the first user message."""
    if not messages or messages[0].get("role") != "system":
        return list(messages)
    system, *others = messages
    user = next((i for i, message in enumerate(others) if message.get("role") == "user"), None)
    if user is None:
        return [{**system, "role": "user"}, *others]
    others[user] = {**others[user], "content": f"{system['content']}\n{others[user]['content']}"}
    return others


def _object_arguments(message: Message) -> Message:
    """Return the message with JSON-text arguments as objects, which most templates print or iterate."""
    calls = message.get("tool_calls")
    return {**message, "tool_calls": [_object_call(call) for call in calls]} if calls else message


def _object_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call["function"]
    given = function.get("arguments")
    if not isinstance(given, str) and given is not None:
        return call
    try:
        arguments = json.loads(given or "{}")
    except ValueError:
        return call
    return {**call, "function": {**function, "arguments": arguments}} if isinstance(arguments, dict) else call
