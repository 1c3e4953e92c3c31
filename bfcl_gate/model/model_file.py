"""What a GGUF file is, from its header alone: architecture, sizes, quantisation mix, template."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from bfcl_gate.cache import sha256_of
from bfcl_gate.errors import InputError
from bfcl_gate.model.gguf import Header, Tensor, Value, read_header

__all__ = ["GgufInfo", "TypeShare", "read_gguf", "sha256_of"]

# ggml type number: (name, elements in a block, bytes of a block), from ggml's type table.
_TYPES = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
    42: ("Q2_0", 64, 18),
}

# general.file_type as llama.cpp numbers it (LLAMA_FTYPE); a minus stands for a number that is not in use.
_FILE_TYPE_ROWS = """
F32 F16 Q4_0 Q4_1 - - - Q8_0 Q5_0 Q5_1
Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ2_XXS
IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M
IQ4_XS IQ1_M BF16 - - - TQ1_0 TQ2_0 MXFP4_MOE NVFP4
Q1_0 Q2_0
"""
_FILE_TYPES = dict(enumerate(_FILE_TYPE_ROWS.split()))
_GUESSED_FILE_TYPE = 1024  # added to the number where the file did not say and llama.cpp guessed


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeShare:
    """How much of a model is stored in one tensor type. `bytes` is None for a type unknown here."""

    type: str
    tensors: int
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufInfo:
    """The header of a model file, read and checked against the file's size.

    What the file does not say is None; heads that differ by layer are a tuple. `metadata` holds its single
    values and short number arrays (per layer), `array_lengths` the length of every array; `tensors` are name,
    shape, type and offset.
    """

    path: Path
    size_bytes: int
    version: int
    architecture: str | None
    name: str | None
    license: str | None
    file_type: str | None
    parameters: int
    context_length: int | None
    layers: int | None
    embedding_length: int | None
    heads: int | tuple[int, ...] | None
    kv_heads: int | tuple[int, ...] | None
    tokenizer: str | None
    vocabulary: int | None
    chat_template: str | None
    mix: tuple[TypeShare, ...]
    tensors: tuple[Tensor, ...]
    metadata: Mapping[str, Value]
    array_lengths: Mapping[str, int]


def read_gguf(path: Path) -> GgufInfo:
    """Read and check the header of a model file; the weights are not read.

    Raises InputError for a path that is missing, no regular file, unreadable, empty, no GGUF, malformed, cut
    short, or one shard of several.
    """
    header = read_header(path)
    _check_complete(path, header)
    values = header.values
    architecture = _text(values, "general.architecture")
    return GgufInfo(
        path=path,
        size_bytes=header.size_bytes,
        version=header.version,
        architecture=architecture,
        name=_text(values, "general.name"),
        license=_text(values, "general.license"),
        file_type=_file_type(values),
        parameters=sum(prod(tensor.shape) for tensor in header.tensors),
        context_length=_integer(values, f"{architecture}.context_length"),
        layers=_integer(values, f"{architecture}.block_count"),
        embedding_length=_integer(values, f"{architecture}.embedding_length"),
        heads=_integers(values, f"{architecture}.attention.head_count"),
        kv_heads=_integers(values, f"{architecture}.attention.head_count_kv"),
        tokenizer=_text(values, "tokenizer.ggml.model"),
        vocabulary=header.lengths.get("tokenizer.ggml.tokens"),
        chat_template=_text(values, "tokenizer.chat_template"),
        mix=_mix(header.tensors),
        tensors=header.tensors,
        metadata=values,
        array_lengths=header.lengths,
    )


def tensor_bytes(tensor: Tensor) -> int | None:
    """Return the stored size of a tensor, None for a type unknown here."""
    if tensor.type not in _TYPES:
        return None
    _, block, size = _TYPES[tensor.type]
    return prod(tensor.shape) // block * size


def tensor_type(tensor: Tensor) -> str:
    """Return the name of a tensor's type."""
    return _TYPES[tensor.type][0] if tensor.type in _TYPES else f"type {tensor.type}"


def _check_complete(path: Path, header: Header) -> None:
    shards = _integer(header.values, "split.count")
    if shards is not None and shards > 1:
        raise InputError(
            f"{path}: this is one of {shards} shards of a model; expected the model in one file. Join the "
            "shards with `llama-gguf-split --merge`."
        )
    ends = (header.data_start + tensor.offset + (tensor_bytes(tensor) or 0) for tensor in header.tensors)
    end = max(ends, default=0)
    if end > header.size_bytes:
        raise InputError(
            f"{path}: the file is cut short: it holds {header.size_bytes:,} bytes and its tensors end at "
            f"byte {end:,}. Download it again."
        )


def _mix(tensors: tuple[Tensor, ...]) -> tuple[TypeShare, ...]:
    """Return the share of every tensor type, the largest first."""
    counts = Counter(tensor_type(tensor) for tensor in tensors)
    sizes: dict[str, int | None] = {}
    for tensor in tensors:
        name, size = tensor_type(tensor), tensor_bytes(tensor)
        sizes[name] = None if size is None else (sizes.get(name) or 0) + size
    shares = (TypeShare(type=name, tensors=counts[name], bytes=sizes[name]) for name in counts)
    return tuple(sorted(shares, key=lambda share: (-(share.bytes or 0), share.type)))


def _file_type(values: Mapping[str, Value]) -> str | None:
    number = _integer(values, "general.file_type")
    if number is None:
        return None
    name = _FILE_TYPES.get(number & ~_GUESSED_FILE_TYPE, "-")
    return f"type {number}" if name == "-" else name


def _text(values: Mapping[str, Value], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) else None


def _integer(values: Mapping[str, Value], key: str) -> int | None:
    value = values.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _integers(values: Mapping[str, Value], key: str) -> int | tuple[int, ...] | None:
    value = values.get(key)
    if isinstance(value, tuple):
        whole = tuple(item for item in value if isinstance(item, int))
        return whole if len(whole) == len(value) else None
    return _integer(values, key)
