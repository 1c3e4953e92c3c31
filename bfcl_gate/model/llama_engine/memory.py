"""What a context remembers of a conversation, and how far it can be taken back.

Attention keeps a row for every token, so it can be cut anywhere. A recurrent layer keeps one state that
every token overwrites: the only ways back are to the place where a copy was taken, or to the beginning.
"""

from typing import Any, Protocol

from llama_cpp import llama_cpp as api

_SEQUENCE, _MARKED, _SAVED = 0, 1, 2


class Memory(Protocol):
    """The memory of one conversation, `evaluated` tokens long."""

    sequences: int  # how many sequences its context must be made for
    draft_sequences: int  # how many more where drafts are to be taken back
    needs_marks: bool  # whether it can go back to marked places only

    def mark(self) -> None:
        """Make the present length a place to come back to."""
        ...

    def rewind(self, keep: int) -> int:
        """Go back to `keep` tokens or the nearest place before, and return the tokens kept.

        What is kept is verified: what llama.cpp says it did and what it then holds. Anything in doubt is
        forgotten, so that nothing is ever built on a wrong state.
        """
        ...

    def save(self) -> None:
        """Make the present length a place that `undo` comes back to, beside the marked one."""
        ...

    def undo(self, keep: int) -> int:
        """Go back to `keep` tokens, or to the saved place before them; verified and returned as by `rewind`."""
        ...

    def release(self) -> None:
        """Let go of the saved place and of what it occupies."""
        ...

    def forget(self) -> int:
        """Empty everything and return 0, the tokens kept."""
        ...


def holds_states(model: Any) -> bool:
    """Whether the model has recurrent layers (all of them, or some beside attention)."""
    return bool(api.llama_model_is_recurrent(model) or api.llama_model_is_hybrid(model))


class RowMemory:
    """Attention only, sliding windows included: llama.cpp keeps their whole past with `swa_full`."""

    sequences = 1
    draft_sequences = 0
    needs_marks = False

    def __init__(self, context: Any) -> None:
        self._memory = api.llama_get_memory(context)

    def mark(self) -> None:
        """Nothing to do: every place can be reached."""

    def rewind(self, keep: int) -> int:
        if length(self._memory) == keep:
            return keep
        removed = keep > 0 and api.llama_memory_seq_rm(self._memory, _SEQUENCE, keep, -1)
        # A window that was not kept whole lets itself be cut and reports a later first position; the answer
        # would be wrong without any error.
        first = api.llama_memory_seq_pos_min(self._memory, _SEQUENCE)
        return keep if removed and first == 0 and length(self._memory) == keep else self.forget()

    def save(self) -> None:
        """Nothing to do here either."""

    def undo(self, keep: int) -> int:
        return self.rewind(keep)

    def release(self) -> None:
        """Nothing was occupied."""

    def forget(self) -> int:
        return _clear(self._memory)


class StateMemory:
    """Recurrent layers, alone or beside attention: a second sequence holds the copy taken at the mark.

    The copy is lazy and stays on the device: the two sequences share one state until the first is evaluated
    further. Its price is the memory of one more state, and with drafts of another one.
    """

    sequences = 2
    draft_sequences = 1
    needs_marks = True

    def __init__(self, context: Any) -> None:
        self._memory = api.llama_get_memory(context)

    def mark(self) -> None:
        self._copy(_SEQUENCE, _MARKED)

    def rewind(self, keep: int) -> int:
        return keep if length(self._memory) == keep else self._return_to(_MARKED, keep)

    def save(self) -> None:
        self._copy(_SEQUENCE, _SAVED)

    def undo(self, keep: int) -> int:
        return self._return_to(_SAVED, keep)

    def release(self) -> None:
        api.llama_memory_seq_rm(self._memory, _SAVED, -1, -1)

    def _return_to(self, copy: int, keep: int) -> int:
        copied = length(self._memory, copy)
        if not 0 < copied <= keep:
            return self.forget()
        removed = self._copy(copy, _SEQUENCE)
        return copied if removed and length(self._memory) == copied else self.forget()

    def _copy(self, source: int, target: int) -> bool:
        """Let one sequence hold what another does; return whether its own content could be removed."""
        removed = api.llama_memory_seq_rm(self._memory, target, -1, -1)
        api.llama_memory_seq_cp(self._memory, source, target, -1, -1)
        return bool(removed)

    def forget(self) -> int:
        return _clear(self._memory)


def length(memory: Any, sequence: int = _SEQUENCE) -> int:
    """Return the tokens that a sequence of a context's memory holds, counted to its last position."""
    return int(api.llama_memory_seq_pos_max(memory, sequence)) + 1


def _clear(memory: Any) -> int:
    api.llama_memory_clear(memory, True)
    return 0
