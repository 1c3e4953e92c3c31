"""Mooncake traces (also Dynamo's and aiperf's): {timestamp, input_length, output_length, hash_ids}, no text.

Source: kvcache-ai/Mooncake, FAST25-release. Ids stand for blocks of 512 tokens; the last one may be cut. Some
variants name sessions and the wait before a request (`session_id`, `delay` in ms).
"""

from collections.abc import Iterator, Sequence

from edge_agentic.importers.normal import Notes
from edge_agentic.importers.shape_rounds import Round, block_runs
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import arr, count, name, number, obj

BLOCK = 512


def read_rounds(source: Source, notes: Notes) -> Iterator[Round]:
    """Read each row as one round, in the order of the file (its timestamps are in that order)."""
    for record in source.records:
        value = obj(record.value)
        tokens, output = count(value.get("input_length")), count(value.get("output_length"))
        if not tokens or output is None:
            notes.skip("row without lengths")
            continue
        runs, solid = block_runs(_ids(value.get("hash_ids")), BLOCK, tokens, f"rest {record.line}")
        wait = number(value.get("delay"))
        yield Round(
            runs=runs,
            solid=solid,
            output_tokens=max(1, output),
            group=name(value.get("session_id")),
            wait=None if wait is None else (wait / 1000, "timestamps"),
        )
    notes.remark("Arrival times of requests are not part of a trajectory; its turns follow each other.")


def _ids(value: object) -> Sequence[object]:
    return [each for each in arr(value) if isinstance(each, int | str)]
