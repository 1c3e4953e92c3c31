"""What a reader of a gate should know beside its figures, in sentences."""

from collections.abc import Mapping
from typing import Any

from bfcl_gate.lines import Line
from bfcl_gate.words import count

Gate = Mapping[str, Any]

_MANY_CUT, _MANY_EMPTY = 0.05, 0.20
"""Above these shares answers ended by the token limit, or empty, are a warning."""

_FLIPS = 20
"""So many flipped samples are named in a sentence; result.json holds them all."""


def notes_on(gate: Gate, line: Line | None) -> list[str]:
    """Return the sentences that apply to a gate object; `line` is what judged it."""
    notes = [
        _partial(gate),
        _batched(gate),
        None if line is None else line.note,
        _chance(gate),
        _comparison(gate),
    ]
    notes += [_failed(gate), _cut(gate), _empty(gate), _odd(gate), _ceiling(gate)]
    return [note for note in notes if note is not None]


def _partial(gate: Gate) -> str | None:
    if not gate["partial"]:
        return None
    return (
        f"Partial: stopped after {gate['samples']:,} of {count(gate['planned_samples'], 'sample')}, because no later "
        "answer could change the verdict; the accuracies are of these samples only."
    )


def _batched(gate: Gate) -> str | None:
    ways = [f"{gate['parallel']} samples were decoded at once (--parallel)"] if gate["parallel"] > 1 else []
    if gate["share_prefix"]:
        ways.append("each prompt began with what it shares with the one before (--share-prefix)")
    if not ways:
        return None
    return (
        f"Asked for speed: {', and '.join(ways)}. Now and then an answer then has another word than when it is asked "
        "alone from an empty cache."
    )


def _chance(gate: Gate) -> str | None:
    chance = gate["chance"]
    if chance is None or chance["visible_accuracy"] is None:
        return None
    drop = chance["visible_drop"]
    seen = "" if drop is None else f" (a drop of {100 * drop:.1f} points from the reference)"
    false = chance["false_fail_probability"]
    luck = (
        ""
        if false is None
        else f" Drawn anew, samples like these would fail this model {false:.1%} of the time."
    )
    return (
        f"A gate of {count(gate['planned_samples'], 'sample')} fails a true overall accuracy of "
        f"{chance['visible_accuracy']:.1%}{seen} four times in five; a smaller drop can pass unseen.{luck}"
    )


def _comparison(gate: Gate) -> str | None:
    found = gate["comparison"]
    if found is None:
        return None
    flips = [*(f"+{sample_id}" for sample_id in found["gained"]), *(f"-{s}" for s in found["lost"])]
    more = f" and {len(flips) - _FLIPS} more" if len(flips) > _FLIPS else ""
    told = f": {', '.join(flips[:_FLIPS])}{more}" if flips else ""
    return (
        f"Sample by sample against the stored marks ({found['samples']} shared): {len(found['gained'])} "
        f"gained, {len(found['lost'])} lost, McNemar p = {found['mcnemar_p']:.3g} (decides nothing){told}."
    )


def _failed(gate: Gate) -> str | None:
    if not gate["failed_requests"]:
        return None
    return (
        f"{count(gate['failed_requests'], 'failed request')}, wrong here; MLPerf's scorer would credit "
        f"{gate['failed_requests_the_reference_credits']} of them, on irrelevance and live_irrelevance."
    )


def _cut(gate: Gate) -> str | None:
    if gate["token_limit_answers"] <= _MANY_CUT * gate["samples"]:
        return None
    return (
        f"Warning: {gate['token_limit_answers'] / gate['samples']:.1%} of the answers were ended by the token limit, "
        "so the model may know more than it could say; raise --max-tokens, or switch reasoning off."
    )


def _empty(gate: Gate) -> str | None:
    if gate["empty_answers"] <= _MANY_EMPTY * gate["samples"]:
        return None
    return (
        f"Warning: {gate['empty_answers'] / gate['samples']:.1%} of the answers are empty; the chat template may not "
        "be the model's own."
    )


def _odd(gate: Gate) -> str | None:
    malformed, unscorable = gate["malformed_answers"], gate["unscorable_answers"]
    if not malformed and not unscorable:
        return None
    return (
        f"{count(malformed, 'answer')} with a call that does not decode, judged as the reference judges it; "
        f"{count(unscorable, 'answer')} on which a reference's scorer would crash, wrong here."
    )


def _ceiling(gate: Gate) -> str | None:
    parts = []
    if gate["unpassable_samples"]:
        parts.append(f"no call can pass {', '.join(gate['unpassable_samples'])}")
    if gate["tool_schemas"] == "mlperf" and {"simple_java", "simple_javascript"} & gate["subsets"].keys():
        parts.append(
            "mlperf tool schemas declare Java and JavaScript types where the checker demands text: an answer "
            "that obeys the schema gets 61.3 % of simple_java and 41.9 % of simple_javascript in the 995"
        )
    return f"Ceiling: {'; '.join(parts)}." if parts else None
