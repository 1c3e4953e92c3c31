"""YAML cassettes (vcrpy's format): JSON values of a YAML document, within bounds.

Only plain YAML is read: no tag makes an object. Bodies that a cassette keeps as bytes become text.
"""

import re
import zlib
from contextlib import suppress
from typing import Any

MAX_YAML_BYTES = 64 * 2**20
_MAX_DEPTH = 90
_MAX_NODES = 5_000_000
_CASSETTE = re.compile(rb"^interactions:", re.MULTILINE)


def is_cassette(data: bytes) -> bool:
    """Whether a file is such a document, by its head."""
    return bool(_CASSETTE.search(data[:4096]))


def parse_yaml(data: bytes) -> Any:
    """Return the document's JSON value. Raises ValueError for every reason not to."""
    import yaml

    if len(data) > MAX_YAML_BYTES:
        raise ValueError(f"more than {MAX_YAML_BYTES // 2**20} MiB of YAML")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = data.decode("utf-8", errors="replace")
    try:
        # Events come without recursion, so too deep a document is found before it is built.
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise ValueError("nested too deeply")
        value = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from error
    return _Plain()(value)


class _Plain:
    """Makes JSON values of YAML's. Repeated references are copied, so what they blow up to is bounded."""

    def __init__(self) -> None:
        self._left = _MAX_NODES

    def __call__(self, value: Any, depth: int = 0) -> Any:
        """Return the value with texts for keys, bytes, dates and whatever else JSON has not."""
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            raise ValueError("references blow it up to more than can be read")
        if isinstance(value, dict):
            return {str(key): self(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set):
            return [self(each, depth + 1) for each in value]
        if isinstance(value, bytes):
            return _decoded(value)
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if abs(value) < float("inf") else None
        return str(value)


def _decoded(body: bytes) -> str:
    """Return the text of a body, unpacked where it was kept as it came over the wire."""
    if body.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            body = zlib.decompressobj(31).decompress(body, MAX_YAML_BYTES)
    return body.decode("utf-8", errors="replace")
