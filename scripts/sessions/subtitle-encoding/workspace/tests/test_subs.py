from subs.srt import Cue, parse, shift, text_of
from subs.text import key, wrap

TEXT = "1\n00:00:01,500 --> 00:00:02,000\nHallo\n\n2\n01:00:00,000 --> 01:00:01,250\nzwei\nZeilen\n"


def test_cues_are_read():
    assert parse(TEXT)[1] == Cue(2, 3_600_000, 3_601_250, ("zwei", "Zeilen"))


def test_what_is_read_is_written():
    assert text_of(parse(TEXT)) == TEXT


def test_shift_moves_both_times():
    assert [(cue.start_ms, cue.end_ms) for cue in shift(parse(TEXT), 500)] == [(2000, 2500), (3_600_500, 3_601_750)]


def test_case_does_not_matter():
    assert key("ÄRGER") == key("Ärger")


def test_text_is_wrapped():
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
