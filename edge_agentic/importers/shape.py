"""Traces of lengths only (Mooncake, Weka, TraceLab) to sessions of synthetic text for one model's tokenizer."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from bfcl_gate.errors import InputError
from edge_agentic.importers.normal import Notes, Session
from edge_agentic.importers.shape_rounds import Chat, Round, chats_of, cut, note_reuse
from edge_agentic.importers.shape_text import Synthesis, measure_layout, sessions_of
from edge_agentic.importers.source import Source

SHAPES = ("mooncake", "weka", "tracelab")
"""The formats that hold no text; each has a module with `read_rounds`."""

NEEDS_MODEL = (
    "cannot be imported as it is: it holds only lengths and times and no text. Name the model for whose tokenizer "
    "text of these lengths is to be made: --model NAME or PATH."
)


def read_shapes(
    form: str, sources: Sequence[Source], synthesis: Synthesis | None, notes: Notes
) -> list[Session]:
    """Read sources of one of SHAPES. Raises InputError where nobody said for which model the text is."""
    if synthesis is None:
        raise InputError(f"{sources[0].path}: {NEEDS_MODEL}")
    layout = measure_layout(synthesis)
    rounds: list[Round] = []
    chats: list[Chat] = []
    for source in sources:
        read = list(_reader(form)(source, notes))
        rounds += read
        chats += chats_of(read, source.stem, layout.first + 1, layout.least, notes)
    chats = cut(chats, synthesis.longest, notes)
    note_reuse(rounds, chats, notes)
    return sessions_of(chats, layout, synthesis.seed, notes)


def _reader(form: str) -> Callable[[Source, Notes], Iterator[Round]]:
    read: Callable[[Source, Notes], Iterator[Round]] = import_module(
        f"edge_agentic.importers.{form}"
    ).read_rounds
    return read
