"""Reads the header of a GGUF file (versions 2 and 3, little-endian) without trusting a single count in it.

Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Nothing is allocated by what the file
claims: text and number lists are kept up to a limit and otherwise stepped over.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bfcl_gate.errors import InputError

Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...]

_MAX_PAIRS = 65_536
_MAX_TENSORS = 65_536
_MAX_TEXT_BYTES = 16 << 20  # the longest real texts are chat templates of some 100 kB
_MAX_KEPT_TEXT_BYTES = 64 << 20
_MAX_KEPT_ITEMS = 4_096  # in an array: per-layer numbers are kept, vocabularies are only counted
_MAX_KEPT_ITEMS_TOGETHER = 1 << 20
_MAX_ARRAY_TEXTS = 1 << 22  # the largest real vocabularies have some 300,000 tokens
_MAX_DIMENSIONS = 4
_DEFAULT_ALIGNMENT = 32

_STRING, _ARRAY = 8, 9
_NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor: its shape in ggml order, its ggml type number, its byte offset in the data section."""

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What stands before the weights. `lengths` holds the number of elements of every array.

    `values` holds the single values and the number arrays of up to 4,096 elements. `data_start` is the byte
    offset of the data section.
    """

    version: int
    values: Mapping[str, Value]
    lengths: Mapping[str, int]
    tensors: tuple[Tensor, ...]
    data_start: int
    size_bytes: int


def read_header(path: Path) -> Header:
    """Read the header of a GGUF file.

    Raises InputError for a path that is missing, no regular file, unreadable, no GGUF, cut short or
    malformed.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path}: this is a folder; expected a .gguf file. Name the file inside it.")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: this is a device or a pipe; expected a .gguf file on a disk.")
        with path.open("rb") as file:
            return _read(_Reader(file, path))
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no such file; expected the path of a .gguf file or a name from "
            "`edge-agentic models list`."
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot read the file ({error.strerror}).") from error


class _Reader:
    """A position in the file and the three ways to read there."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.path = path
        self.size = file.seek(0, 2)
        self.kept_text = self.kept_items = self.texts = 0
        self.file = file
        file.seek(0)

    def bad(self, what: str) -> InputError:
        at = self.file.tell()
        return InputError(
            f"{self.path}: damaged GGUF header near byte {at:,}: {what}. The file was cut short or altered; "
            "download it again or compare its SHA-256 with its source."
        )

    def number(self, code: str) -> int:
        return int(self.scalar(code))

    def scalar(self, code: str) -> int | float | bool:
        data = self.file.read(struct.calcsize(code))
        if len(data) < struct.calcsize(code):
            raise self.bad("it ends in the middle of a value")
        value: int | float | bool = struct.unpack(code, data)[0]
        return value

    def count(self, what: str, each_bytes: int, limit: int | None = None) -> int:
        """Read a 64-bit count of things of at least `each_bytes`; refuse more than the file still holds."""
        count = self.number("<Q")
        if count * each_bytes > self.size - self.file.tell():
            raise self.bad(f"it announces {count:,} {what}, more than the file can hold")
        if limit is not None and count > limit:
            raise self.bad(f"it announces {count:,} {what}; more than {limit:,} are not believable")
        return count

    def text(self) -> str:
        length = self.count("bytes of text", 1, _MAX_TEXT_BYTES)
        self.kept_text += length
        if self.kept_text > _MAX_KEPT_TEXT_BYTES:
            raise self.bad("its texts together are larger than 64 MiB")
        return self.file.read(length).decode("utf-8", "replace")

    def skip(self, length: int) -> None:
        self.file.seek(length, 1)


def _read(reader: _Reader) -> Header:
    version = _read_start(reader)
    tensor_count = reader.count("tensors", 24, _MAX_TENSORS)
    pair_count = reader.count("metadata entries", 13, _MAX_PAIRS)
    values, lengths = _read_pairs(reader, pair_count)
    tensors = tuple(_read_tensor(reader) for _ in range(tensor_count))
    alignment = values.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
        raise reader.bad(f"general.alignment is {alignment!r}")
    return Header(
        version=version,
        values=values,
        lengths=lengths,
        tensors=tensors,
        data_start=-(-reader.file.tell() // alignment) * alignment,
        size_bytes=reader.size,
    )


def _read_start(reader: _Reader) -> int:
    path, start = reader.path, reader.file.read(8)
    if not start:
        raise InputError(f"{path}: the file is empty; expected a GGUF model. Download it again.")
    if start[:4] != b"GGUF":
        raise InputError(
            f"{path}: not a GGUF file (its first bytes are {start[:4]!r}); expected a model in GGUF format."
        )
    version = int.from_bytes(start[4:], "little")
    if len(start) < 8 or version not in (2, 3):
        swapped = " (big-endian?)" if int.from_bytes(start[4:], "big") in (2, 3) else ""
        raise InputError(
            f"{path}: GGUF version {version}{swapped} is not supported; expected 2 or 3, little-endian. "
            "Convert the model again with current tools."
        )
    return version


def _read_pairs(reader: _Reader, count: int) -> tuple[dict[str, Value], dict[str, int]]:
    values: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    for _ in range(count):
        key, kind = reader.text(), reader.number("<I")
        if key in values or key in lengths:
            raise reader.bad(f"the key {key[:80]!r} stands there twice")
        if kind == _ARRAY:
            lengths[key], items = _read_array(reader)
            if items is not None:
                values[key] = items
        elif kind == _STRING:
            values[key] = reader.text()
        else:
            values[key] = reader.scalar(_code_of(reader, kind))
    return values, lengths


def _read_array(reader: _Reader) -> tuple[int, tuple[Scalar, ...] | None]:
    """Return the length, and the items where they are few numbers."""
    kind = reader.number("<I")
    if kind == _STRING:
        return _skip_texts(reader), None
    code = _code_of(reader, kind)
    width = struct.calcsize(code)
    count = reader.count("array elements", width)
    reader.kept_items += count if count <= _MAX_KEPT_ITEMS else 0
    if count > _MAX_KEPT_ITEMS or reader.kept_items > _MAX_KEPT_ITEMS_TOGETHER:
        reader.skip(count * width)
        return count, None
    return count, struct.unpack(f"<{count}{code[1]}", reader.file.read(count * width))


def _skip_texts(reader: _Reader) -> int:
    count = reader.count("array texts", 8, _MAX_ARRAY_TEXTS)
    reader.texts += count
    if reader.texts > _MAX_ARRAY_TEXTS:
        raise reader.bad(f"its arrays hold more than {_MAX_ARRAY_TEXTS:,} texts")
    for _ in range(count):
        reader.skip(reader.count("bytes of text", 1))
    return count


def _code_of(reader: _Reader, kind: int) -> str:
    code = _NUMBERS.get(kind)
    if code is None:
        raise reader.bad(f"{kind} is no type of a value")
    return code


def _read_tensor(reader: _Reader) -> Tensor:
    name, dimensions = reader.text(), reader.number("<I")
    if dimensions > _MAX_DIMENSIONS:
        raise reader.bad(f"the tensor {name[:80]!r} has {dimensions:,} dimensions")
    shape = tuple(reader.number("<Q") for _ in range(dimensions))
    return Tensor(name=name, shape=shape, type=reader.number("<I"), offset=reader.number("<Q"))
