"""What is said of a trace's sizes, as sections: the page and the terminal lay them out."""

from collections.abc import Iterator, Mapping
from typing import Any

from edge_agentic.report.words import Section, clean, count

_COLUMNS = ("min", "p50", "p90", "p99", "max", "mean")
_SHOWN_TEXT = 60


def stats_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of a document of `Survey.to_dict` with the `model` that counted its tokens, or None."""
    files = [_size_section(clean(file["path"]), file) for file in document["files"]]
    if len(files) > 1:
        files.append(_size_section("All files", document))
    found = (_stability(document), _volatile(document), _secrets(document))
    return [*files, *(section for section in found if section)]


def unit_of(document: Mapping[str, Any]) -> str:
    """Return what sizes are counted in."""
    return "characters" if document["total_prompt_tokens"] is None else "tokens"


def notes_on_tokens(document: Mapping[str, Any]) -> list[str]:
    """Return what has to be known to read the counts."""
    if not document["model"]:
        return []
    return [
        f"Tokens by template and tokenizer of {clean(document['model'])}.",
        "New tokens: what a perfect cache leaves of a prompt if it holds the previous prompt and recorded answer "
        "(forced), or that prompt only (natural).",
    ]


def _size_section(title: str, numbers: Mapping[str, Any]) -> Section:
    unit = unit_of(numbers)
    lead = [
        f"{count(numbers['trajectories'], 'trajectory')}, {count(numbers['turns'], 'turn')}, "
        f"{numbers['answered_turns']:,} with a recorded answer; waits {numbers['delay_s']:,.3f} s",
        f"largest prompt {numbers[f'largest_prompt_{unit}']:,} {unit}; all prompts "
        f"{numbers[f'total_prompt_{unit}']:,}; answers {numbers[f'answer_{unit}']:,}",
        *(_token_notes(numbers) if unit == "tokens" else ()),
    ]
    names = [
        name
        for name, spread in numbers["distributions"].items()
        if spread["count"] and (name == "delay_s" or unit in name)
    ]
    return Section(
        title=title,
        header=("per turn", *_COLUMNS),
        rows=tuple(_spread(name, numbers["distributions"][name]) for name in names),
        lead=tuple(lead),
    )


def _token_notes(numbers: Mapping[str, Any]) -> Iterator[str]:
    new, reuse = numbers["new_tokens"], numbers["ideal_reuse"]
    yield (
        f"new tokens {new['forced']:,} forced, {new['natural']:,} natural; ideal reuse "
        f"{_percent(reuse['forced'])} and {_percent(reuse['natural'])}"
    )
    yield (
        f"{numbers['answers_extending_prompt']:,} of {numbers['answered_turns']:,} rendered answers "
        "extend their prompt"
    )


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{share:.1%}"


def _spread(name: str, numbers: Mapping[str, Any]) -> tuple[str, ...]:
    percentiles = numbers["percentiles"]
    values = (numbers["min"], *(percentiles[p] for p in ("50", "90", "99")), numbers["max"], numbers["mean"])
    digits = 3 if name == "delay_s" else 0
    return (name.replace("_", " "), *(f"{value:,.{digits}f}" for value in values))


def _stability(document: Mapping[str, Any]) -> Section | None:
    found = document["template_stability"]
    if found is None or not found["checked_turns"]:
        return None
    checked, unstable = found["checked_turns"], found["unstable_turns"]
    if not unstable:
        note = f"Each of {count(checked, 'prompt')} begins with all tokens of the prompt of the turn before."
        return Section(title="Template stability", notes=(note,))
    return Section(
        title="Template stability",
        header=(
            "trajectory",
            "turn",
            "first differing token",
            "lost",
            "text before",
            "was",
            "is now",
            "turns so",
        ),
        rows=tuple(
            (
                clean(each["trajectory_id"]),
                f"{each['turn']}",
                f"{each['position']:,}",
                f"{each['lost_tokens']:,}",
                *(_quoted(each[name], tail=name == "kept") for name in ("kept", "was", "now")),
                f"{each['turns']:,}",
            )
            for each in found["first"]
        ),
        lead=(
            f"{unstable:,} of {checked:,} prompts do not begin with the prompt of the turn before: the template "
            f"changes the past, and {found['lost_tokens']:,} tokens that a cache holds are lost.",
        ),
        notes=("The first such turn of each trajectory, of 20 trajectories at most.",),
    )


def _volatile(document: Mapping[str, Any]) -> Section | None:
    found = document["volatile_text"]
    if not found:
        return None
    return Section(
        title="Volatile text",
        header=("where", "what", "at character", "differs between", "was", "is now", "reuse lost"),
        rows=tuple(
            (
                each["part"],
                each["kind"],
                f"{each['position_characters']:,}",
                _differs(each),
                _quoted(each["was"]),
                _quoted(each["now"]),
                f"{each['lost_reuse']:,} of {each['possible_reuse']:,} {each['unit']} ({_percent(each['lost_share'])})",
            )
            for each in found
        ),
        notes=(
            "Near the start of prompts, what changes makes all that follows new to a cache: between turns where the "
            "agent writes it for each request (a replay uses the first one), between trajectories where a server "
            "could share the beginning.",
        ),
    )


def _differs(each: Mapping[str, Any]) -> str:
    first = clean(each["first_trajectory"])
    if each["scope"] == "turns":
        return f"turns, {each['times']:,}x, first in {first}"
    return f"trajectories, {each['times']:,}x, first in {first}"


def _quoted(text: str, tail: bool = False) -> str:
    """Return a piece of untrusted text on one line, its end where that is what matters."""
    shown = clean(text)
    if len(shown) > _SHOWN_TEXT:
        shown = f"…{shown[-_SHOWN_TEXT:]}" if tail else f"{shown[:_SHOWN_TEXT]}…"
    return f"\u201c{shown}\u201d"


def _secrets(document: Mapping[str, Any]) -> Section | None:
    found = document["secrets"]
    if not found:
        return None
    return Section(
        title="Keys",
        header=("kind", "rows"),
        rows=tuple((kind, f"{rows:,}") for kind, rows in found.items()),
        notes=(
            "Do not publish this trace before they are gone: `edge-agentic traces redact` replaces them.",
        ),
    )
