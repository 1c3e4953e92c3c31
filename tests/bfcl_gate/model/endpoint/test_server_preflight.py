"""What the preflight finds out about a live server, one oddity at a time."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from bfcl_gate.cli.findings_text import findings_text
from bfcl_gate.errors import EngineError, InputError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.endpoint_engine import EndpointEngine
from bfcl_gate.model.endpoint_engine.server_preflight import server_preflight
from bfcl_gate.model.findings import Finding, broken, finding_of
from bfcl_gate.model.scripted_server import QUIRKS, Said, ScriptedServer

Ask = Callable[..., EndpointEngine]
Look = Callable[..., dict[str, Finding]]
LARGEST = ChatRequest(messages=({"role": "user", "content": "x" * 4_000},), max_tokens=1_024)


def model(body: Mapping[str, Any]) -> Said:
    """Calls its tool, says yes in a word, and counts at length."""
    if body.get("tools"):
        return Said(calls=(("list_files", '{"path": "."}'),))
    return Said(text="yes" if "word yes" in body["messages"][-1]["content"] else "one two three " * 20)


@pytest.fixture
def look(ask: Ask) -> Iterator[Look]:
    """Return the findings by name about a scripted server with these options."""
    with ExitStack() as servers:

        def at(
            *quirks: str, concurrency: int = 1, largest: ChatRequest | None = LARGEST, **options: Any
        ) -> dict[str, Finding]:
            server = servers.enter_context(ScriptedServer(model, quirks=quirks, **options))
            found = server_preflight(ask(server.url), largest, concurrency)
            return {finding.name: finding for finding in found}

        yield at


def odd(findings: Mapping[str, Finding]) -> dict[str, str]:
    return {name: finding.status for name, finding in findings.items() if finding.status != "ok"}


def test_a_good_server_has_nothing_odd(look: Look) -> None:
    findings = look()
    assert odd(findings) == {}
    assert list(findings) == [
        "reachable",
        "model",
        "context",
        "slots",
        "tool_history",
        "tool_choice",
        "usage",
        "max_tokens",
        "repeatable",
        "cache",
        "synthetic",
        "seed",
        "ignore_eos",
    ]
    assert findings["context"].detail == (
        "32,768 tokens for one request; the largest prompt with its answer needs 2,035"
    )
    assert "396 of 397 prompt tokens were reused" in findings["cache"].detail
    assert broken(findings.values()) == ()


@pytest.mark.parametrize(
    ("quirk", "expected"),
    [
        ("no-usage", {"usage": "WARN", "cache": "unknown"}),
        ("no-cache", {"cache": "WARN"}),
        ("not-repeatable", {"repeatable": "WARN", "seed": "no"}),
        ("rejects-no-content", {"tool_history": "INVALID"}),
        ("rejects-tool-choice", {"tool_choice": "INVALID"}),
        ("ignores-seed", {"seed": "no"}),
        ("ignores-ignore-eos", {"ignore_eos": "no"}),
        ("synthetic-drafts", {"synthetic": "INVALID"}),
        ("whole-calls", {}),
        ("hides-slots", {}),
    ],
)
def test_every_oddity_is_found_and_nothing_else(look: Look, quirk: str, expected: dict[str, str]) -> None:
    assert odd(look(quirk)) == expected


def test_a_server_that_ignores_the_token_limit_is_found(look: Look) -> None:
    findings = look("ignores-max-tokens")
    assert findings["max_tokens"].status == "INVALID"
    assert broken(findings.values()) == ("max_tokens",)
    assert "24 tokens were asked for" in findings["max_tokens"].detail


def test_a_server_that_ignores_the_limit_and_counts_nothing_is_found_by_its_pieces(look: Look) -> None:
    assert look("ignores-max-tokens", "no-usage")["max_tokens"].status == "INVALID"


def test_drafts_cannot_be_judged_where_answers_do_not_repeat(look: Look) -> None:
    assert look("synthetic-drafts", "not-repeatable")["synthetic"].status == "unknown"


def test_every_quirk_of_the_scripted_server_is_tried_here() -> None:
    tried = {"no-usage", "no-cache", "not-repeatable", "rejects-no-content", "rejects-tool-choice"}
    tried |= {"ignores-seed", "ignores-ignore-eos", "synthetic-drafts", "whole-calls", "hides-slots"}
    assert tried | {"ignores-max-tokens"} == set(QUIRKS)


def test_a_context_that_is_too_small_is_found_before_any_turn_is_asked(look: Look) -> None:
    findings = look(ctx=2_000)
    assert findings["context"].status == "INVALID"
    assert (
        "2,000 tokens for one request; the largest prompt with its answer needs 2,035"
        in findings["context"].detail
    )


def test_fewer_slots_than_requests_at_once_are_a_warning(look: Look) -> None:
    assert look(slots=2, concurrency=4)["slots"].status == "WARN"
    assert look(slots=4, concurrency=4)["slots"].status == "ok"


def test_another_server_states_less_and_is_asked_the_same(look: Look) -> None:
    findings = look(dialect="openai")
    assert odd(findings) == {"context": "unknown", "slots": "unknown"}


def test_a_server_that_fails_every_probe_is_described_and_never_an_error(look: Look) -> None:
    findings = look(fault=lambda received: "status-500")
    assert findings["tool_history"].status == "INVALID"
    assert {findings[name].status for name in ("usage", "cache", "repeatable", "seed")} <= {"unknown", "no"}


def test_a_server_that_goes_away_is_an_error(ask: Ask) -> None:
    with ScriptedServer(model) as server:
        found = server_preflight(ask(server.url))
        next(found)
    with pytest.raises(EngineError, match="cannot be reached"):
        list(found)


def test_the_table_says_what_each_line_means_and_no_control_character() -> None:
    finding = Finding(
        name="usage", level="WARN", passed=False, detail="\x1b[31mnone\x1b[0m", meaning="no TPOT"
    )
    text = findings_text("Server", [finding])
    assert text.splitlines()[0] == "Server"
    assert "WARN     usage" in text
    assert "(no TPOT)" in text
    assert "\x1b" not in text


def test_a_finding_comes_back_from_its_row(look: Look) -> None:
    for finding in look().values():
        assert finding_of(finding.to_dict()) == finding


def test_a_prompt_is_counted_by_the_server_s_own_template_and_tokenizer(ask: Ask) -> None:
    with ScriptedServer(model) as server:
        engine = ask(server.url)
        tokens, text = engine.prompt_tokens(LARGEST), engine.prompt_text(LARGEST)
        assert tokens is not None
        assert text is not None
        assert len(tokens) == engine.generate(LARGEST).input_tokens
        assert "x" * 4_000 in text
    with ScriptedServer(model, dialect="openai") as server:
        assert ask(server.url).prompt_tokens(LARGEST) is None
        assert ask(server.url).prompt_text(LARGEST) is None


def test_a_forced_request_is_still_refused(ask: Ask) -> None:
    with ScriptedServer(model) as server, pytest.raises(InputError, match="--decode natural"):
        ask(server.url).generate(ChatRequest(messages=LARGEST.messages, forced=True))
