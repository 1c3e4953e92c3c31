"""The command line."""

import argparse
import sys

from taskgraph.graph import GraphProblem, build, levels, order, paths
from taskgraph.reader import SyntaxProblem, read


def main(argv=None):
    parser = argparse.ArgumentParser(prog="taskgraph")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("order", "levels", "why"):
        command = commands.add_parser(name)
        command.add_argument("file")
        if name == "why":
            command.add_argument("task")
    options = parser.parse_args(argv)
    with open(options.file, encoding="utf-8") as file:
        text = file.read()
    try:
        print(RUN[options.command](build(read(text)), options))
    except (SyntaxProblem, GraphProblem) as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return 1
    return 0


def _order(edges, options):
    return "\n".join(order(edges))


def _levels(edges, options):
    return "\n".join(f"{number}: {' '.join(names)}" for number, names in enumerate(levels(edges), start=1))


def _why(edges, options):
    found = paths(edges, options.task)
    return "\n".join(" → ".join(path) for name, path in found.items() if name != options.task)


RUN = {"order": _order, "levels": _levels, "why": _why}
