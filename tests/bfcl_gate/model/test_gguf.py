"""Headers written here byte by byte: what is read, and that no damaged or hostile file gets further than a message."""

import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl_gate.errors import InputError
from bfcl_gate.model.gguf import Header, read_header
from bfcl_gate.model.model_file import GgufInfo, TypeShare, read_gguf, tensor_bytes

U8, I8, U32, I32, F32, BOOL, STRING, ARRAY, U64 = 0, 1, 4, 5, 6, 7, 8, 9, 10


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key: str, kind: int, data: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + data


def array(kind: int, items: list[bytes]) -> bytes:
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + dimensions + struct.pack("<IQ", kind, offset)


def gguf(pairs: list[bytes], tensors: list[bytes] | None = None, *, version: int = 3) -> bytes:
    tensors = tensors or []
    return b"".join([b"GGUF", struct.pack("<IQQ", version, len(tensors), len(pairs)), *pairs, *tensors])


PAIRS = [
    pair("general.architecture", STRING, text("qwen2")),
    pair("general.name", STRING, text("Tiny")),
    pair("general.license", STRING, text("mit")),
    pair("general.file_type", U32, u32(15)),
    pair("general.quantized", BOOL, b"\x01"),
    pair("qwen2.context_length", U32, u32(4096)),
    pair("qwen2.block_count", U32, u32(2)),
    pair("qwen2.embedding_length", U32, u32(64)),
    pair("qwen2.attention.head_count", U32, u32(4)),
    pair("qwen2.attention.head_count_kv", ARRAY, array(I32, [struct.pack("<i", n) for n in (2, 0)])),
    pair("qwen2.rope.freq_base", F32, struct.pack("<f", 0.5)),
    pair("tokenizer.ggml.model", STRING, text("gpt2")),
    pair("tokenizer.ggml.tokens", ARRAY, array(STRING, [text(t) for t in ("a", "b", "ab")])),
    pair("tokenizer.ggml.scores", ARRAY, array(F32, [struct.pack("<f", 0)] * 5000)),
    pair("tokenizer.chat_template", STRING, text("{{ messages }}")),
]
TENSORS = [
    tensor("token_embd.weight", (256, 2), 12, 0),  # Q4_K: 2 blocks of 144 bytes
    tensor("output.weight", (32, 3), 6, 288),  # Q5_0: 3 blocks of 22 bytes
    tensor("output_norm.weight", (4,), 0, 384),  # F32
]
HEADER = gguf(PAIRS, TENSORS)
SMALL = HEADER + bytes(-len(HEADER) % 32) + bytes(400)


def read(tmp_path: Path, body: bytes) -> GgufInfo:
    path = tmp_path / "m.gguf"
    path.write_bytes(body)
    return read_gguf(path)


def outcome(tmp_path: Path, body: bytes) -> str:
    try:
        read(tmp_path, body)
    except InputError as error:
        return str(error) if "\n" in str(error) else "one paragraph"
    return "read"


def test_the_header_says_what_the_model_is(tmp_path: Path) -> None:
    info = read(tmp_path, SMALL)
    assert (info.version, info.size_bytes) == (3, len(SMALL))
    assert (info.architecture, info.name, info.license, info.file_type) == ("qwen2", "Tiny", "mit", "Q4_K_M")
    assert (info.context_length, info.layers, info.embedding_length) == (4096, 2, 64)
    assert (info.heads, info.kv_heads) == (4, (2, 0))
    assert (info.tokenizer, info.vocabulary, info.chat_template) == ("gpt2", 3, "{{ messages }}")
    assert info.parameters == 256 * 2 + 32 * 3 + 4
    assert info.mix == (
        TypeShare(type="Q4_K", tensors=1, bytes=288),
        TypeShare(type="Q5_0", tensors=1, bytes=66),
        TypeShare(type="F32", tensors=1, bytes=16),
    )
    assert info.metadata["qwen2.rope.freq_base"] == 0.5
    assert info.metadata["general.quantized"] is True


def test_long_arrays_are_counted_and_not_kept(tmp_path: Path) -> None:
    info = read(tmp_path, SMALL)
    assert info.array_lengths["tokenizer.ggml.scores"] == 5000
    assert "tokenizer.ggml.scores" not in info.metadata
    assert "tokenizer.ggml.tokens" not in info.metadata


def test_what_a_file_does_not_say_is_none(tmp_path: Path) -> None:
    info = read(tmp_path, gguf([]))
    assert (info.architecture, info.file_type, info.heads, info.vocabulary) == (None, None, None, None)
    assert (info.parameters, info.mix) == (0, ())


@pytest.mark.parametrize(("number", "name"), [(0, "F32"), (15, "Q4_K_M"), (1024 + 7, "Q8_0"), (4, "type 4")])
def test_file_types_have_their_llama_cpp_names(tmp_path: Path, number: int, name: str) -> None:
    assert read(tmp_path, gguf([pair("general.file_type", U32, u32(number))])).file_type == name


def test_an_unknown_tensor_type_has_no_size(tmp_path: Path) -> None:
    info = read(tmp_path, gguf([], [tensor("x", (4,), 99, 0)]) + bytes(64))
    assert info.mix == (TypeShare(type="type 99", tensors=1, bytes=None),)
    assert tensor_bytes(info.tensors[0]) is None


