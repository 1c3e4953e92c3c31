"""What a live server is and does, looked at before a run depends on it."""

from collections.abc import Iterator

from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.endpoint_engine import EndpointEngine
from bfcl_gate.model.endpoint_engine.probes import probe
from bfcl_gate.model.engine import EngineInfo
from bfcl_gate.model.findings import INFO, INVALID, WARN, Finding
from bfcl_gate.words import count


def server_preflight(
    engine: EndpointEngine, largest: ChatRequest | None = None, concurrency: int = 1
) -> Iterator[Finding]:
    """Yield what the server states of itself, then what it does when asked.

    `largest` is the largest request of the run to come, `concurrency` how many it will make at once. Raises EngineError
    where the server is gone.
    """
    yield _reachable(engine)
    yield _served(engine)
    yield _context(engine, largest)
    yield slots(engine.info(), concurrency)
    yield from probe(engine)


def _reachable(engine: EndpointEngine) -> Finding:
    info = engine.info()
    kind, build = info.details.get("server"), info.identity["build"]
    told = " ".join(str(word) for word in (kind, build) if word is not None)
    return Finding(
        name="reachable",
        level=INVALID,
        passed=True,
        detail=f"answered by {told}" if told else "answered; build not stated",
        meaning="the build is part of the run's identity where it is stated",
    )


def _served(engine: EndpointEngine) -> Finding:
    return Finding(
        name="model",
        level=INVALID,
        passed=True if engine.lists_model else None,
        detail=f"{engine.info().identity['served_model']}, "
        + ("listed by the server" if engine.lists_model else "which the server does not list"),
        meaning="what runs under this name is the server's word; its file cannot be verified",
    )


def _context(engine: EndpointEngine, largest: ChatRequest | None) -> Finding:
    ctx = engine.info().ctx
    told = "not stated" if ctx is None else f"{ctx:,} tokens for one request"
    needed = needed_tokens(engine, largest)
    if needed is not None:
        told += f"; the largest prompt with its answer needs {needed:,}"
    fits = None if ctx is None else needed is None or needed <= ctx
    return Finding(
        name="context",
        level=INVALID,
        passed=fits,
        detail=told,
        meaning="a prompt that does not fit is a failed turn; a server that cuts it in silence does other work",
    )


def needed_tokens(engine: EndpointEngine, largest: ChatRequest | None) -> int | None:
    """Return the tokens of a request and its longest answer by the server's tokenizer; None where it lends none."""
    tokens = None if largest is None else engine.prompt_tokens(largest)
    return None if tokens is None or largest is None else len(tokens) + largest.max_tokens


def slots(info: EngineInfo, concurrency: int) -> Finding:
    """Say whether the server answers as many requests at once as a run makes."""
    stated = info.details.get("slots")
    told = f"{count(stated, 'request')} at once" if isinstance(stated, int) else "not stated"
    return Finding(
        name="slots",
        level=WARN if concurrency > 1 else INFO,
        passed=concurrency <= stated if isinstance(stated, int) else None,
        detail=f"{told}; the run makes {concurrency}",
        meaning="requests beyond the slots wait for one, and their waiting is part of TTFT",
    )
