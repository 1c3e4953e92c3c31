"""From an answer's text to its calls, content and reasoning, natively and leniently."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bfcl_gate.errors import InputError
from bfcl_gate.model.chat import Tool
from bfcl_gate.model.toolcalls import (
    cohere,
    deepseek,
    functionary,
    gemma,
    glm,
    granite,
    harmony,
    hermes,
    kimi,
    lenient,
    lfm2,
    llama3_json,
    minimax,
    mistral,
    nemotron,
    phi4,
    pythonic,
    qwen_xml,
)
from bfcl_gate.model.toolcalls.endings import content_end, unwrap
from bfcl_gate.model.toolcalls.records import (
    Block,
    ParsedAnswer,
    Problem,
    Source,
    ToolCall,
    parameter_schemas,
)
from bfcl_gate.model.toolcalls.thoughts import Thought, thoughts

Find = Callable[[Source, int], list[Block]]
"""Returns the call blocks of one syntax from a position of the text on, in order."""

SYNTAXES: dict[str, Find] = {
    "hermes": hermes.find,
    "qwen-xml": qwen_xml.find,
    "llama3-json": llama3_json.find,
    "pythonic": pythonic.find,
    "mistral": mistral.find,
    "gemma": gemma.find,
    "phi4": phi4.find,
    "granite": granite.find,
    "glm": glm.find,
    "deepseek": deepseek.find,
    "gpt-oss": harmony.find,
    "nemotron": nemotron.find,
    "lfm2": lfm2.find,
    "minimax": minimax.find,
    "kimi": kimi.find,
    "cohere": cohere.find,
    "functionary": functionary.find,
}
"""The syntaxes by family name; `auto` and `fenced-json` (no native form) are names beside these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """An answer as one syntax reads it."""

    blocks: list[Block]
    thoughts: list[Thought]

    @property
    def first(self) -> Block | None:
        """The first block that is more than markup."""
        return next((block for block in self.blocks if block.tries), None)


def parse_tool_calls(
    text: str,
    tools: Sequence[Tool],
    *,
    syntax: str = "auto",
    mode: str = "lenient",
    prefix: str = "",
    finish: str = "stop",
) -> ParsedAnswer:
    """Split an answer into tool calls, content and reasoning; no text whatsoever makes it raise.

    `syntax` is a family name or "auto" (any known one); `mode` "native" takes only the syntax's exact form,
    "lenient" also fenced or bare JSON that names one of `tools`, and repairs that invent nothing. `prefix`
    is the end of the generation prompt, `finish` "length" where the token limit ended the answer.
    Raises InputError for an unknown syntax or mode.
    """
    source = _source(text, tools, prefix, finish)
    reading, own = _read_in(source, syntax, mode)
    return _answer(source, reading, own=own)


def spans_of(
    text: str, tools: Sequence[Tool], *, syntax: str = "auto", prefix: str = "", finish: str = "stop"
) -> tuple[list[Block], list[Thought]]:
    """Return where the calls and the thoughts of an answer are, read leniently; as `parse_tool_calls` otherwise."""
    reading, _ = _read_in(_source(text, tools, prefix, finish), syntax, "lenient")
    return reading.blocks, reading.thoughts


def _source(text: str, tools: Sequence[Tool], prefix: str, finish: str) -> Source:
    return Source(
        text=text[: content_end(text)],
        schemas=parameter_schemas(tools),
        cut=finish == "length",
        prefix=prefix,
    )


def _read_in(source: Source, syntax: str, mode: str) -> tuple[_Reading, bool]:
    """Return the reading of an answer, and whether its blocks are of the syntax that was asked for."""
    names = _families(syntax, mode)
    reading = _best(source, names)
    if mode == "native":
        return _Reading(blocks=[b for b in reading.blocks if b.native], thoughts=reading.thoughts), True
    if reading.first is None:
        return _any_form(source, names, reading), False
    return reading, True


