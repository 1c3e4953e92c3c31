"""A model behind an OpenAI-compatible server, asked as the MLPerf reference asks: streamed, once, greedy.

What the server does with its cache, its template and its settings is its own affair: nothing of that can be proved,
so the identity of such a model is what the server states.
"""

from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any
from urllib.parse import quote

from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.http import BrokenError, Connection, Incoming, UnreachableError, Watchdog, broken_by
from bfcl_gate.model.chat import GIVEN_UP, ChatRequest
from bfcl_gate.model.endpoint_engine.address import Address, address_of
from bfcl_gate.model.endpoint_engine.answer import Answer
from bfcl_gate.model.endpoint_engine.body import limits_of, request_body
from bfcl_gate.model.endpoint_engine.events import DONE, events
from bfcl_gate.model.endpoint_engine.faults import Discretion, FaultError, fault_of_broken, require_stream
from bfcl_gate.model.endpoint_engine.pace import Pace
from bfcl_gate.model.endpoint_engine.server import describe_server, public_name, served_model
from bfcl_gate.model.endpoint_engine.settings import EndpointSettings, additions_of, info_of
from bfcl_gate.model.endpoint_engine.tokens import rendered, text_tokens, tokens_of
from bfcl_gate.model.engine import EngineInfo, PlannedTurn, TimedResponse

__all__ = ["EndpointEngine", "EndpointSettings", "address_of", "model_of", "public_name"]

AFTER_DONE_S = 2.0
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))


def model_of(address: Address) -> str:
    """Return the name of the only model a server serves. Raises InputError, or EngineError where it is not there."""
    connection = Connection({})
    try:
        return served_model(connection, address, None)
    finally:
        connection.close()