def test_a_type_of_another_kind_is_not_taken_for_the_fact(tmp_path: Path) -> None:
    info = read(
        tmp_path, gguf([pair("general.architecture", U32, u32(1)), pair("general.name", BOOL, b"\x01")])
    )
    assert (info.architecture, info.name) == (None, None)


HUGE = (1 << 64) - 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "the file is empty"),
        (b"GGU", "not a GGUF file"),
        (b"just some text\n", "not a GGUF file"),
        (b"GGUF", "GGUF version 0 is not supported"),
        (gguf([], version=1), "GGUF version 1 is not supported"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (b"GGUF" + struct.pack("<I", 3), "ends in the middle of a value"),
        (b"GGUF" + struct.pack("<IQQ", 3, HUGE, 0), "announces 18,446,744,073,709,551,615 tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE), "metadata entries, more than the file can hold"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 70_000, 0) + bytes(24 * 70_000),
            "more than 65,536 are not believable",
        ),
        (gguf([struct.pack("<Q", HUGE) + bytes(20)]), "bytes of text, more than the file can hold"),
        (gguf([pair("k", 13, bytes(8))]), "13 is no type of a value"),
        (gguf([pair("k", ARRAY, struct.pack("<IQ", ARRAY, 1) + bytes(8))]), "9 is no type of a value"),
        (gguf([pair("k", ARRAY, struct.pack("<IQ", U64, 1 << 61))]), "array elements, more than"),
        (gguf([pair("k", ARRAY, struct.pack("<IQ", STRING, 1 << 61))]), "array texts, more than"),
        (gguf([pair("k", ARRAY, array(STRING, [struct.pack("<Q", HUGE)]))]), "bytes of text, more than"),
        (gguf([pair("k", U8, b"\x01"), pair("k", U8, b"\x02")]), "'k' stands there twice"),
        (gguf([pair("general.alignment", U32, u32(0))]), "general.alignment is 0"),
        (gguf([pair("general.alignment", STRING, text("x"))]), "general.alignment is 'x'"),
        (gguf([], [tensor("x", (1,) * 5, 0, 0)]), "the tensor 'x' has 5 dimensions"),
        (gguf([], [text("x") + u32(1 << 31) + bytes(16)]), "has 2,147,483,648 dimensions"),
        (gguf([], [tensor("x", (1 << 40,), 0, 0)]), "the file is cut short"),
        (gguf([], [tensor("x", (HUGE,) * 4, 0, HUGE)]), "the file is cut short"),
        (gguf([pair("split.count", U32, u32(3))]), "one of 3 shards"),
        (SMALL[:-40], "the file is cut short"),
    ],
)
def test_a_damaged_or_hostile_header_is_one_paragraph(tmp_path: Path, body: bytes, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, body)
    assert says in str(caught.value)
    assert str(tmp_path / "m.gguf") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_texts_of_many_gigabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf([text("k") + u32(STRING) + struct.pack("<Q", 1 << 33)]))
    with path.open("r+b") as file:
        file.truncate(1 << 34)  # sparse: the text would fit the file
    tracemalloc.start()
    with pytest.raises(InputError, match="not believable"):
        read_header(path)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_arrays_of_many_gigabytes_are_stepped_over(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf([pair("k", ARRAY, struct.pack("<IQ", U8, 1 << 33))]))
    with path.open("r+b") as file:
        file.truncate(1 << 34)
    tracemalloc.start()
    assert read_header(path).lengths == {"k": 1 << 33}
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_billions_of_empty_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf([pair("k", ARRAY, struct.pack("<IQ", STRING, 1 << 30))]))
    with path.open("r+b") as file:
        file.truncate(1 << 34)
    with pytest.raises(InputError, match="not believable"):
        read_header(path)


def test_many_short_arrays_are_not_all_kept(tmp_path: Path) -> None:
    pairs = [pair(f"k{i}", ARRAY, struct.pack("<IQ", U8, 4096) + bytes(4096)) for i in range(300)]
    header = read_header_of(tmp_path, gguf(pairs))
    assert len(header.lengths) == 300
    assert len(header.values) == 256


def read_header_of(tmp_path: Path, body: bytes) -> Header:
    path = tmp_path / "m.gguf"
    path.write_bytes(body)
    return read_header(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device file")
def test_a_device_is_refused() -> None:
    with pytest.raises(InputError, match="a device or a pipe"):
        read_header(Path("/dev/zero"))


def test_a_truncation_anywhere_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    for length in [*range(0, 900, 5), *range(900, len(SMALL), 197)]:
        path.write_bytes(SMALL[:length])
        with pytest.raises(InputError):
            read_gguf(path)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(0, 1200), st.integers(0, 255)), min_size=1, max_size=6))
def test_flipped_bytes_never_do_worse_than_an_input_error(
    tmp_path: Path, flips: list[tuple[int, int]]
) -> None:
    body = bytearray(SMALL)
    for place, value in flips:
        body[place] = value
    assert outcome(tmp_path, bytes(body)) in ("read", "one paragraph")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tail=st.binary(max_size=300), tensors=st.integers(0, HUGE), pairs=st.integers(0, HUGE))
def test_random_bytes_after_the_magic_never_do_worse_than_an_input_error(
    tmp_path: Path, tail: bytes, tensors: int, pairs: int
) -> None:
    header = struct.pack("<IQQ", 3, tensors, pairs)
    assert outcome(tmp_path, b"GGUF" + header + tail) in ("read", "one paragraph")
