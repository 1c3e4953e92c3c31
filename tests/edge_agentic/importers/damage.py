"""Recordings damaged at random: values of JSON replaced, lines and bytes lost, doubled or torn."""

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    10**30,
    "",
    "\0",
    "\ud800",
    "x" * 3000,
    "9" * 400,
    "9" * 5000,
    "2026-13-99T99:99:99Z",
    "{",
    '{"a": ',
    [],
    {},
    [[]],
    [None],
    [{}],
    {"": {}},
    {"type": "text"},
    {"role": "user", "content": None},
)
BYTES = (b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\r\n", b"\n", b"{", b"]", b'"', b"NaN", b"1e999", b"[" * 300)


def mutated(data: bytes, random: Random) -> bytes:
    """Return the content of a recording with one to three places of it damaged."""
    kinds: tuple[Callable[[bytes, Random], bytes], ...] = (_value, _value, _value, _lines, _bytes)
    for _ in range(random.randint(1, 3)):
        data = random.choice(kinds)(data, random)
    return data


def _value(data: bytes, random: Random) -> bytes:
    """Damage a value of the document, or of one line."""
    try:
        return _dumped(_damaged(json.loads(data), random))
    except ValueError:
        lines = data.split(b"\n")
    at = random.randrange(len(lines))
    try:
        lines[at] = _dumped(_damaged(json.loads(lines[at]), random))
    except ValueError:
        lines[at] = lines[at][: random.randint(0, len(lines[at]))]
    return b"\n".join(lines)


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def _damaged(value: Any, random: Random) -> Any:
    root = [copy.deepcopy(value)]
    parent, key = root, 0
    while isinstance(parent[key], list | dict) and parent[key] and random.random() < 0.85:
        parent = parent[key]
        key = random.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
    kind = random.randrange(4)
    if kind == 0 and parent is not root:
        del parent[key]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[random.randrange(len(parent))]))
    elif kind == 2 and isinstance(parent, dict):
        parent[key] = copy.deepcopy(parent[random.choice(list(parent))])
    else:
        parent[key] = copy.deepcopy(random.choice(HOSTILE))
    return root[0] if root else None


def _lines(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    kind = random.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(random.randrange(len(lines)), lines[at])
    elif kind == 2:
        lines[at] = lines[at][: random.randint(0, len(lines[at]))]
    else:
        other = random.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)


def _bytes(data: bytes, random: Random) -> bytes:
    at = random.randint(0, len(data))
    kind = random.randrange(3)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + random.choice(BYTES) + data[at:]
    return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
