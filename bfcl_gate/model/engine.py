"""The seam to a model: what every engine can do, and the readings it gives back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bfcl_gate.model.chat import ChatRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How the local engine is built. `threads` None means every core this process may use.

    `ctx` is in tokens; `gpu_layers` 0 means CPU, -1 all layers; `kv_type` is f16, q8_0 or q4_0.
    `reuse` "any" keeps the longest possible prefix from turn to turn, "canonical" only whole chunks of a prompt, so
    that every answer has the very logits of an empty cache.
    `special_in_content` says what the text of a control token in a message becomes: text, or with "parse" the token.
    `vocab_only` loads tokenizer and template without weights: `plan` works, `generate` does not.
    """

    model_path: Path
    model_sha256: str
    ctx: int
    threads: int | None = None
    gpu_layers: int = 0
    kv_type: str = "f16"
    flash_attn: bool = True
    speculative: str = "none"
    seed: int = 42
    template_args: tuple[tuple[str, Any], ...] = ()
    chat_template: str | None = None
    reuse: str = "any"
    special_in_content: str = "text"
    vocab_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What answers: the fields that make its identity, and everything else worth recording.

    `identity` is hashed into engine_id and holds JSON values only. `syntax` is the tool-call family its
    template asks for, `prefix` the text with which the template opens the model's answer (for example
    an opened think block), both as `parse_tool_calls` takes them.
    """

    kind: str  # "local", "endpoint" or "scripted"
    identity: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)
    ctx: int | None = None
    syntax: str = "auto"
    prefix: str = ""


class Departure(NamedTuple):
    """Where a prompt does not go on with what its trajectory had come to, in tokens: `at` of the `held` ones.

    `before` and `now` are the texts of some tokens that stood there and that stand there now ("" beyond the end),
    `kept` the text right before them. They are untrusted.
    """

    at: int
    before: str
    now: str
    held: int = 0
    kept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTurn:
    """Token counts of one turn of a trajectory, known before it is asked.

    `possible_forced` and `possible_natural` are the tokens a perfect cache could keep for this turn
    (0 on a trajectory's first turn, at most prompt_tokens - 1); `keep` is the position in this turn's
    prompt and answer up to which the next turn's prompt agrees with it, so where a recurrent model
    must take its snapshot. `answer_extends` says whether the render with the answer extends the
    prompt; None without a recorded answer. `shielded` counts the texts of control tokens that content of the
    prompt spelt: kept plain text, or taken for the tokens with `special_in_content` "parse". `departure` is where the
    prompt does not extend the previous one (forced: with its recorded answer); None where it does.
    """

    prompt_tokens: int
    answer_tokens: int | None
    possible_forced: int
    possible_natural: int
    keep: int
    answer_extends: bool | None
    shielded: int = 0
    departure: Departure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What an engine can tell of an answer beside its counts and the times of its tokens: a turn keeps it as it is.

    A new reading is a field here, last, and an engine that fills it. The order is that of a journal's row.

    Endpoints only: `request_bytes` is the size of the request's body; `first_piece_ns` is the first chunk with text,
    reasoning or part of a tool call, `first_text_ns` the first visible text, `first_call_ns` the first part of a call's
    arguments; `server_prefill_ns` and `server_decode_ns` are the server's own times.

    Local engine only: `library_prefill_ns` and `library_decode_ns` are the times spent inside llama.cpp from submission
    to the first token and from there to the last; `prepare_ns` is what making the recorded answer's tokens took before
    submission. `held_tokens` is how much of the prompt the cache held when it was asked: reused_tokens is below it
    where the model's memory could not be taken back so far. `shielded` is as in PlannedTurn.

    Speculative decoding only: `drafted_tokens` and `accepted_tokens` as the engine or the server counts them. From the
    local engine also `passes`, its evaluations after the prefill (each gave one token and those accepted);
    `repeated_tokens`, evaluated again because a draft behind them was taken back; and of framing, arguments and free
    text (`bfcl_gate.model.toolcalls.parts`) the output tokens and those of them that came from a draft.
    """

    request_bytes: int | None = None
    library_prefill_ns: int | None = None
    library_decode_ns: int | None = None
    prepare_ns: int | None = None
    first_piece_ns: int | None = None
    first_text_ns: int | None = None
    first_call_ns: int | None = None
    server_prefill_ns: int | None = None
    server_decode_ns: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    passes: int | None = None
    repeated_tokens: int | None = None
    framing_tokens: int | None = None
    framing_accepted: int | None = None
    argument_tokens: int | None = None
    argument_accepted: int | None = None
    free_text_tokens: int | None = None
    free_text_accepted: int | None = None
    held_tokens: int | None = None
    shielded: int | None = None


READINGS = tuple(each.name for each in fields(Readings))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedResponse(Readings):
    """One answer with its readings: integer nanoseconds of the monotonic performance counter.

    The end-of-generation token counts as output and has a timestamp; `text` leaves it out. At an endpoint `token_ns`
    are arrivals of chunks. Tokens of one pass of speculative decoding share one timestamp, and `completed_ns` is when
    the memory was in order again. What an engine cannot know is None. `error` is why no complete answer came back.
    `tool_calls` is what a server parsed itself (None from a local engine). `agreed_tokens`: forced steps whose argmax
    was the recorded token. `token_ids` are the output tokens of a local engine. `logits_sha256` is the hash of the
    logits of the first and the last token, where the request asked for it.
    """

    text: str | None
    finish_reason: str | None  # stop, length, forced, or what a server says
    error: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    reasoning: str | None = None
    input_tokens: int | None = None
    reused_tokens: int | None = None
    evaluated_tokens: int | None = None
    output_tokens: int | None = None
    submitted_ns: int
    rendered_ns: int | None = None
    first_token_ns: int | None = None
    token_ns: tuple[int, ...] = ()
    completed_ns: int
    agreed_tokens: int | None = None
    token_ids: tuple[int, ...] = ()
    logits_sha256: str | None = None


class Engine(Protocol):
    """A loaded model. One engine serves replay and gate; it answers one request at a time."""

    def info(self) -> EngineInfo:
        """Return what answers; never changes during the engine's life."""
        ...

    def plan(self, requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...] | None:
        """Count the tokens of the turns of one trajectory, in order; None where the engine cannot."""
        ...

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        """Answer one request, reusing what the cache still holds of its prompt.

        `keep` is the planned position (tokens) the next request will continue from, 0 if unknown.
        Raises ContextOverflowError before anything is evaluated, EngineError when the engine is gone.
        """
        ...

    def forget(self) -> None:
        """Empty the cache, so that the next answer depends on its request alone."""
        ...

    def cancel(self) -> None:
        """Stop the running `generate` soon; callable from another thread or a signal handler."""
        ...

    def close(self) -> None:
        """Free the model; the engine cannot be used afterwards. Closing twice is harmless."""
        ...


class BatchEngine(Engine, Protocol):
    """A local engine, which can answer several unconnected requests in one context. An endpoint batches by itself."""

    def generate_many(
        self, requests: Sequence[ChatRequest], at_once: int, share_prefix: bool
    ) -> Iterator[tuple[int, TimedResponse]]:
        """Yield each request's place and answer as it is finished, `at_once` of them under way.

        They are taken up in order; `share_prefix` lets each prompt begin with what it has in common with the one
        before. What they are evaluated together with may change an answer. All prompts are rendered beforehand:
        `submitted_ns` is when one is taken up, and the times include what the answers under way cost each other.
        To leave the iterator stops the answers under way; the cache of `generate` is not touched. Raises what
        `generate` raises, ContextOverflowError before anything is evaluated.
        """
        ...
