from importlib import import_module
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.model.endpoint_engine.events import events
from bfcl_gate.model.endpoint_engine.faults import FaultError

STREAM = b"\xef\xbb\xbf: ping\r\n\r\ndata: one\r\n\r\nevent: chunk\nid: 7\nretry: 10\ndata:two\n\ndata: dr\xc3\xa9i\n\n"


def texts(*pieces: bytes) -> list[str]:
    return [text for _, text in events(pieces)]


def kind(*pieces: bytes) -> str:
    with pytest.raises(FaultError) as caught:
        texts(*pieces)
    return caught.value.kind


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_do_not_depend_on_how_the_network_cuts_them(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(places)]
    assert texts(*pieces) == ["one", "two", "dréi"]


def test_events_of_one_read_arrive_together() -> None:
    first, second, third = events([b"data: 1\n\ndata: 2\n\n", b"data: 3\n\n"])
    assert first[0] == second[0] < third[0]


def test_a_last_line_without_its_end_is_left_out() -> None:
    assert texts(b"data: 1\n\ndata: 2") == ["1"]


def test_an_error_field_is_an_error() -> None:
    assert texts(b'error: {"message": "no"}\n\n') == ['{"error": {"message": "no"}}']
    assert texts(b"error: out of memory\n\n") == ['{"error": "out of memory"}']


def test_what_is_no_event_is_a_fault() -> None:
    assert kind(b"<html>\n") == "bad_sse"
    assert kind(b"date: 1\n") == "bad_sse"
    assert kind(b"data: \xff\n") == "bad_utf8"


def test_lines_and_bodies_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("bfcl_gate.model.endpoint_engine.events")
    monkeypatch.setattr(module, "MOST_LINE_BYTES", 100)
    monkeypatch.setattr(module, "MOST_BODY_BYTES", 1_000)
    assert kind(b"data: ", b"x" * 60, b"x" * 60) == "too_large"
    assert kind(b"data: " + b"x" * 120 + b"\n") == "too_large"
    assert kind(*[b": " + b"x" * 50 + b"\n"] * 30) == "too_large"


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_are_events_or_a_fault(pieces: list[bytes]) -> None:
    try:
        found = texts(*pieces)
    except FaultError:
        return
    assert all(isinstance(text, str) for text in found)
