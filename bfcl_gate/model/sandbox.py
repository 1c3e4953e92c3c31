"""Runs a chat template as what it is: a program out of a downloaded file.

Jinja's sandbox keeps it from Python's internals; nothing random is in reach, so a prompt is always the same.
Loop rounds and calls are counted, the numbers and texts that `*` and `**` make and the whole output are
limited, so a template comes to its end or is refused. What a single other operation may still allocate hits
the engine's child process alone.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

CLOCK = datetime(2026, 1, 1)
"""What a template that prints today's date is told: a prompt must not change from one day to the next."""

_OPEN, _CLOSE = "\u2e28", "\u2e29"

MARKED = re.compile(f"{_OPEN}([0-9]{{1,7}}){_CLOSE}")
"""A number in rare parentheses: the place of a text that a template's `guard` took out.

They are printable, so that Python's own notation of a list or an object, which some templates print, leaves
them as they are.
"""

MAX_STEPS = 5_000_000
"""Loop rounds of one rendering, seconds at most; a conversation of a thousand turns takes some ten thousand."""

_CALL_STEPS = 5  # a macro call takes some fifty times as long as a loop round, a method call as long

MAX_OUTPUT = 32 << 20
"""Characters of one rendering; a million tokens are some five million characters."""

_MAX_REPEATED = 1 << 20
_MAX_FACTOR = 1 << 64

FAILURES = (
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RuntimeError,
    MemoryError,
    SyntaxError,
)
"""What compiling or rendering a template may raise."""


def mark(number: int) -> str:
    """Return the mark that MARKED finds."""
    return f"{_OPEN}{number}{_CLOSE}"


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """`tojson` as the field's templates expect it: no HTML escaping, characters as they are; marks survive."""
    text = json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_listed,
    )
    return text.replace("\\u2e28", _OPEN).replace("\\u2e29", _CLOSE) if ensure_ascii else text


def _listed(value: Any) -> list[Any]:
    """Return what `map` and its like give as the list that their template means."""
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError(f"a value of {type(value).__name__} has no JSON form")


def _raise(message: str) -> None:
    raise TemplateError(str(message))


class _GenerationBlock(Extension):
    """`{% generation %}` marks the assistant's tokens for training; for a prompt its body is all there is."""

    tags = {"generation"}  # noqa: RUF012 - the attribute jinja reads

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Sandbox(SandboxedEnvironment):
    """The environment templates are compiled in, with whitespace handled as serving engines do.

    Lists are not immutable in it (some templates append to their own), so give it copies.
    """

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, decoded: Callable[[Any], Any]) -> None:
        """`decoded` is applied to what a template decodes from JSON itself."""
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _GenerationBlock])
        self._steps_left = MAX_STEPS
        self.filters["counted"] = self._counted
        self.filters["tojson"] = _tojson
        self.filters["safe"] = str  # jinja's own makes what is added to its result HTML
        self.filters["from_json"] = lambda text: decoded(json.loads(text))
        self.globals["raise_exception"] = _raise
        self.globals["strftime_now"] = lambda pattern: CLOCK.strftime(pattern)
        del self.filters["random"], self.globals["lipsum"]

    def run(self, template: Template, variables: Mapping[str, Any]) -> str:
        """Return what the template writes; raises one of FAILURES."""
        self._steps_left = MAX_STEPS
        pieces, size = [], 0
        for piece in template.generate(variables):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_OUTPUT:
                raise TemplateError(f"it writes more than {MAX_OUTPUT:,} characters")
        return "".join(pieces)

    def _step(self, steps: int = 1) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise TemplateError(f"it takes more than {MAX_STEPS:,} steps")

    def _counted(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._step()
            yield item

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            if loop.recursive:  # its inner rounds could not be counted, and no known template needs one
                raise TemplateSyntaxError("recursive loops are not supported", loop.lineno)
            loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None, lineno=loop.lineno)
            loop.iter.set_environment(self)
        return tree

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - jinja's names
        __self._step(_CALL_STEPS)
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**":
            allowed = abs(left) <= 1 << 16 and abs(right) <= 64
        elif isinstance(left, int | float) and isinstance(right, int | float):
            allowed = abs(left) <= _MAX_FACTOR and abs(right) <= _MAX_FACTOR
        else:
            many, times = (right, left) if isinstance(left, int) else (left, right)
            allowed = len(many) * times <= _MAX_REPEATED
        if not allowed:
            raise TemplateError(f"the result of {operator} is too large")
        return super().call_binop(context, operator, left, right)
