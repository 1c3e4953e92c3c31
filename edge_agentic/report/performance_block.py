"""What is said about speed: cells come from the `performance` object, rows name their definition."""

from collections.abc import Mapping
from typing import Any

from edge_agentic.report.words import UNGATED, Section, clean, count, number, percent, rate, seconds

Performance = Mapping[str, Any]

TIMES = (
    ("TTFT", "ttft_s", "first token - submission"),
    ("TPOT", "tpot_s", "(last token - first token) / (output tokens - 1)"),
    ("turn latency", "turn_latency_s", "completion - submission"),
    ("trajectory", "trajectory_duration_s", "last completion - first submission, tool delays included"),
)
RATES = (
    ("prefill", "prefill_tokens_per_s", "evaluated prompt tokens / (first token - prompt rendered), pooled"),
    ("decode", "decode_tokens_per_s", "(output tokens - 1) / (last token - first token), pooled"),
    ("output", "output_tokens_per_s", "output tokens / wall time of the replay"),
)
STATED = (
    (
        "prefill, stated",
        "prefill_tokens_per_s",
        "evaluated prompt tokens / the server's own prefill time, pooled",
    ),
    ("decode, stated", "decode_tokens_per_s", "(output tokens - 1) / the server's own decode time, pooled"),
)
SHOWN = ("50", "90", "99")
TAIL_COUNT = 100  # below this many turns the 99th percentile is just one of the slowest turns


def performance_sections(performance: Performance, *, ungated: bool = False) -> tuple[Section, ...]:
    """Return the sections on times, rates, work and MLPerf's own definitions."""
    found = (
        _times(performance, ungated),
        _certified(performance, ungated),
        _rates(performance, ungated),
        _outside(performance.get("outside") or {}, ungated),
        _work(performance, ungated),
        _speculation(performance.get("speculation") or {}, ungated),
        _mlperf(performance["mlperf"], ungated),
        _facts("Roofline", performance.get("roofline") or {}, ungated),
        _facts("Energy", performance.get("energy") or {}, ungated),
    )
    return tuple(section for section in found if section.rows)


def _times(performance: Performance, ungated: bool) -> Section:
    turns = performance["turns"]
    parts = [f"{count(turns['completed'], 'turn')} answered"]
    if turns["dropped"]:
        parts.append(f"{turns['dropped']} dropped")
    if performance["decode"]:
        parts.append(f"{performance['decode']} decoding")
    if performance["duration_s"] is not None:
        parts.append(f"{number(performance['duration_s'])} s of wall time")
    few = performance["turn_latency_s"]["count"]
    note = (
        f"With {count(few, 'turn')} p99 is one of the slowest turns, not a tail."
        if 0 < few < TAIL_COUNT
        else ""
    )
    return Section(
        title=f"Performance: {', '.join(parts)}",
        header=("", *(f"p{name}" for name in SHOWN), "max", "mean ± std", "definition"),
        rows=tuple(
            _time_row(name, performance[key], text) for name, key, text in TIMES if performance[key]["count"]
        ),
        notes=(note,) if note else (),
        ungated=ungated,
    )


OUTSIDE = (
    ("per turn", "turn_s", "render, tokenise, roll back, first token chosen"),
    ("per token", "token_s", "token chosen, clock read, next batch filled"),
    ("before a turn", "prepare_s", "the recorded answer's tokens, before submission"),
)


def _outside(own: Mapping[str, Any], ungated: bool) -> Section:
    """What the harness itself costs."""
    return Section(
        title="Time outside llama.cpp",
        header=("", *(f"p{name}" for name in SHOWN), "max", "mean ± std", "what is done in it"),
        rows=tuple(
            _time_row(name, own[key], text) for name, key, text in OUTSIDE if own and own[key]["count"]
        ),
        ungated=ungated,
    )


def _time_row(name: str, summary: Mapping[str, Any], definition: str) -> tuple[str, ...]:
    unit = summary["percentiles"]["50"]
    mean = seconds(summary["mean"], unit)
    if summary["std"] is not None:
        mean += f" ± {seconds(summary['std'], unit)}"
    shown = [seconds(summary["percentiles"][p], unit) for p in SHOWN]
    return (name, *shown, seconds(summary["max"], unit), mean, definition)


