"""TraceLab rounds: one JSON object for each model call of a Claude Code or Codex session, lengths and tool times.

Source: uw-syfi/TraceLab. `prefix_tokens` are what the provider's cache served, so a lower bound of what the
prompt shares with the one before: where a prompt is not shorter than the one before it, it extends it here;
where it is shorter, the two share `prefix_tokens`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edge_agentic.importers.normal import Notes
from edge_agentic.importers.shape_rounds import Round, Run, first_tokens
from edge_agentic.importers.source import Source
from edge_agentic.importers.values import count, name, obj, objects, seconds, text


def read_rounds(source: Source, notes: Notes) -> Iterator[Round]:
    """Read the rounds of each session in their order."""
    sessions: dict[str, list[Mapping[str, Any]]] = {}
    for record in source.records:
        value = obj(record.value)
        sessions.setdefault(name(value.get("session_id")) or source.stem, []).append(value)
    for id_, rows in sessions.items():
        yield from _session(id_, sorted(rows, key=lambda row: count(row.get("round_index")) or 0), notes)


def _session(id_: str, rows: Sequence[Mapping[str, Any]], notes: Notes) -> Iterator[Round]:
    runs: tuple[Run, ...] = ()
    wait: tuple[float, str] | None = None
    missed = 0
    for position, row in enumerate(rows):
        tokens, output = count(row.get("input_tokens_total")), count(row.get("output_tokens"))
        if not tokens or output is None:
            notes.skip("round without lengths")
            continue
        before, cached = sum(size for _, size in runs), count(row.get("prefix_tokens")) or 0
        grows = tokens >= before
        missed += grows and cached < before // 2
        kept = runs if grows else first_tokens(runs, min(cached, tokens))
        new = tokens - sum(size for _, size in kept)
        runs = (*kept, (f"round {id_} {position}", new)) if new else kept
        model = text(row.get("model")) or None
        yield Round(runs=runs, solid=tokens, output_tokens=max(1, output), group=id_, wait=wait, model=model)
        wait = _wait(row)
    if missed:
        notes.remark(
            f"{id_}: in {missed} of {len(rows)} rounds the cache held less than half of the prompt before; the "
            "prompt extends it here all the same, so more can be reused than was then."
        )


def _wait(row: Mapping[str, Any]) -> tuple[float, str] | None:
    """Return how long the tools of a round took, from the first call to the last result."""
    tools = objects(row.get("tools"))
    began = [at for tool in tools if (at := seconds(tool.get("emitted_at"))) is not None]
    ended = [at for tool in tools if (at := seconds(tool.get("result_at"))) is not None]
    return (max(ended) - min(began), "span") if began and ended else None
