"""What lies under its final name is verified; everything else is a partial file or nothing."""

import hashlib
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bfcl_gate.download.store import Source, Wanted, is_kept, obtain, part_of
from bfcl_gate.errors import SourceError

BODY = b"the right bytes"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("EDGE_AGENTIC_CACHE", str(folder))
    return folder


@pytest.fixture
def wanted(cache: Path) -> Wanted:
    sha256 = hashlib.sha256(BODY).hexdigest()
    return Wanted(path=cache / "models" / "m.gguf", sha256=sha256, size_bytes=len(BODY))


def gives(body: bytes, name: str = "A source") -> Source:
    return Source(name=name, fetch=lambda part: part.write_bytes(body) and None)


def fails(name: str, error: Exception) -> Source:
    def fetch(part: Path) -> None:
        raise error

    return Source(name=name, fetch=fetch)


def test_the_verified_bytes_get_the_final_name(wanted: Wanted) -> None:
    assert obtain(wanted, (gives(BODY),), "") == wanted.path
    assert wanted.path.read_bytes() == BODY
    assert not part_of(wanted.path).exists()


def test_a_kept_file_asks_no_source(wanted: Wanted) -> None:
    obtain(wanted, (gives(BODY),), "")
    assert obtain(wanted, (), "") == wanted.path


def test_a_source_out_of_reach_hands_over_to_the_next_and_says_so(
    wanted: Wanted, caplog: pytest.LogCaptureFixture
) -> None:
    obtain(wanted, (fails("The hub", SourceError("it is down.")), gives(BODY, "the other")), "")
    assert caplog.messages == ["The hub: it is down. Now trying the other."]
    assert wanted.path.read_bytes() == BODY


def test_wrong_bytes_are_deleted_and_the_next_source_is_asked(wanted: Wanted) -> None:
    assert obtain(wanted, (gives(b"other bytes"), gives(BODY)), "").read_bytes() == BODY


def test_without_a_good_source_every_failure_and_the_advice_are_told(wanted: Wanted) -> None:
    with pytest.raises(SourceError) as caught:
        obtain(wanted, (fails("The hub", SourceError("it is down.")), gives(b"bad", "B")), "Do it by hand.")
    found = hashlib.sha256(b"bad").hexdigest()
    assert str(caught.value) == (
        f"m.gguf cannot be fetched. The hub: it is down. B: the bytes have SHA-256 {found} where {wanted.sha256} "
        "is expected; they were deleted. Do it by hand."
    )
    assert not wanted.path.exists()
    assert not part_of(wanted.path).exists()


def test_wrong_bytes_left_by_an_earlier_attempt_cost_one_more_attempt(wanted: Wanted) -> None:
    part = part_of(wanted.path)
    part.parent.mkdir(parents=True)
    part.write_bytes(b"the wrong")

    def resume(part: Path) -> None:
        have = part.read_bytes() if part.exists() else b""
        part.write_bytes(have + BODY[len(have) :])

    assert obtain(wanted, (Source(name="s", fetch=resume),), "").read_bytes() == BODY


def test_a_damaged_file_under_the_final_name_is_replaced(wanted: Wanted) -> None:
    wanted.path.parent.mkdir(parents=True)
    wanted.path.write_bytes(b"damaged")
    assert not is_kept(wanted)
    assert obtain(wanted, (gives(BODY),), "").read_bytes() == BODY


def test_an_interrupted_fetch_leaves_its_part_and_no_final_name(wanted: Wanted) -> None:
    def interrupted(part: Path) -> None:
        part.write_bytes(BODY[:5])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        obtain(wanted, (Source(name="s", fetch=interrupted),), "")
    assert part_of(wanted.path).read_bytes() == BODY[:5]
    assert not wanted.path.exists()


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (28, "not enough free space for m.gguf"),
        (13, "no permission to store m.gguf"),
        (30, "no permission to store m.gguf"),
        (37, "cannot store m.gguf"),
    ],
)
def test_a_disk_that_refuses_ends_it_without_asking_the_next_source(
    wanted: Wanted, number: int, says: str
) -> None:
    with pytest.raises(SourceError, match=says) as caught:
        obtain(wanted, (fails("s", OSError(number, "the system's words")), gives(BODY)), "")
    assert "EDGE_AGENTIC_CACHE" in str(caught.value)
    assert not wanted.path.exists()


def test_a_file_in_place_of_the_cache_folder_is_named(wanted: Wanted, cache: Path) -> None:
    cache.write_bytes(b"")
    with pytest.raises(SourceError, match="cannot store m"):
        obtain(wanted, (gives(BODY),), "")


def test_two_processes_fetch_once_and_both_get_the_file(wanted: Wanted, tmp_path: Path) -> None:
    code = textwrap.dedent(
        f"""
        import time
        from pathlib import Path
        from bfcl_gate.download.store import Source, Wanted, obtain

        def fetch(part):
            with Path({str(tmp_path / "fetches")!r}).open("a") as log:
                log.write("x")
            part.write_bytes({BODY[:5]!r})
            time.sleep(0.5)
            part.write_bytes({BODY!r})

        wanted = Wanted(path=Path({str(wanted.path)!r}), sha256={wanted.sha256!r}, size_bytes={len(BODY)})
        print(obtain(wanted, (Source(name="s", fetch=fetch),), ""))
        """
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [process.communicate()[0].strip() for process in both] == [str(wanted.path)] * 2
    assert (tmp_path / "fetches").read_text() == "x"
    assert wanted.path.read_bytes() == BODY


def test_a_process_that_died_while_fetching_leaves_no_lock(wanted: Wanted) -> None:
    code = textwrap.dedent(
        f"""
        import os
        from pathlib import Path
        from bfcl_gate.download.store import Source, Wanted, obtain

        wanted = Wanted(path=Path({str(wanted.path)!r}), sha256={wanted.sha256!r}, size_bytes={len(BODY)})
        obtain(wanted, (Source(name="s", fetch=lambda part: os._exit(9)),), "")
        """
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert obtain(wanted, (gives(BODY),), "").read_bytes() == BODY