def _certified(performance: Performance, ungated: bool) -> Section:
    """The upper estimates that hold with 99 % confidence for so many turns."""
    estimates = {name: performance[key]["certified"] for name, key, _ in TIMES[:3]}
    shown = [p for p in SHOWN if any(values.get(p) is not None for values in estimates.values())]
    rows = [(name, *(seconds(values.get(p)) for p in shown)) for name, values in estimates.items() if shown]
    return Section(
        title="At most, with 99 % confidence (early stopping of MLPerf LoadGen)",
        header=("", *(f"p{p}" for p in shown)),
        rows=tuple(rows),
        ungated=ungated,
    )


def _rates(performance: Performance, ungated: bool) -> Section:
    rows = [(name, rate(performance[key]), text) for name, key, text in RATES if performance[key] is not None]
    stated = performance.get("server") or {}
    rows += [(name, rate(stated[key]), text) for name, key, text in STATED if key in stated]
    if "draft_acceptance" in stated:
        rows.append(
            (
                "drafts accepted",
                percent(stated["draft_acceptance"]),
                "accepted / drafted tokens, as the server counts",
            )
        )
    rows += _load_rows(performance)
    return Section(title="Rates", header=("", "pooled", "definition"), rows=tuple(rows), ungated=ungated)


def _load_rows(performance: Performance) -> list[tuple[str, str, str]]:
    """What several trajectories at once were served, and how many turns met the objectives of --slo."""
    load, good = performance.get("throughput"), performance.get("goodput")
    rows = []
    if load is not None:
        rows = [
            ("turns", rate(load["turns_per_s"], "turns/s"), "answered turns / wall time"),
            ("jobs", rate(load["jobs_per_h"], "/h"), "trajectories answered whole / wall time"),
            (
                "one session",
                rate(load["session"]["output_tokens_per_s"]),
                "output tokens / time a trajectory was under way, pooled",
            ),
        ]
    if good is not None:
        asked = ", ".join(f"{name.removesuffix('_s')} {seconds(most)}" for name, most in good["slo"].items())
        told = f"{percent(good['share'])}, {rate(good['turns_per_s'], 'turns/s')}"
        rows.append(("goodput", told, f"turns within {asked}, of all issued"))
    return [row for row in rows if row[1]]


def _work(performance: Performance, ungated: bool) -> Section:
    rows: list[tuple[str, ...]] = []
    for name, key in (("input tokens", "input_tokens"), ("output tokens", "output_tokens")):
        summary = performance[key]
        if summary["count"]:
            tokens = f"{summary['percentiles']['50']:,.0f} median, {summary['max']:,.0f} largest"
            rows.append((name, tokens, "per turn"))
    rows += _reuse_rows(performance["prefix_reuse"])
    if "shared_tokens" in (stated := performance.get("server") or {}):
        shared = f"{stated['shared_tokens']:,} tokens"
        rows.append(("of that, shared", shared, "reused by first turns: kept from other trajectories"))
    rows += _agreement_rows(performance["agreement"])
    if found := performance.get("shielded"):
        meaning = (
            f"whose content spells a control token, {count(found['texts'], 'time')} in all; kept as text"
        )
        rows.append(("shielded prompts", f"{found['prompts']:,}", meaning))
    return Section(
        title="Work and fidelity", header=("", "value", "meaning"), rows=tuple(rows), ungated=ungated
    )


def _reuse_rows(reuse: Mapping[str, Any]) -> list[tuple[str, ...]]:
    if None not in (reuse["ratio"], reuse["reused_tokens"], reuse["possible_tokens"]):
        misses = reuse["misses"].get("turns", 0)
        text = f"{reuse['reused_tokens']:,} of {reuse['possible_tokens']:,} possible tokens"
        if stuck := reuse["misses"].get("not_taken_back"):
            text += f"; in {count(stuck, 'turn')} the memory could not be taken back so far"
        return [
            (
                "prefix reuse",
                percent(reuse["ratio"]),
                f"{text}; {count(misses, 'turn')} reused less than possible",
            )
        ]
    if reuse["reused_tokens"] is not None:
        return [
            (
                "prefix reuse",
                f"{reuse['reused_tokens']:,} tokens",
                "as the server states; what was possible is unknown",
            )
        ]
    return []


