"""Journals survive crashes and notice damage."""

import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.errors import InputError
from bfcl_gate.journal import Journal, read_journal

ROWS = [{"id": "a", "n": 1}, {"id": "b", "text": 'line\n"crc32":5}é\x1b'}, {"id": "c", "list": [1, None]}]


def written(path: Path) -> bytes:
    with Journal(path) as journal:
        for row in ROWS:
            journal.append(row)
    return path.read_bytes()


def test_rows_come_back_and_the_checksum_is_the_last_key(tmp_path: Path) -> None:
    data = written(tmp_path / "j.jsonl")
    assert list(read_journal(tmp_path / "j.jsonl")) == ROWS
    assert all(line.rsplit(b',"', 1)[1].startswith(b"crc32") for line in data.splitlines())


@given(cut=st.integers(min_value=0, max_value=400))
def test_a_file_cut_anywhere_gives_the_whole_rows_before_the_cut(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "j.jsonl"
    data = written(path)
    path.write_bytes(data[:cut])
    whole = data[:cut].count(b"\n")
    assert list(read_journal(path)) == ROWS[:whole]
    with Journal(path) as journal:
        journal.append({"id": "next"})
    assert list(read_journal(path)) == [*ROWS[:whole], {"id": "next"}]


@given(place=st.integers(min_value=0), flip=st.integers(min_value=1, max_value=255))
def test_a_changed_byte_is_never_taken_for_data_nor_silently_dropped(
    tmp_path_factory: pytest.TempPathFactory, place: int, flip: int
) -> None:
    path = tmp_path_factory.mktemp("flip") / "j.jsonl"
    data = bytearray(written(path))
    data[place % len(data)] ^= flip
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"j\.jsonl:\d"):
        list(read_journal(path))


def test_a_journal_that_went_through_windows_is_read_and_continued_without_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(written(path).replace(b"\n", b"\r\n") + b'{"id": "torn')
    assert list(read_journal(path)) == ROWS
    with Journal(path) as journal:
        journal.append({"id": "next"})
    assert list(read_journal(path)) == [*ROWS, {"id": "next"}]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "9" * 5_000])
def test_a_number_that_is_never_written_is_damage(tmp_path: Path, number: str) -> None:
    body = f'{{"id": "a", "n": {number}}}'
    (tmp_path / "j.jsonl").write_text(f'{body[:-1]},"crc32":{zlib.crc32(body.encode())}}}\n')
    with pytest.raises(InputError, match=r"j\.jsonl:1: this journal line does not match its checksum"):
        list(read_journal(tmp_path / "j.jsonl"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_a_journal_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.append(ROWS[0])
        with pytest.raises(InputError, match=r"j\.jsonl: another process is writing this run"):
            Journal(path)
        journal.append(ROWS[1])
    with Journal(path) as journal:
        journal.append(ROWS[2])
    assert list(read_journal(path)) == ROWS


def test_a_missing_journal_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the journal of a run"):
        list(read_journal(tmp_path / "none.jsonl"))


def test_a_full_disk_is_one_source_error_and_what_was_written_stays(tmp_path: Path) -> None:
    program = f"""
import resource, signal
from pathlib import Path
from bfcl_gate.errors import SourceError
from bfcl_gate.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    with Journal(Path({str(tmp_path / "j.jsonl")!r})) as journal:
        for n in range(9):
            journal.append({{"n": n, "text": "x" * 20}})
except SourceError as error:
    print(error, error.__context__ is None or isinstance(error.__context__, OSError))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "cannot write the journal" in done.stdout
    assert done.stdout.endswith("True\n")
    assert done.stderr == ""
    assert [row["n"] for row in read_journal(tmp_path / "j.jsonl")] == [0]