class EndpointEngine:
    """Engine at the other end of a URL. Requests may run at once in several threads, each on its own connection.

    Raises EngineError when the server cannot be reached or refuses, InputError for a model that it does not serve.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._address = settings.address
        self._idle = [Connection({})]
        self._busy: set[Connection] = set()
        self._stated: dict[str, str] = {}
        self._pace = Pace()
        self._closed = False
        try:
            self._server = describe_server(self._idle[0], settings.address, settings.model)
        except BaseException:
            self.close()
            raise
        self._additions = additions_of(settings, self._server)
        self._info = info_of(settings, self._server, self._additions)

    def info(self) -> EngineInfo:
        return self._info

    @property
    def lists_model(self) -> bool:
        """Whether the server lists the model that it is asked for; some have no list."""
        return self._server.listed

    def plan(self, requests: Sequence[ChatRequest]) -> tuple[PlannedTurn, ...] | None:
        """Return None: only the server can count tokens."""
        return None

    def generate(self, request: ChatRequest, keep: int = 0) -> TimedResponse:
        """Ask once. What goes wrong after the connection was made is the response's `error`, `kind: sentence`.

        Raises EngineError where no connection can be made (the server is gone) and when cancelled.
        """
        if request.forced:
            raise InputError("An endpoint decodes its own answers; replay with --decode natural.")
        return self.ask(request, {})

    def ask(self, request: ChatRequest, fields: Mapping[str, Any]) -> TimedResponse:
        """Ask once as `generate` does, with further or other fields of the body; raises what it raises."""
        if self._closed:
            raise EngineError("This engine was closed and cannot answer.")
        answer = Answer(
            max_tokens=request.max_tokens,
            role_is_token=self._server.llama_cpp,
            discretion=self._address.discretion,
        )
        connection = self._take_connection()
        try:
            self._open(connection)
            submitted_ns, error = perf_counter_ns(), None
            body = self.body(request, fields)
            completed_ns = self._ask(connection, request, body, answer)
            self._check(request, answer)
        except FaultError as fault:
            completed_ns, error = perf_counter_ns(), str(fault)
            # A server that failed may end the connection a moment after its answer; the next request would be lost.
            connection.close()
        finally:
            if self._server.llama_cpp:
                # It ends the connection after every streamed answer, without a word and a moment later; a request
                # sent into that moment would be lost.
                connection.close()
            self._put_back(connection)
        response = answer.response(submitted_ns, completed_ns, error, len(body))
        self._pace.note(response)
        return response

    def body(self, request: ChatRequest, fields: Mapping[str, Any]) -> bytes:
        """Return the JSON text of a request as this engine sends it."""
        additions = {**self._additions, **fields}
        return request_body(request, self._server.model, self._settings.seed, additions)

    def _open(self, connection: Connection) -> None:
        """Connect before the clock starts. Raises EngineError."""
        try:
            connection.open(self._address.chat)
        except UnreachableError as error:
            raise self._gone(error) from None

    def _gone(self, error: UnreachableError) -> EngineError:
        why = self._address.discretion.quote(str(error))
        return EngineError(
            f"The server cannot be reached ({why}). Start it again; a run with --output continues with --resume."
        )

    def _ask(self, connection: Connection, request: ChatRequest, body: bytes, answer: Answer) -> int:
        """Send the request and read its answer; return when it was complete. Raises FaultError and EngineError."""
        rate = self._pace.prefill_tokens_per_s(len(self._busy))
        limits = limits_of(body, request.max_tokens, self._settings.timeout_s, rate)
        completed_ns: int | None = None
        try:
            with connection.request(
                "POST", self._address.chat, limits, body=body, headers=self._headers(request)
            ) as (incoming, watchdog):
                completed_ns = _read(incoming, watchdog, answer, self._address.discretion)
                watchdog.finish_within(AFTER_DONE_S)
                for _ in incoming.pieces:  # to the end, so that the connection can be used again
                    pass
        except UnreachableError as error:
            raise self._gone(error) from None
        except BrokenError as broken:
            if broken.kind == "cancelled":
                raise EngineError("The answer was cancelled.") from None
            if completed_ns is None:
                raise fault_of_broken(broken) from None
        assert completed_ns is not None
        return completed_ns

    def _headers(self, request: ChatRequest) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", **self._address.headers}
        if request.session is not None:
            headers["X-Session-ID"] = quote(request.session, safe=_VISIBLE)
        return headers

    def prompt_tokens(self, request: ChatRequest) -> tuple[int, ...] | None:
        """Return the prompt's token ids by the server's own template and tokenizer; None where it lends them not."""
        connection = self._take_connection()
        try:
            body = self.body(request, {})
            return tokens_of(connection, self._address, body, llama_cpp=self._server.llama_cpp)
        finally:
            self._put_back(connection)

    def text_tokens(self, text: str) -> tuple[int, ...] | None:
        """Return the token ids of a text by llama.cpp's tokenizer; None at any other server."""
        if not self._server.llama_cpp:
            return None
        connection = self._take_connection()
        try:
            return text_tokens(connection, self._address, text)
        finally:
            self._put_back(connection)

    def prompt_text(self, request: ChatRequest) -> str | None:
        """Return the prompt that llama.cpp's server makes of a request; None at any other server."""
        connection = self._take_connection()
        try:
            return rendered(connection, self._address, self.body(request, {}))
        finally:
            self._put_back(connection)

    def _take_connection(self) -> Connection:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = Connection({})
        self._busy.add(connection)
        return connection

    def _put_back(self, connection: Connection) -> None:
        self._busy.discard(connection)
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def _check(self, request: ChatRequest, answer: Answer) -> None:
        """Raise FaultError for a whole answer that is not the asked one."""
        output_tokens = answer.counts().output_tokens
        if output_tokens is not None and output_tokens > request.max_tokens:
            raise FaultError(
                "over_limit",
                f"the answer has {output_tokens} tokens where at most {request.max_tokens} were asked for; this server "
                "may not know max_completion_tokens",
            )
        watched = ("model", "system_fingerprint") if self._server.llama_cpp else ("model",)
        for key in watched:
            if (
                key in answer.stated
                and self._stated.setdefault(key, answer.stated[key]) != answer.stated[key]
            ):
                raise FaultError("server_changed", f"the server states another {key} than before")

    def forget(self) -> None:
        """Do nothing: a server's cache is its own."""

    def cancel(self) -> None:
        for connection in tuple(self._busy):
            connection.cancel()

    def close(self) -> None:
        self._closed = True
        self.cancel()
        while self._idle:
            self._idle.pop().close()


def _read(incoming: Incoming, watchdog: Watchdog, answer: Answer, discretion: Discretion) -> int:
    """Read to the end of the answer and return its instant.

    Raises FaultError, and BrokenError where the watchdog ended it.
    """
    require_stream(incoming, discretion)
    for at_ns, data in events(incoming.pieces):
        if data == DONE:
            break
        if answer.take(data, at_ns):
            watchdog.progress()
    else:
        at_ns = perf_counter_ns()
        if (broken := broken_by(watchdog)) is not None:
            raise broken
    if answer.finish_reason is None:
        raise FaultError("incomplete", "the stream ended before the answer did: no finish_reason")
    if answer.finish_reason in GIVEN_UP:
        raise FaultError(
            "server_error", f"the server gave the answer up (finish_reason {answer.finish_reason})"
        )
    return at_ns