def _agreement_rows(agreement: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    if agreement["iou"] is not None:
        scored = f"{count(agreement['scored'], 'turn')} scored, {agreement['missing']} missing"
        rows.append(
            ("command agreement", f"{agreement['iou']:.4f}", f"IoU of made and recorded commands; {scored}")
        )
    if agreement["token_agreement"] is not None:
        meaning = "decode steps whose likeliest token was the recorded one"
        rows.append(("token agreement", percent(agreement["token_agreement"]), meaning))
    return rows


PARTS = {"framing": "framing", "argument": "arguments", "free_text": "free text"}


def _speculation(drafts: Mapping[str, Any], ungated: bool) -> Section:
    """What drafts did; no row where nothing was drafted from the prompt."""
    rows: list[tuple[str, ...]] = []
    if drafts:
        tokens = f"{drafts['accepted_tokens']:,} of {drafts['drafted_tokens']:,} drafted tokens"
        rows.append(("drafts accepted", percent(drafts["acceptance"]) or "none drafted", tokens))
    if drafts and drafts["tokens_per_pass"] is not None:
        meaning = f"decode steps / evaluations; {drafts['passes']:,} evaluations after the prefills"
        rows.append(("tokens per pass", number(drafts["tokens_per_pass"]), meaning))
    for key, name in PARTS.items():
        if drafts and (part := drafts["parts"][key])["tokens"]:
            meaning = f"from drafts: {part['accepted']:,} of {part['tokens']:,} tokens"
            rows.append((f"of {name}", percent(part["share"]), meaning))
    if drafts and drafts["repeated_tokens"]:
        meaning = "evaluated again because a draft behind them was taken back"
        rows.append(("repeated", count(drafts["repeated_tokens"], "token"), meaning))
    return Section(
        title="Speculative decoding (prompt lookup)",
        header=("", "value", "meaning"),
        rows=tuple(rows),
        ungated=ungated,
    )


def _mlperf(own: Mapping[str, Any], ungated: bool) -> Section:
    rows = [
        ("latency, mean", _ms(own["latency_ms"], "mean"), "failed turns included"),
        ("latency, p90", _ms(own["latency_ms"], "90"), 'percentiles of method "lower"'),
        ("TTFT, mean", _ms(own["ttft_ms"], "mean"), "first piece - submission"),
        (
            "TPOT, mean",
            _ms(own["tpot_ms"], "mean"),
            "(completion - first piece) / tokens after the first piece",
        ),
        ("QPS", rate(own["qps"], "turns/s"), "turns, failed ones included / wall time"),
        ("TPS", rate(own["tps"]), "output tokens without the end token / wall time"),
    ]
    return Section(
        title="By MLPerf's definitions",
        header=("", "value", "definition"),
        rows=tuple(row for row in rows if row[1]),
        ungated=ungated,
    )


def _ms(summary: Mapping[str, Any], what: str) -> str:
    value = summary["mean"] if what == "mean" else summary["percentiles"].get(what)
    return "" if value is None else f"{number(value)} ms"


def _facts(title: str, facts: Mapping[str, Any], ungated: bool) -> Section:
    """The plain facts of an object made elsewhere, one a row, one level deep."""
    rows = []
    for key, value in facts.items():
        inner = value if isinstance(value, Mapping) else {"": value}
        for name, fact in inner.items():
            if isinstance(fact, (str, int, float)):
                shown = f"{fact:.4g}" if isinstance(fact, float) else str(fact)
                rows.append((clean(f"{key} {name}".strip().replace("_", " ")), clean(shown)))
    return Section(title=title, header=("", "value"), rows=tuple(rows), ungated=ungated)


def marked(text: str, ungated: bool) -> str:
    """Return the text of one line, marked where its gate did not pass."""
    return f"{UNGATED}  {text}" if ungated else text
