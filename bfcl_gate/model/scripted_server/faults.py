"""Everything a server can do wrong, to be played on purpose: tests and demonstrations of how a run takes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bfcl_gate.model.scripted_server import plays
from bfcl_gate.model.scripted_server.exchange import Exchange


@dataclass(frozen=True, slots=True)
class ScriptedFault:
    """What is played, and the class of failure that the client should report; None where it should cope."""

    kind: str | None
    play: Callable[[Exchange], None]


_NONSENSE = {"completion_tokens": -1, "prompt_tokens": "many", "prompt_tokens_details": [7]}

FAULTS: Mapping[str, ScriptedFault] = {
    "never-answers": ScriptedFault("timeout", lambda exchange: exchange.hold()),
    "slow-headers": ScriptedFault("timeout", plays.slow_headers),
    "only-pings": ScriptedFault("timeout", plays.only_pings),
    "stalls": ScriptedFault("timeout", plays.stall),
    "drips": ScriptedFault("timeout", plays.drip),
    "endless": ScriptedFault("over_limit", plays.flood),
    "endless-comments": ScriptedFault("too_large", plays.flood_of_comments),
    "huge-line": ScriptedFault("too_large", plays.huge_line),
    "closes-at-once": ScriptedFault("connection_closed", lambda exchange: exchange.close()),
    "half-closed": ScriptedFault("connection_closed", plays.half_closed),
    "too-short": ScriptedFault("connection_closed", plays.too_short),
    "resets-at-once": ScriptedFault("connection_reset", lambda exchange: exchange.reset()),
    "resets": ScriptedFault("connection_reset", plays.reset),
    "ends-early": ScriptedFault("incomplete", plays.end_early),
    "bad-http": ScriptedFault("bad_http", lambda exchange: exchange.raw(b"\x00\x01 no HTTP at all\r\n\r\n")),
    "huge-headers": ScriptedFault("bad_http", lambda exchange: exchange.begin(X_Huge="x" * 200_000)),
    "bad-chunk-size": ScriptedFault("bad_http", plays.bad_chunk_size),
    "gzip": ScriptedFault("bad_encoding", plays.gzipped),
    "web-page": ScriptedFault(
        "not_a_stream", lambda exchange: exchange.document("<html>log in</html>", content="text/html")
    ),
    "whole-answer": ScriptedFault("not_a_stream", plays.whole),
    "bad-utf8": ScriptedFault("bad_utf8", plays.after_tokens(b'data: "\xff\xfe"\n\n')),
    "bad-sse": ScriptedFault("bad_sse", plays.after_tokens(b"this is no event\n\n")),
    "bad-json": ScriptedFault("bad_json", plays.after_tokens(b'data: {"choices": [\n\n')),
    "deep-json": ScriptedFault("bad_json", plays.after_tokens(b"data: " + b"[" * 200_000 + b"\n\n")),
    "no-object": ScriptedFault("bad_json", plays.event([1, 2])),
    "bad-chunk": ScriptedFault("bad_chunk", plays.event({"choices": [{"delta": {"content": 7}}]})),
    "error-event": ScriptedFault(
        "server_error", plays.event({"error": {"message": "out of memory", "code": 500}})
    ),
    "error-document": ScriptedFault(
        "server_error", lambda exchange: exchange.document({"error": {"message": "out of memory"}})
    ),
    "gives-up": ScriptedFault("server_error", plays.event({"choices": [{"finish_reason": "abort"}]})),
    "overflow": ScriptedFault("context_overflow", plays.status(400, plays.OVERFLOW)),
    "overflow-event": ScriptedFault("context_overflow", plays.event({"error": plays.OVERFLOW})),
    "status-400": ScriptedFault("http_400", plays.status(400, {"message": "unknown field"})),
    "status-401": ScriptedFault("http_401", plays.status(401, {"message": "invalid key"})),
    "status-404": ScriptedFault("http_404", plays.status(404, "no such model")),
    "status-429": ScriptedFault("http_429", plays.status(429, {"message": "too many requests"})),
    "status-500": ScriptedFault("http_500", plays.status(500, {"message": "\x1b[31mpanic\x1b[0m"})),
    "status-503": ScriptedFault("http_503", plays.status(503, {"message": "loading model"})),
    "redirect": ScriptedFault(
        "http_302", lambda exchange: exchange.document("", 302, Location="http://127.0.0.1:9/v1")
    ),
    "over-limit": ScriptedFault("over_limit", plays.counting({"usage": {"completion_tokens": 99_999}})),
    "other-model": ScriptedFault("server_changed", plays.changed("model")),
    "other-build": ScriptedFault("server_changed", plays.changed("system_fingerprint")),
    "no-counts": ScriptedFault(None, plays.counting({})),
    "wrong-counts": ScriptedFault(None, plays.counting({"usage": _NONSENSE})),
    "no-done": ScriptedFault(None, plays.without_done),
    "open-after-done": ScriptedFault(None, plays.never_ending_after_done),
}
