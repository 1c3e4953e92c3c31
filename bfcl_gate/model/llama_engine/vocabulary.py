"""Text to token ids and back, without losing a token of any vocabulary."""

import ctypes
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from llama_cpp import llama_cpp as api

from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.model.chat import Message, Tool
from bfcl_gate.model.llama_engine.growing import GrowingTokens, Special, certain_tokens
from bfcl_gate.model.llama_engine.shield import Shield
from bfcl_gate.model.template import ChatTemplate


class Prompt(NamedTuple):
    """A rendered conversation: its token ids, and how often its content spelt a control token."""

    tokens: "array[int]"
    shielded: int


class Vocabulary:
    """The tokenizer of a loaded model. With `parse_content` the text of a control token in content is the token, as
    llama-server has it; else it stays text."""

    def __init__(self, model: Any, *, parse_content: bool = False) -> None:
        self._parse_content = parse_content
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
    def specials(self) -> tuple[Special, ...]:
        """The tokens that are looked for in a text as a whole."""
        control = api.LLAMA_TOKEN_ATTR_CONTROL | api.LLAMA_TOKEN_ATTR_UNKNOWN
        wanted = control | api.LLAMA_TOKEN_ATTR_USER_DEFINED
        attributes = ((t, api.llama_vocab_get_attr(self._vocab, t)) for t in range(self.size))
        return tuple(
            Special(t, self.text_of(t), bool(of & control), bool(of & api.LLAMA_TOKEN_ATTR_LSTRIP))
            for t, of in attributes
            if of & wanted
        )

    @cached_property
    def shield(self) -> Shield:
        """What keeps the texts of this vocabulary's control tokens plain where content spells them."""
        return Shield(special.text for special in self.specials if special.control)

    @property
    def guard(self) -> Callable[[str], str]:
        """What a template must do to content for `prompt`."""
        return str if self._parse_content else self.shield.hide

    def growing(self) -> GrowingTokens:
        """Return a tokeniser of rendered prompts that gives what `tokenise` gives, and repeats less work."""
        return GrowingTokens(self._certain, self.tokenise, self._rest)

    @cached_property
    def _certain(self) -> dict[str, int]:
        return certain_tokens(self.specials)

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
        """Tokenise a rendered prompt, its own control tokens recognised, BOS exactly once if wanted.

        Where content carried the text of a control token (`shield`), the piece between the template's control tokens
        stays plain text, unless content is parsed.
        """
        tokens = self._rest(text)
        if self._add_bos and (not tokens or tokens[0] != self.bos):
            tokens.insert(0, self.bos)
        return tokens

    def _rest(self, text: str) -> "array[int]":
        """Tokenise what continues another text."""
        tokens: array[int] = array("i")
        for piece, special in ((text, True),) if self._parse_content else self.shield.parts(text):
            tokens += self._tokens(piece, special=special)
        return tokens

    def prompt(
        self,
        template: ChatTemplate,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        *,
        generation_prompt: bool,
        growing: GrowingTokens | None = None,
    ) -> Prompt:
        """Render a conversation with a template that has this vocabulary's `guard` and return its token ids.

        `growing` spares what the conversation shares with the one it saw last. Raises InputError when the template
        refuses the conversation or writes nothing.
        """
        text = template.render(messages, tools, generation_prompt=generation_prompt)
        tokens = growing.tokenise(text) if growing else self.tokenise(text)
        if not tokens:
            raise InputError(
                "The model's chat template renders this conversation to nothing; give one with --chat-template FILE."
            )
        spelt = self.shield.spelt((messages, tools)) if self._parse_content else self.shield.count(text)
        return Prompt(tokens, spelt)

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
