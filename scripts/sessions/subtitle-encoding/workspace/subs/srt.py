"""SubRip files."""

import re
from dataclasses import dataclass, replace

TIME = re.compile(r"(\d+):(\d\d):(\d\d)[,.](\d+)")
ARROW = re.compile(rf"{TIME.pattern} --> {TIME.pattern}")


class SrtError(Exception):
    """A file that is no SubRip; the message holds the line."""


@dataclass(frozen=True)
class Cue:
    number: int
    start_ms: int
    end_ms: int
    lines: tuple


def decode(data):
    """Return the text of a file, whatever it is encoded in."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse(text):
    """Return the cues of a SubRip text."""
    cues = []
    for block in re.split(r"\n\n", text.strip()):
        lines = block.split("\n")
        found = ARROW.match(lines[1])
        if not found:
            raise SrtError(f"cue {lines[0]}: expected two times, found {lines[1]!r}")
        parts = found.groups()
        cues.append(Cue(int(lines[0]), _ms(parts[:4]), _ms(parts[4:]), tuple(lines[2:])))
    return cues


def _ms(parts):
    hours, minutes, seconds, fraction = map(int, parts)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction


def text_of(cues):
    """Return cues as SubRip text."""
    return "\n".join(
        f"{cue.number}\n{_time(cue.start_ms)} --> {_time(cue.end_ms)}\n" + "\n".join(cue.lines) + "\n" for cue in cues
    )


def _time(ms):
    seconds, ms = divmod(ms, 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},{ms:03d}"


def shift(cues, ms):
    """Return the cues moved in time."""
    return [replace(cue, start_ms=cue.start_ms + ms, end_ms=cue.end_ms + ms) for cue in cues]
