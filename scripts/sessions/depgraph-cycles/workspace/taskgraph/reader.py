"""Reads task descriptions."""

import re
from dataclasses import dataclass, field

NAME = re.compile(r"[A-Za-z_]+")


class SyntaxProblem(Exception):
    """A line that cannot be read; the message begins with its number."""


@dataclass
class Task:
    name: str
    line: int
    groups: tuple = ()
    needs: tuple = ()
    commands: list = field(default_factory=list)


def read(text):
    """Return the tasks of a description, in its order."""
    tasks = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.split("#")[0].rstrip()
        if not line:
            continue
        if line[0] in " \t":
            if not tasks:
                raise SyntaxProblem(f"{number}: a command before the first task")
            tasks[-1].commands.append(line.strip())
        elif line.startswith("task "):
            tasks.append(_task(line[5:], number))
        else:
            raise SyntaxProblem(f"{number}: expected 'task NAME', found {line!r}")
    return tasks


def _task(rest, number):
    head, _, needs = rest.partition(":")
    name, *groups = head.split()
    if not NAME.match(name):
        raise SyntaxProblem(f"{number}: {name!r} is not a name")
    for group in groups:
        if not group.startswith("@"):
            raise SyntaxProblem(f"{number}: {group!r} is not a group, those begin with @")
    return Task(name, number, tuple(groups), tuple(needs.split()))
