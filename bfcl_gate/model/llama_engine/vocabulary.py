"""Text to token ids and back, without losing a token of any vocabulary."""

import ctypes
import re
from array import array
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from llama_cpp import llama_cpp as api

from bfcl_gate.errors import EngineError
from bfcl_gate.model.chat import Message, Tool
from bfcl_gate.model.template import ChatTemplate

# Private-use characters no text is likely to hold; they mark where a control token's text stood.
_MARK = "\ue0f0{}\ue0f1"
_MARKED = re.compile("\ue0f0([0-9]+)\ue0f1")


class Vocabulary:
    """The tokenizer of a loaded model."""

    def __init__(self, model: Any) -> None:
        self._vocab = api.llama_model_get_vocab(model)
        self.size: int = api.llama_vocab_n_tokens(self._vocab)
        self.bos: int = api.llama_vocab_bos(self._vocab)
        self._add_bos: bool = api.llama_vocab_get_add_bos(self._vocab)
        self._buffer = ctypes.create_string_buffer(512)

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""
        return bool(api.llama_vocab_is_eog(self._vocab, token))

    def text_of(self, token: int) -> str:
        """Return the vocabulary's own text of a token, "" for none."""
        return "" if token < 0 else api.llama_vocab_get_text(self._vocab, token).decode(errors="replace")

    @property
    def eos_text(self) -> str:
        return self.text_of(api.llama_vocab_eos(self._vocab))

    @property
    def bos_text(self) -> str:
        return self.text_of(self.bos)

    @cached_property
    def control_texts(self) -> tuple[str, ...]:
        """The texts of all control tokens, longest first."""
        control = api.LLAMA_TOKEN_ATTR_CONTROL
        found = (t for t in range(self.size) if api.llama_vocab_get_attr(self._vocab, t) & control)
        return tuple(sorted({self.text_of(t) for t in found} - {""}, key=len, reverse=True))

    @cached_property
    def _control_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.control_texts)) or "(?!)")

    def _tokens(self, text: str, *, special: bool) -> "array[int]":
        data = text.encode("utf-8", errors="replace")
        tokens = array("i", bytes(4 * (len(data) + 8)))
        pointer = (ctypes.c_int32 * len(tokens)).from_buffer(tokens)
        count = api.llama_tokenize(self._vocab, data, len(data), pointer, len(tokens), False, special)
        del pointer  # while it lives, the array cannot be cut
        if count < 0:
            raise EngineError(f"llama.cpp could not tokenise a prompt of {len(data)} bytes.")
        del tokens[count:]
        return tokens

    def tokenise(self, text: str) -> "array[int]":
        """Tokenise a rendered prompt as one string, control tokens recognised, BOS exactly once if wanted.

        Where content carried the text of a control token (`shield`) it is split around exactly that text,
        which stays plain text: a tool result must not be able to end the turn it stands in.
        """
        tokens: array[int] = array("i")
        for place, piece in enumerate(_MARKED.split(text)):
            shielded = place % 2 == 1
            tokens += self._tokens(self.control_texts[int(piece)] if shielded else piece, special=not shielded)
        if self._add_bos and (not tokens or tokens[0] != self.bos):
            tokens.insert(0, self.bos)
        return tokens

    def shield(self, value: Any) -> Any:
        """Return message or tool content with the text of control tokens marked; most content is as it was."""
        if isinstance(value, str):
            return self._shield_text(value)
        if isinstance(value, Mapping):
            return {key: self.shield(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.shield(item) for item in value]
        return value

    def _shield_text(self, text: str) -> str:
        if not any(control in text for control in self.control_texts):
            return text
        return self._control_pattern.sub(lambda m: _MARK.format(self.control_texts.index(m.group())), text)

    def prompt(
        self, template: ChatTemplate, messages: Iterable[Message], tools: Iterable[Tool], *, generation_prompt: bool
    ) -> "array[int]":
        """Render a conversation and return its token ids."""
        return self.tokenise(
            template.render(list(messages), list(tools), generation_prompt=generation_prompt, content=self.shield)
        )

    def piece(self, token: int) -> bytes:
        """Return the bytes of one token, control tokens included, of any length."""
        length = api.llama_token_to_piece(self._vocab, token, self._buffer, len(self._buffer), 0, True)
        if length < 0:
            self._buffer = ctypes.create_string_buffer(-length)
            length = api.llama_token_to_piece(self._vocab, token, self._buffer, -length, 0, True)
        return self._buffer.raw[:length]

    def text(self, tokens: Iterable[int]) -> str:
        """Return the text of an answer; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(map(self.piece, tokens)).decode(errors="replace")
