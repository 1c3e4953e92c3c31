"""The table of an engine comparison: every turn on the local engine beside the server's, then what explains it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError
from bfcl_gate.run_folder import read_json
from edge_agentic.engine_comparison import Pair, pairs_of
from edge_agentic.metrics import tpot_s, ttft_s, turn_latency_s
from edge_agentic.report.document import fault_in
from edge_agentic.report.stored import TURNS, read_turns
from edge_agentic.report.words import Section, clean, count, seconds
from edge_agentic.turns import TurnResult

COMPARISON = "engine_compare.json"
SERVER = "server"
"""The folder of the server's turns inside a run's folder."""


def _form(**fields: Any) -> dict[str, Any]:
    """Return the JSON Schema of an object with these fields."""
    return {"type": "object", "required": list(fields), "properties": fields}


_COUNT = {"type": "integer", "minimum": 0, "maximum": 2**63}
_TEXT = {"type": "string"}
_DIFFERENCE = _form(trajectory_id=_TEXT, turn=_COUNT, at={}, local={}, server={})
_FORM = _form(
    decode=_TEXT,
    starts=_form(compared=_COUNT, equal=_COUNT),
    empty=_form(local=_COUNT, server=_COUNT),
    explained={"type": "array", "items": _TEXT},
    differences={"type": "array", "items": _DIFFERENCE},
)
"""What of engine_compare.json is shown; a file may have been altered."""


def comparison_sections(folder: Path) -> tuple[Section, ...]:
    """Return what a run with --engine-compare found; nothing for another run. Raises InputError for altered files."""
    if not (folder / COMPARISON).is_file():
        return ()
    document = read_json(folder / COMPARISON)
    if (fault := fault_in(document, _FORM)) is not None:
        raise InputError(
            f"{folder / COMPARISON}: {fault}. Expected what `edge-agentic run --engine-compare` writes; restore "
            "the file, or delete it to see the run alone."
        )
    pairs = pairs_of(read_turns(folder / TURNS).turns, read_turns(folder / SERVER / TURNS).turns)
    return (_turns(pairs, document), _explained(document))


def _turns(pairs: Sequence[Pair], document: Mapping[str, Any]) -> Section:
    how = "as long as the recorded answers" if document["decode"] == "recorded" else "to their natural end"
    return Section(
        title=f"Local engine and server: {count(len(pairs), 'turn')} paired, answers {how}",
        header=(
            "trajectory",
            "turn",
            "prompt",
            "server",
            "new",
            "server",
            "out",
            "server",
            "TTFT",
            "server",
            "TPOT",
            "server",
            "turn",
            "server",
            "server / local",
        ),
        rows=tuple(_row(*pair) for pair in pairs),
        notes=("An empty answer (the end token alone) has no first token at a server, so no TTFT there.",),
    )


def _row(local: TurnResult, server: TurnResult) -> tuple[str, ...]:
    times = [of(turn) for of in (ttft_s, tpot_s, turn_latency_s) for turn in (local, server)]
    tokens = [
        getattr(turn, f"{name}_tokens")
        for name in ("input", "evaluated", "output")
        for turn in (local, server)
    ]
    whole = turn_latency_s(local)
    return (
        clean(local.trajectory_id),
        str(local.turn),
        *("" if number is None else f"{number:,}" for number in tokens),
        *(seconds(time) for time in times),
        f"{turn_latency_s(server) / whole:.2f}" if whole else "",
    )


def _explained(document: Mapping[str, Any]) -> Section:
    starts, empty = document["starts"], document["empty"]
    notes = [clean(sentence) for sentence in document["explained"]]
    if starts["compared"]:
        notes.append(
            f"First tokens: equal in {starts['equal']} of {starts['compared']} turns "
            f"(empty answers: {empty['local']} locally, {empty['server']} by the server)."
        )
    else:
        notes.append("First tokens are compared with --decode natural: here no answer may end by itself.")
    notes += [
        clean(
            f"{row['trajectory_id']} turn {row['turn']}: from token {row['at']} on, locally {row['local']!r}, "
            f"by the server {row['server']!r}."
        )
        for row in document["differences"][:20]
    ]
    return Section(title="What explains it", notes=tuple(notes))
