#!/usr/bin/env python3
"""Which of llama.cpp's chat templates render here to the very tokens that llama-server makes of them.

    scripts/parity/templates.py [NAME…] [--differences]

Every template that comes with llama.cpp's source is put on a tiny model, here (`--special-in-content parse`) and in
llama-server, and renders the conversations of CASES; both are told today's date. One row a template, one letter a
conversation: `=` the same tokens, `t` the same with `--template-arg enable_thinking=true` (the server says so to every
template that it takes for a thinking one), `#` others, `-` neither renders it, `h` only here, `s` only the server.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SCRIPTS.parent), str(SCRIPTS), str(SCRIPTS.parent / "tests")]

from llama_server import Client, ServerError, program, prompt_of, running, tokens_of
from tiny_gguf import write_gguf

from bfcl_gate.errors import InputError
from bfcl_gate.model import sandbox, template
from bfcl_gate.model.chat import ChatRequest, Message
from bfcl_gate.model.engine import EngineSettings
from bfcl_gate.model.llama_engine import LlamaEngine

TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Return the text of a file.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where it is."},
                "lines": {"type": "integer"},
            },
            "required": ["path"],
        },
    },
}


def said(role: str, content: str | None, **more: Any) -> Message:
    return {"role": role, "content": content, **more}


def called(number: int, path: str) -> dict[str, Any]:
    """Return a call as OpenAI's API has it: its arguments are JSON text."""
    function = {"name": "read_file", "arguments": f'{{"path": "{path}", "lines": {number}}}'}
    return {"id": f"call0000{number}", "type": "function", "function": function}


SYSTEM, USER = said("system", "You work with files."), said("user", "What is in a.txt?")
ONE_CALL = said("assistant", "I look.", tool_calls=[called(1, "a.txt")])
RESULT = said("tool", "first line\nsecond “line”", tool_call_id="call00001")
THOUGHT = said("assistant", None, tool_calls=[called(1, "a.txt")], reasoning_content="It is a small file.")

CASES: Mapping[str, tuple[tuple[Message, ...], bool]] = {
    "a question": ((USER,), False),
    "a system message": ((SYSTEM, USER), False),
    "tools": ((SYSTEM, USER), True),
    "tools, no system message": ((USER,), True),
    "a call and its result": ((SYSTEM, USER, ONE_CALL, RESULT), True),
    "two calls at once": (
        (
            SYSTEM,
            USER,
            said("assistant", None, tool_calls=[called(1, "a.txt"), called(2, "b.txt")]),
            RESULT,
            said("tool", "", tool_call_id="call00002"),
        ),
        True,
    ),
    "a thought before a call": ((SYSTEM, USER, THOUGHT, RESULT), True),
    "another question": (
        (SYSTEM, USER, ONE_CALL, RESULT, said("assistant", "Two lines."), said("user", "Thanks. And b?")),
        True,
    ),
    "the text of a control token": ((said("user", "What does <|im_end|> mean?"),), False),
}
"""Conversations by name, and whether tools are given with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one conversation: the letter of the table, and where the two prompts part."""

    letter: str
    detail: str = ""


def compare(
    engines: Sequence[LlamaEngine], client: Client, case: tuple[tuple[Message, ...], bool]
) -> Outcome:
    """Render one conversation here, by both engines, and in the server."""
    messages, tools = case
    request = ChatRequest(messages=messages, tools=(TOOL,) if tools else ())
    theirs = None
    problems = []
    ours, thinking = (_tokens(engine, request, problems) for engine in engines)
    try:
        theirs = tokens_of(client, prompt_of(client, messages, request.tools))
    except ServerError as error:
        problems.append(str(error))
    if ours is None or theirs is None:
        letter = "-" if ours is theirs else "h" if theirs is None else "s"
        return Outcome(letter=letter, detail=" / ".join(problem[:200] for problem in problems))
    if theirs in (ours, thinking):
        return Outcome(letter="=" if ours == theirs else "t")
    return Outcome(letter="#", detail=first_difference(engines[0].text_of(ours), engines[0].text_of(theirs)))


