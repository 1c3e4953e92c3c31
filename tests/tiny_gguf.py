"""Writes small GGUF files with random weights that llama.cpp loads: one for each way a model remembers.

The vocabulary is byte-level BPE, so it tokenises any text. Weights are random but for the output layer, which
lets a model say digits and end-of-turn only: its answers are text that tokenises back to the same tokens.
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

KINDS = ("attention", "window", "hybrid", "recurrent")
"""qwen2; gemma3 with a window of 32 tokens; qwen35 with gated delta-net layers; mamba.

A further kind, "wide", loads but has keys and values of 64 KiB a token: no memory holds a long context of it.
"""

MORE_STATES = ("convolution", "mamba2")
"""Attention beside other kinds of state: lfm2 with short convolutions, granitehybrid with Mamba-2 layers."""

CHATML = r"""{%- if tools %}
<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}
Tools:
{%- for tool in tools %}
{{ '\n' + tool | tojson }}
{%- endfor %}
{{ '\n' }}Call one as <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>.<|im_end|>
{% elif messages[0].role == 'system' %}
{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' + message.content }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>' + ({'name': call.function.name, 'arguments': call.function.arguments} | tojson) }}
{{- '</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- elif message.role == 'user' or message.role == 'tool' %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}
"""

_NORMAL, _CONTROL, _USER_DEFINED, _UNUSED = 1, 3, 4, 5
_LONGEST_RUN = 1024


def _byte_letters() -> list[str]:
    """The printable stand-ins of all bytes in byte-level BPE, in byte order."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters, others = {}, 0
    for byte in range(256):
        letters[byte] = chr(byte) if byte in kept else chr(0x100 + others)
        others += byte not in kept
    return [letters[byte] for byte in range(256)]


LETTERS = _byte_letters()


def _merges() -> list[tuple[str, str]]:
    space = LETTERS[0x20]
    runs = [(space * n, space * n) for n in (2**i for i in range(_LONGEST_RUN.bit_length() - 1))]
    return [*runs, ("t", "h"), ("th", "e"), ("i", "n"), (LETTERS[0x0A], LETTERS[0x0A])]


MERGES = _merges()
SPECIAL: tuple[tuple[str, int], ...] = (
    ("<|endoftext|>", _CONTROL),
    ("<|im_start|>", _CONTROL),
    ("<|im_end|>", _CONTROL),
    ("<tool_call>", _USER_DEFINED),
    ("</tool_call>", _USER_DEFINED),
    ("=" * 600, _USER_DEFINED),
    ("[UNUSED]", _UNUSED),
)
TOKENS: tuple[tuple[str, int], ...] = (
    *((letter, _NORMAL) for letter in LETTERS),
    *((first + second, _NORMAL) for first, second in MERGES),
    *SPECIAL,
)
IDS: Mapping[str, int] = {text: i for i, (text, _) in enumerate(TOKENS)}
END = IDS["<|im_end|>"]
BOS = IDS["<|endoftext|>"]

Architecture = tuple[str, dict[str, Any], dict[str, tuple[int, ...]]]
"""Its name in GGUF, its metadata, and its tensors' shapes in ggml's order (input dimension first)."""

_EMBED, _FEED_FORWARD, _HEADS, _KV_HEADS, _HEAD = 64, 96, 2, 1, 32
_Q, _KV = _HEADS * _HEAD, _KV_HEADS * _HEAD


def write_gguf(
    path: Path,
    kind: str = "attention",
    *,
    answers: str = "digits",
    template: str | None = CHATML,
    add_bos: bool = False,
    trained_ctx: int = 4096,
    tokens: Sequence[tuple[str, int]] = TOKENS,
    seed: int = 1,
) -> Path:
    """Write a model and return its path.

    `answers`: "digits" (some digits, then end of turn), "endless" (digits, never an end) or "empty" (end of
    turn at once; kind "attention" only).
    """
    architecture, metadata, shapes = _ARCHITECTURES[kind]()
    rng = np.random.default_rng(seed)
    shapes = {
        "token_embd.weight": (_EMBED, len(tokens)),
        "output_norm.weight": (_EMBED,),
        "output.weight": (_EMBED, len(tokens)),
        **shapes,
    }
    if kind == "convolution":
        shapes["token_embd_norm.weight"] = shapes.pop("output_norm.weight")  # lfm2's own name for it
    weights = {name: _weights(rng, name, shape) for name, shape in shapes.items()}
    if kind == "window":
        weights["token_embd.weight"] /= _EMBED**0.5  # gemma multiplies by it
    weights["output.weight"] = _output(rng, len(tokens), answers)
    if answers == "empty":
        weights["output.bias"] = np.where(np.arange(len(tokens)) == END, 1e4, 0.0).astype(np.float32)
    metadata = {f"{architecture}.{key}": value for key, value in metadata.items()}
    metadata[f"{architecture}.context_length"] = trained_ctx
    general = {"general.architecture": architecture, "general.name": f"tiny {kind}", "general.file_type": 0}
    _write(path, {**general, **metadata, **_tokenizer(template, add_bos, tokens)}, weights)
    return path


def _weights(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> "np.ndarray[Any, Any]":
    """Random weights of a scale that keeps activations near one; ggml lists the input dimension first."""
    values = rng.standard_normal(shape[::-1]).astype(np.float32)
    if "norm" in name:
        return 1 + values / 10
    if name.endswith("ssm_a"):
        return np.float32(-0.01) - np.abs(values) / 20  # a state that fades over some fifty tokens
    if name == "token_embd.weight":
        return values
    return values * np.float32(1.5 / shape[0] ** 0.5 if len(shape) > 1 else 0.1)


def _output(rng: np.random.Generator, n_tokens: int, answers: str) -> "np.ndarray[Any, Any]":
    """Rows in opposite pairs for the digits, so that one digit always beats the zero of all other tokens."""
    output = np.zeros((n_tokens, _EMBED), dtype=np.float32)
    for digit in range(0, 10, 2):
        row = rng.standard_normal(_EMBED)
        output[IDS[str(digit)]], output[IDS[str(digit + 1)]] = row, -row
    if answers == "digits":
        output[END] = rng.standard_normal(_EMBED)
    return output


def _common(layers: int) -> dict[str, Any]:
    return {
        "block_count": layers,
        "embedding_length": _EMBED,
        "feed_forward_length": _FEED_FORWARD,
        "attention.head_count": _HEADS,
        "attention.head_count_kv": _KV_HEADS,
        "attention.key_length": _HEAD,
        "attention.value_length": _HEAD,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 10000.0,
    }


def _blocks(layers: int, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {f"blk.{i}.{name}": shape for i in range(layers) for name, shape in shapes.items()}


_FFN = {
    "ffn_gate.weight": (_EMBED, _FEED_FORWARD),
    "ffn_up.weight": (_EMBED, _FEED_FORWARD),
    "ffn_down.weight": (_FEED_FORWARD, _EMBED),
}


def _heads(queries: int = _Q, keys: int = _KV) -> dict[str, tuple[int, ...]]:
    return {
        "attn_norm.weight": (_EMBED,),
        "attn_q.weight": (_EMBED, queries),
        "attn_k.weight": (_EMBED, keys),
        "attn_v.weight": (_EMBED, keys),
        "attn_output.weight": (queries, _EMBED),
    }


def _head_norms(size: int = _HEAD) -> dict[str, tuple[int, ...]]:
    return {"attn_q_norm.weight": (size,), "attn_k_norm.weight": (size,)}


def _attention() -> Architecture:
    biases = {"attn_q.bias": (_Q,), "attn_k.bias": (_KV,), "attn_v.bias": (_KV,)}
    return "qwen2", _common(2), _blocks(2, {**_heads(), **biases, "ffn_norm.weight": (_EMBED,), **_FFN})


_GEMMA_NORMS = dict.fromkeys(
    ("post_attention_norm.weight", "ffn_norm.weight", "post_ffw_norm.weight"), (_EMBED,)
)


def _window() -> Architecture:
    metadata = {
        **_common(3),
        "attention.sliding_window": 32,
        "attention.sliding_window_pattern": [True, True, False],
    }
    return "gemma3", metadata, _blocks(3, {**_heads(), **_head_norms(), **_GEMMA_NORMS, **_FFN})


def _wide() -> Architecture:
    size = 16384
    metadata = {
        **_common(1),
        "attention.head_count": 1,
        "attention.head_count_kv": 1,
        "attention.key_length": size,
        "attention.value_length": size,
    }
    return "gemma3", metadata, _blocks(1, {**_heads(size, size), **_head_norms(size), **_GEMMA_NORMS, **_FFN})


def _hybrid() -> Architecture:
    state, groups, ranks, kernel = 16, 2, 4, 4
    inner, keys = state * ranks, state * groups
    metadata = {
        **_common(4),
        "full_attention_interval": 2,
        "rope.dimension_count": _HEAD,
        "rope.dimension_sections": [4, 2, 2, 0],
        "ssm.conv_kernel": kernel,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": ranks,
        "ssm.group_count": groups,
    }
    norms = {"attn_norm.weight": (_EMBED,), "post_attention_norm.weight": (_EMBED,)}
    linear = {
        "attn_qkv.weight": (_EMBED, 2 * keys + inner),
        "attn_gate.weight": (_EMBED, inner),
        "ssm_conv1d.weight": (kernel, 2 * keys + inner),
        "ssm_dt.bias": (ranks,),
        "ssm_a": (ranks,),
        "ssm_beta.weight": (_EMBED, ranks),
        "ssm_alpha.weight": (_EMBED, ranks),
        "ssm_norm.weight": (state,),
        "ssm_out.weight": (inner, _EMBED),
    }
    full = {**_heads(), **_head_norms(), "attn_q.weight": (_EMBED, 2 * _Q)}
    return "qwen35", metadata, _alternating(4, {**norms, **_FFN}, linear, full)


def _recurrent() -> Architecture:
    inner, state, rank, kernel = 2 * _EMBED, 8, 4, 4
    metadata = {
        **_common(2),
        "feed_forward_length": 0,
        "attention.head_count": 0,
        "ssm.conv_kernel": kernel,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": rank,
    }
    block = {
        "attn_norm.weight": (_EMBED,),
        "ssm_in.weight": (_EMBED, 2 * inner),
        "ssm_conv1d.weight": (kernel, inner),
        "ssm_conv1d.bias": (inner,),
        "ssm_x.weight": (inner, rank + 2 * state),
        "ssm_dt.weight": (rank, inner),
        "ssm_dt.bias": (inner,),
        "ssm_a": (state, inner),
        "ssm_d": (inner,),
        "ssm_out.weight": (inner, _EMBED),
    }
    return "mamba", metadata, _blocks(2, block)


def _convolution() -> Architecture:
    kernel = 3
    metadata = {**_common(4), "attention.head_count_kv": [0, _KV_HEADS] * 2, "shortconv.l_cache": kernel}
    norms = {"attn_norm.weight": (_EMBED,), "ffn_norm.weight": (_EMBED,)}
    short = {
        "shortconv.conv.weight": (kernel, _EMBED),
        "shortconv.in_proj.weight": (_EMBED, 3 * _EMBED),
        "shortconv.out_proj.weight": (_EMBED, _EMBED),
    }
    return "lfm2", metadata, _alternating(4, {**norms, **_FFN}, short, {**_heads(), **_head_norms()})


def _mamba2() -> Architecture:
    inner, state, heads, groups, kernel = 2 * _EMBED, 16, 4, 2, 4
    metadata = {
        **_common(4),
        "attention.head_count_kv": [0, _KV_HEADS] * 2,
        "ssm.conv_kernel": kernel,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": heads,
        "ssm.group_count": groups,
    }
    mixed = inner + 2 * groups * state
    mixer = {
        "ssm_in.weight": (_EMBED, inner + mixed + heads),
        "ssm_conv1d.weight": (kernel, mixed),
        "ssm_conv1d.bias": (mixed,),
        "ssm_dt.bias": (heads,),
        "ssm_a": (1, heads),
        "ssm_d": (1, heads),
        "ssm_norm.weight": (inner // groups, groups),
        "ssm_out.weight": (inner, _EMBED),
    }
    norms = {"attn_norm.weight": (_EMBED,), "ffn_norm.weight": (_EMBED,)}
    return "granitehybrid", metadata, _alternating(4, {**norms, **_FFN}, mixer, _heads())


Shapes = Mapping[str, tuple[int, ...]]


def _alternating(layers: int, every: Shapes, even: Shapes, odd: Shapes) -> dict[str, tuple[int, ...]]:
    return {
        f"blk.{i}.{name}": shape
        for i in range(layers)
        for name, shape in {**every, **(odd if i % 2 else even)}.items()
    }


_ARCHITECTURES = {
    "convolution": _convolution,
    "mamba2": _mamba2,
    "attention": _attention,
    "window": _window,
    "hybrid": _hybrid,
    "recurrent": _recurrent,
    "wide": _wide,
}


def _tokenizer(template: str | None, add_bos: bool, tokens: Sequence[tuple[str, int]]) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": [text for text, _ in tokens],
        "tokenizer.ggml.token_type": [kind for _, kind in tokens],
        "tokenizer.ggml.merges": [f"{first} {second}" for first, second in MERGES],
        "tokenizer.ggml.bos_token_id": BOS,
        "tokenizer.ggml.eos_token_id": END,
        "tokenizer.ggml.add_bos_token": add_bos,
    }
    if template is not None:
        metadata["tokenizer.chat_template"] = template
    return metadata


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> tuple[int, bytes]:
    """Return the GGUF type number and the bytes of a metadata value."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, _text(value)
    kind = 5 if isinstance(value[0], int) and not isinstance(value[0], bool) else _value(value[0])[0]
    items = (struct.pack("<i", item) if kind == 5 else _value(item)[1] for item in value)
    return 9, struct.pack("<IQ", kind, len(value)) + b"".join(items)


def _write(path: Path, metadata: Mapping[str, Any], weights: Mapping[str, "np.ndarray[Any, Any]"]) -> None:
    """Write a GGUF version 3 file of F32 tensors (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md)."""
    header = [b"GGUF", struct.pack("<IQQ", 3, len(weights), len(metadata))]
    for key, value in metadata.items():
        kind, data = _value(value)
        header += [_text(key), struct.pack("<I", kind), data]
    body: list[bytes] = []
    offset = 0
    for name, array in weights.items():
        shape = array.shape[::-1]
        header += [
            _text(name),
            struct.pack(f"<I{len(shape)}Q", len(shape), *shape),
            struct.pack("<IQ", 0, offset),
        ]
        data = array.astype("<f4").tobytes()
        data += bytes(-len(data) % 32)
        body.append(data)
        offset += len(data)
    start = b"".join(header)
    path.write_bytes(start + bytes(-len(start) % 32) + b"".join(body))
