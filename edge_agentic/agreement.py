"""How far an answer does what the recording did: the multiset IoU of the programs its bash calls start.

The rules, oddities included, are those of MLPerf's `agentic_inference_inline` scorer
(`AgenticInferenceInlineScorer` in mlcommons/endpoints): quoted text is blanked, the rest is split at
`||`, `|`, `&&`, `;` and line ends, and the first word of each piece, without assignments and wrappers
before it, names the program. Heredoc bodies count as commands, options after a wrapper hide its program,
and programs outside the table count for nothing.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_SAME_NAME = """
pytest pylint cython make conda head tail wc diff sed tr sort uniq cut ls xargs cp mv rm mkdir touch tee
which alias unset export git true false timeout date yum
"""
_OTHER_NAMES = {
    "python": "python python2 python3 py",
    "pip": "pip pip3",
    "sphinx": "sphinx-build sphinx-quickstart",
    "cat": "cat less more",
    "grep": "grep egrep fgrep rg ag",
    "awk": "awk gawk",
    "find": "find locate",
    "source": "source .",
    "curl": "curl wget",
    "apt": "apt apt-get",
}
_PROGRAMS = {name: name for name in _SAME_NAME.split()} | {
    name: program for program, names in _OTHER_NAMES.items() for name in names.split()
}
_WRAPPERS = frozenset(("env", "time", "nice", "sudo", "exec", "command"))
_QUOTE = re.compile("['\"`]")
_DOUBLE_QUOTED = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*')  # a backslash before a line end is no escape
_SEPARATOR = re.compile(r"\|\||\||&&|;|\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_VERSION = re.compile(r"\.\d+(\.\d+)?$")


def score(recorded: Mapping[str, Any], answer: Mapping[str, Any]) -> float | None:
    """Return an answer's agreement with the recording, 0 to 1: Σ min(count) / Σ max(count) over programs.

    Both are trace rows or OpenAI assistant messages; unknown keys are ignored and `arguments` may be text
    or an object. None where the recording starts no known program; a failed answer is
    `{"role": "assistant"}` and scores 0. Linear in the length of both.
    """
    expected = Counter(_actions(recorded))
    if not expected:
        return None
    given = Counter(_actions(answer))
    return sum((expected & given).values()) / sum((expected | given).values())


def _actions(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the known programs that a message's bash calls start."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, (list, tuple)) else ():
        for stage in _SEPARATOR.split(_without_quotes(_command(call))):
            program = _program(stage)
            if program:
                yield program


def _command(call: Any) -> str:
    """Return the command of a bash call, "" for every other call and for arguments that make no sense."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or function.get("name") != "bash":
        return ""
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return ""
    if not isinstance(arguments, Mapping):
        return ""
    command = arguments.get("command") or arguments.get("cmd")
    return command if isinstance(command, str) else ""


def _without_quotes(command: str) -> str:
    """Put a space for each quoted piece, scanning left to right; a quote that is not closed stays.

    Equal to substituting `'[^']*'|"(?:[^"\\\\]|\\\\.)*"|`[^`]*``, whose time is quadratic in unclosed quotes.
    """
    pieces = []
    start = position = unclosed_until = 0
    while opening := _QUOTE.search(command, position):
        position = opening.start()
        end = -1
        if opening.group() != '"':
            end = command.find(opening.group(), position + 1)
        elif position >= unclosed_until:
            stop = _end_of_double_quoted(command, position + 1)
            # A scan that found no close finds none from any quote it passed: it took them all as escaped.
            end, unclosed_until = (stop, 0) if command[stop : stop + 1] == '"' else (-1, stop)
        if end < 0:
            position += 1
            continue
        pieces.append(command[start:position])
        start = position = end + 1
    return " ".join([*pieces, command[start:]])


def _end_of_double_quoted(command: str, start: int) -> int:
    """Return where double-quoted text that begins at `start` ends: at its quote, or where it cannot go on."""
    match = _DOUBLE_QUOTED.match(command, start)
    return match.end() if match else start


def _program(stage: str) -> str | None:
    """Return the table's name for the program one piece of a command starts."""
    for word in stage.split():
        if word in _WRAPPERS or _ASSIGNMENT.match(word):
            continue
        return _PROGRAMS.get(_VERSION.sub("", word.rsplit("/", 1)[-1].lower()))
    return None
