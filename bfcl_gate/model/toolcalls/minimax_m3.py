"""MiniMax M3: elements named after the parameters, every tag behind a mark, nested values as nested elements.

The mark is a token of its own, so no value can hold a tag. `<item>` elements make an array.
"""

import re
from collections.abc import Mapping
from typing import Any

from bfcl_gate.model.toolcalls.coercion import coerce, kinds_of
from bfcl_gate.model.toolcalls.frames import cut_opener
from bfcl_gate.model.toolcalls.records import Attempt, Block, Problem, Source
from bfcl_gate.model.toolcalls.scan import MAX_DEPTH, CutOff, Unreadable, expect, skip_space

_MARK = "]<]minimax[>["
_BLOCK, _BLOCK_END = f"{_MARK}<tool_call>", f"{_MARK}</tool_call>"
_INVOKE_END = f"{_MARK}</invoke>"
_INVOKE = re.compile(re.escape(_MARK) + r'<invoke name="(?P<name>[^"\n]*)">')
_ELEMENT = re.compile(re.escape(_MARK) + r"<([^</>\n]{1,200})>")


class _Values:
    """Reads values and remembers whether each had its declared type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.typed = True

    def members(self, position: int, schemas: Any, closer: str, depth: int) -> tuple[dict[str, Any], int]:
        """Read named elements up to `closer`; return them and the position behind it."""
        found: dict[str, Any] = {}
        position = skip_space(self.text, position)
        while element := _ELEMENT.match(self.text, position):
            name = element.group(1)
            schema = schemas.get(name) if isinstance(schemas, Mapping) else None
            found[name], position = self.value(element, schema, depth)
            position = skip_space(self.text, position)
        return found, expect(self.text, position, closer)

    def items(self, position: int, schema: Any, closer: str, depth: int) -> tuple[list[Any], int]:
        """Read `<item>` elements up to `closer`."""
        found: list[Any] = []
        position = skip_space(self.text, position)
        while (element := _ELEMENT.match(self.text, position)) and element.group(1) == "item":
            item, position = self.value(element, schema, depth)
            found.append(item)
            position = skip_space(self.text, position)
        return found, expect(self.text, position, closer)

    def value(self, element: re.Match[str], schema: Any, depth: int) -> tuple[Any, int]:
        """Read the value of an opened element and its closing tag."""
        closer, begin = f"{_MARK}</{element.group(1)}>", element.end()
        if depth > MAX_DEPTH:
            raise Unreadable(begin)
        kinds = kinds_of(schema)
        fields = schema if isinstance(schema, Mapping) else {}
        inner = _ELEMENT.match(self.text, skip_space(self.text, begin))
        empty = self.text.startswith(closer, begin)
        if kinds == {"array"} or (inner and inner.group(1) == "item"):
            return self.items(begin, fields.get("items"), closer, depth + 1)
        if inner or (empty and kinds == {"object"}):
            return self.members(begin, fields.get("properties"), closer, depth + 1)
        end = self.text.find(_MARK, begin)
        if end < 0:
            raise CutOff(begin)
        value, typed = coerce(self.text[begin:end], schema)
        self.typed = self.typed and typed
        return value, expect(self.text, end, closer)


def find(source: Source, start: int) -> list[Block]:
    """Return the call blocks from `start` on."""
    blocks: list[Block] = []
    while (start := source.text.find(_BLOCK, start)) >= 0:
        block = _block(source, start)
        start = block.end if block else start + len(_BLOCK)
        if block:
            blocks.append(block)
    return blocks


def _block(source: Source, start: int) -> Block | None:
    text, values = source.text, _Values(source.text)
    position = skip_space(text, start + len(_BLOCK))
    attempts: list[Attempt] = []
    error: Problem | None = None
    while error is None and (invoke := _INVOKE.match(text, position)):
        name = invoke.group("name")
        try:
            found, position = values.members(invoke.end(), source.schemas.get(name), _INVOKE_END, 0)
            attempts.append(source.read(name, found, invoke.end()))
        except Unreadable as problem:
            error = "truncated" if isinstance(problem, CutOff) or source.cut else "invalid-call"
            end = len(text) if error == "truncated" else problem.position
            attempts.append(source.failed(name, start=position, end=end, offset=invoke.end()))
            position = end
        position = skip_space(text, position)
    if not attempts:
        return cut_opener(source, start, start + len(_BLOCK), inside=True)
    closed = text.startswith(_BLOCK_END, position)
    native = values.typed and (closed or position == len(text))
    end = position + len(_BLOCK_END) if closed else position
    return Block(start=start, end=end, attempts=tuple(attempts), native=native or bool(error), error=error)
