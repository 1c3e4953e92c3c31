"""Faults in subtitles."""

from subs.text import width

WIDEST = 42


def faults(cues):
    """Yield (cue number, fault)."""
    for cue, following in zip(cues, cues[1:]):
        if cue.end_ms < cue.start_ms:
            yield cue.number, "ends before it begins"
        if following and cue.end_ms > following.start_ms:
            yield cue.number, f"overlaps {following.number}"
        for line in cue.lines:
            if width(line) > WIDEST:
                yield cue.number, f"line of {width(line)} columns"
