"""The command line."""

import argparse
import sys
from pathlib import Path

from subs.check import faults
from subs.srt import SrtError, decode, parse, shift, text_of
from subs.text import key, wrap


def main(argv=None):
    parser = argparse.ArgumentParser(prog="subs")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check")
    check.add_argument("path", type=Path)
    find = commands.add_parser("find")
    find.add_argument("word")
    find.add_argument("path", type=Path)
    moving = commands.add_parser("shift")
    moving.add_argument("seconds", type=float)
    wrapping = commands.add_parser("wrap")
    wrapping.add_argument("columns", type=int)
    for command in (moving, wrapping):
        command.add_argument("source", type=Path)
        command.add_argument("target", type=Path)
    options = parser.parse_args(argv)
    try:
        return RUN[options.command](options)
    except SrtError as error:
        print(f"subs: {error}", file=sys.stderr)
        return 1


def files(path):
    return sorted(path.glob("*.srt")) if path.is_dir() else [path]


def read(path):
    return parse(decode(path.read_bytes()))


def _check(options):
    bad = 0
    for path in files(options.path):
        for number, fault in faults(read(path)):
            print(f"{path}:{number}: {fault}")
            bad = 1
    return bad


def _find(options):
    for path in files(options.path):
        for cue in read(path):
            text = " ".join(cue.lines)
            if key(options.word) in key(text):
                print(f"{path}:{cue.number}: {text}")
    return 0


def _shift(options):
    options.target.write_text(text_of(shift(read(options.source), int(options.seconds * 1000))))
    return 0


def _wrap(options):
    cues = read(options.source)
    wrapped = [type(cue)(cue.number, cue.start_ms, cue.end_ms, tuple(wrap(" ".join(cue.lines), options.columns))) for cue in cues]
    options.target.write_text(text_of(wrapped))
    return 0


RUN = {"check": _check, "find": _find, "shift": _shift, "wrap": _wrap}
