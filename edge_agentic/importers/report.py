"""What an import did, for a reader and for a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from edge_agentic.importers.normal import REPAIRS, Notes
from edge_agentic.importers.rows import Row
from edge_agentic.importers.trajectories import Named, Options
from edge_agentic.trace import Trace
from edge_agentic.trace.secrets import secrets_in

_CHARACTERS_PER_TOKEN = 2.0
"""Fewer characters than this for each recorded token: a part of the recorded prompt is not there.
English and code have about 3 to 4, so what is found missing is certain, and a small part goes unnoticed."""

_STORED = (("system", "system prompt"), ("tools", "tool schemas"))
"""What agents put into a prompt and often do not store: field of a row, and its name for a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The counts of one import. `repairs` and `skipped` are by code and by kind of record.

    `missing` names what the recording lacks, `prompts` compares the first and last recorded input tokens
    with the characters that were imported, `delays` has seconds, `warnings` are the loader's own.
    """

    source: str
    output: str
    sha256: str
    formats: tuple[str, ...]
    counts: Mapping[str, int]
    repairs: Mapping[str, int]
    skipped: Mapping[str, int]
    missing: tuple[str, ...]
    prompts: tuple[Mapping[str, Any], ...]
    delays: Mapping[str, float | int]
    splits: Mapping[str, int]
    secrets: Mapping[str, int]
    remarks: tuple[str, ...]
    warnings: tuple[str, ...]


def make_report(
    source: Path,
    output: Path,
    trace: Trace,
    formats: Sequence[str],
    named: Sequence[Named],
    notes: Notes,
    options: Options,
) -> Report:
    """Count what was written; `trace` is what the project's loader made of it."""
    rows = [row for each in named for row in each.rows]
    reasons = [each.session.split_reason for each in named if each.session.split_reason]
    prompts = tuple(found for each in named if (found := _prompt_sizes(each)) and not each.session.synthetic)
    return Report(
        source=str(source),
        output=str(output),
        sha256=trace.sha256,
        formats=tuple(formats),
        counts=_counts(named, rows),
        repairs={code: notes.repairs[code] for code in REPAIRS if notes.repairs[code]},
        skipped=dict(notes.skipped.most_common()),
        missing=tuple(_missing(named, prompts, options)),
        prompts=prompts,
        delays=_delays(rows),
        splits={reason: reasons.count(reason) for reason in sorted(set(reasons))},
        secrets=secrets_in(rows),
        remarks=tuple(notes.remarks),
        # That tools are missing is said under `missing`, once.
        warnings=tuple(problem.describe(output) for problem in trace.warnings if problem.field != "tools"),
    )


def _counts(named: Sequence[Named], rows: Sequence[Row]) -> dict[str, int]:
    return {
        "trajectories": len(named),
        "turns": sum(row["role"] != "assistant" for row in rows),
        "tool_calls": sum(len(row.get("tool_calls", ())) for row in rows),
        "tool_results": sum(len(row.get("tool_results", ())) for row in rows),
    }


def _missing(named: Sequence[Named], prompts: Sequence[Mapping[str, Any]], options: Options) -> "list[str]":
    """Return what the agent's prompts held and these do not, with what can be done."""
    found = []
    total = len(named)
    for field, what in _STORED:
        lacking = [each for each in named if not each.rows[0].get(field) and _uses(each, field)]
        given = sum(bool(getattr(options, field)) and not getattr(each.session, field) for each in named)
        if lacking:
            found.append(
                f"{len(lacking)} of {total} trajectories have no {what}; the agent's first prompts were longer. "
                f"Give it with --{field} FILE."
            )
        elif given:
            found.append(f"The {what} of {given} of {total} trajectories is the one given with --{field}.")
    short = [each for each in prompts if _too_short(each)]
    if short:
        first = short[0]
        found.append(
            f"The first prompt of {len(short)} of {len(prompts)} trajectories is shorter than recorded: in "
            f"{first['trajectory']} {first['first_input_tokens']:,} tokens were recorded, and "
            f"{first['first_characters']:,} characters are here."
        )
    grown = [each for each in prompts if _grows_less(each)]
    if grown:
        first = grown[0]
        found.append(
            f"The prompts of {len(grown)} trajectories grow by less than recorded (reminders, attachments or "
            f"reasoning are not stored): {first['trajectory']} by {first['token_growth']:,} recorded tokens and "
            f"{first['character_growth']:,} characters."
        )
    shrunk = [each["trajectory"] for each in prompts if each["largest_fall_tokens"] > 1000]
    if shrunk:
        found.append(
            f"Recorded prompts become shorter within {len(shrunk)} trajectories ({shrunk[0]}), so something was "
            "cut from the agent's context that still stands here."
        )
    return found


def _uses(each: Named, field: str) -> bool:
    if each.session.synthetic:
        return False
    return field == "system" or any(row.get("tool_calls") for row in each.rows)


def _too_short(prompt: Mapping[str, Any]) -> bool:
    return bool(prompt["first_characters"] < _CHARACTERS_PER_TOKEN * prompt["first_input_tokens"])


def _grows_less(prompt: Mapping[str, Any]) -> bool:
    tokens, characters = prompt["token_growth"], prompt["character_growth"]
    return bool(tokens > 500 and characters < _CHARACTERS_PER_TOKEN * tokens)


def _prompt_sizes(each: Named) -> dict[str, Any] | None:
    """Compare recorded input tokens with the characters of the same prompts; None where none are recorded.

    `first_turn` and `last_turn` number the turns compared, from 0.
    """
    head = each.rows[0]
    size = len(head.get("system", "")) + len(str(head.get("tools", "")))
    points: list[tuple[int, int, int]] = []
    for number, row in enumerate(each.rows):
        if row["role"] == "assistant" and row.get("recorded_input_tokens"):
            points.append((row["recorded_input_tokens"], size, number // 2))
        size += _characters(row)
    if not points:
        return None
    tokens = [point[0] for point in points]
    falls = [before - after for before, after in pairwise(tokens)]
    return {
        "trajectory": each.id,
        "lacks": [what for field, what in _STORED if not head.get(field) and _uses(each, field)],
        "requests_with_counts": len(points),
        "first_turn": points[0][2],
        "last_turn": points[-1][2],
        "first_input_tokens": points[0][0],
        "first_characters": points[0][1],
        "last_input_tokens": points[-1][0],
        "last_characters": points[-1][1],
        "token_growth": points[-1][0] - points[0][0],
        "character_growth": points[-1][1] - points[0][1],
        "largest_fall_tokens": max([0, *falls]),
    }


def _characters(row: Row) -> int:
    calls = sum(
        len(call["function"]["name"]) + len(call["function"]["arguments"])
        for call in row.get("tool_calls", ())
    )
    results = sum(len(result["content"]) for result in row.get("tool_results", ()))
    return len(row.get("content", "")) + len(row.get("reasoning_content", "")) + calls + results


def _delays(rows: Sequence[Row]) -> dict[str, float | int]:
    waits = [row for row in rows if row["role"] == "tool" or "delay_seconds" in row]
    kept = [row["delay_seconds"] for row in waits if "delay_seconds" in row]
    removed = [
        row["recorded_delay_seconds"] - row["delay_seconds"]
        for row in rows
        if "recorded_delay_seconds" in row
    ]
    return {
        "known": len(kept),
        "unknown": len(waits) - len(kept),
        "kept_s": round(sum(kept), 3),
        "removed_s": round(sum(value for value in removed if value > 0), 3),
    }