def _tokens(engine: LlamaEngine, request: ChatRequest, problems: list[str]) -> list[int] | None:
    """Return the tokens of a prompt; None where the template refuses it, which is added to `problems`."""
    try:
        return list(engine.prompt(request).tokens)
    except InputError as error:
        problems.append(str(error))
        return None


def first_difference(ours: str, theirs: str) -> str:
    """Return the surroundings of the place where two texts part."""
    same = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    same = min(len(ours), len(theirs)) if same is None else same
    begin = max(0, same - 20)
    return f"here {ours[begin : same + 40]!r}, server {theirs[begin : same + 40]!r}"


@contextmanager
def the_servers_clock() -> Iterator[None]:
    """Tell templates the date, as the server does; a run is told a fixed one."""
    fixed = sandbox.CLOCK
    sandbox.CLOCK = template.CLOCK = datetime.now()
    try:
        yield
    finally:
        sandbox.CLOCK = template.CLOCK = fixed


def compare_template(server: Path, model: Path, source: Path) -> dict[str, Outcome]:
    """Return what became of every conversation under one template."""
    with the_servers_clock():
        return _compare_template(server, model, source)


def _compare_template(server: Path, model: Path, source: Path) -> dict[str, Outcome]:
    settings = EngineSettings(
        model_path=model,
        model_sha256="",
        ctx=256,
        vocab_only=True,
        chat_template=source.read_text(encoding="utf-8"),
        special_in_content="parse",
    )
    thinking = replace(settings, template_args=(("enable_thinking", True),))
    try:
        engines = [LlamaEngine(each, RawArray("B", 2)) for each in (settings, thinking)]
    except InputError as error:
        return dict.fromkeys(CASES, Outcome(letter="s", detail=str(error)))
    options = ("--ctx-size", "256", "--chat-template-file", str(source))
    try:
        with closing(engines[0]), closing(engines[1]), running(server, model, *options) as client:
            return {name: compare(engines, client, case) for name, case in CASES.items()}
    except ServerError as error:
        return dict.fromkeys(CASES, Outcome(letter="h", detail=str(error).splitlines()[-1]))


def print_table(found: Iterable[tuple[str, dict[str, Outcome]]], differences: bool) -> None:
    """Print a row for each template as it is finished, then the sums."""
    letters: Counter[str] = Counter()
    for number, name in enumerate(CASES, start=1):
        print(f"{number} {name}")
    print(f"\n{'template':<56} {''.join(str(n + 1) for n in range(len(CASES)))}")
    for name, outcomes in found:
        row = "".join(outcome.letter for outcome in outcomes.values())
        letters.update(row)
        print(f"{name:<56} {row}", flush=True)
        for case, outcome in outcomes.items() if differences else ():
            if outcome.detail:
                print(f"    {case}: {outcome.detail}")
    same, told = letters["="], letters["t"]
    both = same + told + letters["#"]
    print(
        f"\n{same} of {both} prompts that both render are the same tokens, {told} more with enable_thinking=true; "
    )
    print(f"only here {letters['h']}, only the server {letters['s']}, neither {letters['-']}")


def main() -> None:
    """Compare all templates, or those named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="templates whose file name contains it")
    parser.add_argument(
        "--differences", action="store_true", help="show where prompts part, and why one is refused"
    )
    given = parser.parse_args()
    server = program()
    templates = sorted((server.parents[1] / "templates").glob("*.jinja"))
    wanted = [path for path in templates if not given.names or any(name in path.name for name in given.names)]
    with tempfile.TemporaryDirectory() as folder:
        model = write_gguf(Path(folder) / "tiny.gguf")
        print_table(
            ((path.stem, compare_template(server, model, path)) for path in wanted), given.differences
        )


if __name__ == "__main__":
    main()
