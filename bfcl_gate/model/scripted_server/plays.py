"""How each fault of the scripted server is played."""

import gzip
import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from bfcl_gate.model.scripted_server.dialects import chunk
from bfcl_gate.model.scripted_server.exchange import Exchange

OVERFLOW = {
    "code": 400,
    "type": "exceed_context_size_error",
    "message": "request exceeds the available context size",
    "n_prompt_tokens": 40_000,
    "n_ctx": 32_768,
}


def text(body: Mapping[str, Any], word: str = "word ") -> bytes:
    return f"data: {json.dumps(chunk(body, delta={'content': word}))}\n\n".encode()


def first_tokens(exchange: Exchange, count: int = 2) -> None:
    exchange.begin()
    exchange.answer(islice(exchange.steps(), count), done=False)


def stall(exchange: Exchange) -> None:
    first_tokens(exchange)
    exchange.hold()


def only_pings(exchange: Exchange) -> None:
    exchange.begin()
    exchange.repeat(lambda number: b": ping\n\n", 0.05)


def drip(exchange: Exchange) -> None:
    exchange.begin()
    exchange.repeat(lambda number: text(exchange.body), 0.1)


def flood(exchange: Exchange) -> None:
    exchange.begin()
    exchange.repeat(lambda number: text(exchange.body) * 4_000, 0.000_1)


def flood_of_comments(exchange: Exchange) -> None:
    exchange.begin()
    exchange.repeat(lambda number: (b":" + b"x" * 65_000 + b"\n") * 16, 0.000_1)


def slow_headers(exchange: Exchange) -> None:
    exchange.raw(b"HTTP/1.1 200 OK\r\n")
    for number in range(600):
        exchange.raw(f"X-{number}: slow\r\n".encode())
        if exchange.stopping.wait(0.1):
            return


def bad_chunk_size(exchange: Exchange) -> None:
    first_tokens(exchange)
    exchange.raw(b"zz\r\n")


def end_early(exchange: Exchange) -> None:
    first_tokens(exchange)
    exchange.end()


def half_closed(exchange: Exchange) -> None:
    first_tokens(exchange)
    exchange.raw(b"400\r\ndata: {")
    exchange.close()


def reset(exchange: Exchange) -> None:
    first_tokens(exchange)
    exchange.stopping.wait(0.05)  # what was sent before an RST is lost when it was not read yet
    exchange.reset()


def too_short(exchange: Exchange) -> None:
    exchange.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n: so far\n\n"
    )
    exchange.close()


def after_tokens(*data: bytes) -> Callable[[Exchange], None]:
    def play(exchange: Exchange) -> None:
        first_tokens(exchange)
        for piece in data:
            exchange.send(piece)
        exchange.end()

    return play


def event(document: Any) -> Callable[[Exchange], None]:
    return after_tokens(f"data: {json.dumps(document)}\n\n".encode())


def status(status: int, error: Any) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.document({"error": error}, status)


def huge_line(exchange: Exchange) -> None:
    exchange.begin()
    exchange.send(b"data: ")
    for _ in range(160):
        exchange.send(b"x" * 65_536)
    exchange.hold()


def gzipped(exchange: Exchange) -> None:
    exchange.begin(Content_Encoding="gzip")
    exchange.send(gzip.compress(b"\0" * 10_000_000))
    exchange.end()


def whole(exchange: Exchange) -> None:
    message = {"role": "assistant", "content": "All at once."}
    exchange.document(
        {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}]}
    )


def changed(key: str) -> Callable[[Exchange], None]:
    def play(exchange: Exchange) -> None:
        exchange.begin()
        for _, chunks in exchange.steps():
            exchange.events(*({**document, key: "another"} for document in chunks))
        exchange.send(b"data: [DONE]\n\n")
        exchange.end()

    return play


def counting(counts: Mapping[str, Any]) -> Callable[[Exchange], None]:
    """Answer well, but with these counts in place of the right ones."""

    def play(exchange: Exchange) -> None:
        exchange.begin()
        for _, chunks in exchange.steps():
            exchange.events(
                *({k: v for k, v in document.items() if k not in ("usage", "timings")} for document in chunks)
            )
        if counts:
            exchange.events({**chunk(exchange.body), **counts})
        exchange.send(b"data: [DONE]\n\n")
        exchange.end()

    return play


def never_ending_after_done(exchange: Exchange) -> None:
    exchange.begin()
    exchange.answer()
    exchange.repeat(lambda number: b": still here\n\n", 0.05)


def without_done(exchange: Exchange) -> None:
    exchange.begin()
    exchange.answer(done=False)
    exchange.end()