def _any_form(source: Source, tried: Sequence[str], reading: _Reading) -> _Reading:
    """Read an answer in any syntax but those tried, then in no syntax at all; `reading` found no call."""
    other = _best(source, [name for name in SYNTAXES if name not in tried])
    if other.first is not None:
        return other
    spans = reading.thoughts or other.thoughts
    found = lenient.find(source, spans[0].end if spans and spans[0].start == 0 else 0)
    blocks = sorted([*reading.blocks, *_outside(spans, found)], key=lambda block: block.start)
    return _Reading(blocks=blocks, thoughts=spans)


def _families(syntax: str, mode: str) -> list[str]:
    if mode not in ("native", "lenient"):
        raise InputError(f"mode is {mode!r}; expected 'native' or 'lenient'.")
    if syntax == "auto":
        return list(SYNTAXES)
    if syntax == "fenced-json":
        return []
    if syntax not in SYNTAXES:
        known = ", ".join(["auto", *SYNTAXES, "fenced-json"])
        raise InputError(f"Tool-call syntax {syntax!r} is unknown; expected one of {known}.")
    return [syntax]


def _best(source: Source, names: Sequence[str]) -> _Reading:
    """Return the best reading among some syntaxes: the one whose first block begins earliest.

    What begins inside another syntax's block is that block's business. At the same place a readable call
    in exact form comes before a readable one, and that before an attempt that failed.
    """
    quiet = _Reading(blocks=[], thoughts=thoughts(source, ()))
    readings = (_read(source, SYNTAXES[name], quiet) for name in names)
    return min((reading for reading in readings if reading is not quiet), key=_rank, default=quiet)


def _rank(reading: _Reading) -> tuple[float, int]:
    first = reading.first
    if first is None:
        return float("inf"), 0 if reading.blocks or reading.thoughts else 1
    return first.start, 2 if first.error else 0 if first.native else 1


def _read(source: Source, find: Find, quiet: _Reading) -> _Reading:
    """Read an answer in one syntax; `quiet` is the reading without any call, and returned as it is where it holds."""
    found = find(source, 0)
    if not found and not quiet.thoughts and find is not harmony.find:
        return quiet
    spans = thoughts(source, found) if found else quiet.thoughts
    if find is harmony.find:
        spans = harmony.thoughts(source) or spans
    if spans and spans[0].start == 0:
        found = find(source, spans[0].end)
    return _Reading(blocks=_outside(spans, found), thoughts=spans)


def _outside(spans: Sequence[Thought], blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks that do not begin inside a thought."""
    if not spans:
        return list(blocks)
    starts = [span.start for span in spans]
    before = [bisect_right(starts, block.start) for block in blocks]
    return [
        block for block, at in zip(blocks, before, strict=True) if not at or block.start >= spans[at - 1].end
    ]


def _answer(source: Source, reading: _Reading, *, own: bool) -> ParsedAnswer:
    """Assemble the answer; `own` tells that the blocks are of the syntax that was asked for."""
    attempts = tuple(attempt for block in reading.blocks for attempt in block.attempts)
    return ParsedAnswer(
        calls=tuple(
            ToolCall(name=attempt.name, arguments=attempt.arguments)
            for attempt in attempts
            if attempt.arguments is not None
        ),
        attempts=attempts,
        content=_content(source.text, reading),
        reasoning=_joined(source.text[span.inner_start : span.inner_end] for span in reading.thoughts),
        error=_problem(source, reading),
        native=own and all(block.native for block in reading.blocks) if attempts else None,
    )


def _content(text: str, reading: _Reading) -> str | None:
    taken = sorted([(b.start, b.end) for b in reading.blocks] + [(t.start, t.end) for t in reading.thoughts])
    begins = [0, *(end for _, end in taken)]
    ends = [*(start for start, _ in taken), len(text)]
    content = _joined(text[begin:end] for begin, end in zip(begins, ends, strict=True))
    return content and (unwrap(content) or None)


def _joined(pieces: Iterable[str]) -> str | None:
    return "\n\n".join(filter(None, (piece.strip() for piece in pieces))) or None


def _problem(source: Source, reading: _Reading) -> Problem | None:
    for block in reading.blocks:
        if block.error:
            return block.error
    unfinished = bool(reading.thoughts) and not reading.thoughts[-1].closed
    return "truncated" if unfinished and source.cut and reading.first is None else None
