"""What a report says, whatever its layout: the verdict in one line, then sections."""

from collections.abc import Mapping
from typing import Any

from bfcl_gate.model.findings import finding_of
from edge_agentic.report.gate_block import gate_sections
from edge_agentic.report.performance_block import performance_sections
from edge_agentic.report.words import Section, clean, count, listing
from edge_agentic.validity import INVALID

Result = Mapping[str, Any]


def verdict(result: Result) -> str:
    """Return the one line that must be read before any number."""
    broken = [
        check["name"] for check in result["validity"] if check["level"] == INVALID and not check["passed"]
    ]
    gate = result["gate"]
    if not result.get("complete", True) or gate is None:
        return f"INCOMPLETE. {_progress(result)}there is no verdict yet, so no speed is shown."
    words = [] if result["valid"] else ["INVALID"]
    words += [] if gate["passed"] else ["GATE FAILED"]
    head = ", ".join(words) or "VALID"
    told = [
        "the accuracy gate passed"
        if gate["passed"]
        else "the accuracy gate did not pass, so speed is withheld"
    ]
    if not result["valid"]:
        told.append(f"the run broke {count(len(broken), 'rule')} ({clean(', '.join(broken))})")
    elif gate["passed"]:
        told.append("the run kept every rule")
    reduced = " Reduced: not comparable to the full workload." if result["reduced"] else ""
    return f"{head}. {' and '.join(told).capitalize()}.{reduced}"


def _progress(result: Result) -> str:
    done = result.get("progress")
    if done is None:
        return ""
    return f"{count(done['turns'], 'turn')} and {count(done['gate_samples'], 'gate sample')} are kept; "


def sections(result: Result, ungated: Mapping[str, Any] | None = None) -> tuple[Section, ...]:
    """Return everything there is to say about a run, in reading order.

    `ungated` is the performance of a run whose gate did not pass, shown only where the user asked for it.
    """
    found = [run_section(result)]
    if result["gate"] is not None:
        found += gate_sections(result["gate"])
    if result["performance"] is not None:
        found += performance_sections(result["performance"])
    elif ungated is not None:
        found += performance_sections(ungated, ungated=True)
    found += [*found_before(result), _checks(result), next_section(result)]
    return tuple(found)


ENGINE_FACTS = (
    "ctx",
    "kv_type",
    "flash_attn",
    "threads",
    "gpu_layers",
    "offloaded_layers",
    "speculative",
    "reuse",
    "special_in_content",
    "concurrency",
    "build",
)
OPTION_FACTS = ("decode", "limit", "tool_delay", "reasoning", "max_tokens", "calls")


def run_section(result: Result) -> Section:
    """Return what was run: model, engine, trace, options, machine."""
    asked = {**(result.get("options") or {}), "ruleset": result["ruleset"]}
    made = [text for text in (result.get("created_at"), result.get("tool_version")) if text]
    rows = [
        ("model", listing(result["model"], ("name",))),
        ("engine", listing(result["engine"], ("kind",), ENGINE_FACTS)),
        ("trace", listing(result["trace"], ("name",))),
        ("ruleset", listing(asked, ("ruleset",), OPTION_FACTS)),
        ("planned", listing(result.get("planned") or {})),
        ("machine", _machine(result["environment"])),
        ("engine id", clean(result["engine_id"])[:12]),
        ("made", clean(" with edge-agentic ".join(made))),
    ]
    return Section(title="Run", header=("", ""), rows=tuple(row for row in rows if row[1]))


def _machine(environment: Mapping[str, Any]) -> str:
    cpu, memory = environment.get("cpu") or {}, environment.get("memory") or {}
    parts = [environment.get("machine"), cpu.get("model")]
    if cpu.get("usable"):
        parts.append(f"{cpu['usable']} usable cores")
    if memory.get("total_bytes"):
        parts.append(f"{memory['total_bytes'] / 2**30:.1f} GiB")
    parts += [(environment.get("system") or {}).get("os"), (environment.get("jetson") or {}).get("nvpmodel")]
    return clean(", ".join(str(part) for part in parts if part))


def found_before(result: Result) -> tuple[Section, ...]:
    """What the preflight found out about the engine or an endpoint's server."""
    found = [finding_of(row) for row in result.get("preflight") or ()]
    if not found:
        return ()
    rows = tuple((f.status, clean(f.name), clean(f.detail)) for f in found)
    what = "Server" if result["engine"].get("kind") == "endpoint" else "Engine"
    return (Section(title=f"{what}, as found before the run", header=("", "", ""), rows=rows),)


def _checks(result: Result) -> Section:
    broken = [check for check in result["validity"] if not check["passed"]]
    rows = [(check["level"], clean(check["name"]), clean(check["detail"])) for check in broken]
    kept = len(result["validity"]) - len(broken)
    title = f"Validity: {kept} of {count(len(result['validity']), 'rule')} kept"
    return Section(title=title, header=("", "rule", "finding"), rows=tuple(rows))


ADVICE = {
    "completeness": "Look at the error of the first dropped turn; --resume asks what was never asked.",
    "context": "Run again with a larger --ctx.",
    "prompts_whole": "Give the server a context that holds the largest prompt.",
    "prompts_uncut": "Give the server a context that holds the largest prompt; look at its log for truncation.",
    "deadlines": "This device is too slow for this workload: the reference would have ended it. Take another profile.",
    "offload": "Free GPU memory or ask for fewer --gpu-layers.",
    "suspend": "Keep the machine awake (on Linux: systemd-inhibit) and run again.",
    "swap_in": "Close other programs or take a smaller model, context or --kv-type.",
    "memory": "Close other programs or take a smaller model, context or --kv-type.",
    "cpu_load": "Stop other programs and run again.",
    "container_cpu": "Raise the container's CPU quota, or give --threads no more than it allows.",
    "throttling": "Let the device cool, or improve its cooling, and run again.",
    "governor": "Set the frequency governor to performance and run again.",
    "power_unchanged": "Run again without changing the power source or mode.",
    "battery": "Plug the device in and run again.",
    "drift": "Let the device cool and stop other programs; look at the decode plot of the HTML report.",
    "max_tokens": "Raise --max-tokens, or the trace's own limits (they go first); or does the model repeat itself?",
    "empty_answers": "Look at some answers in turns.jsonl: template or tool syntax may not fit the model.",
    "prefix_reuse": "Look which turns miss in turns.jsonl: the template may rewrite earlier turns.",
}


def next_section(result: Result) -> Section:
    """What the reader can do about what the report says."""
    gate = result["gate"]
    notes = []
    if not result.get("complete", True) or gate is None:
        notes.append("Continue with: edge-agentic run --resume --output DIR and the options of this run.")
    elif not gate["passed"]:
        notes.append(
            "See which subsets are low, and native beside lenient. A line for this model is given by "
            "--baseline DIR, --reference NAME, or --min-overall with --min-normalized."
        )
    advice = [ADVICE[c["name"]] for c in result["validity"] if not c["passed"] and c["name"] in ADVICE]
    notes += dict.fromkeys(advice)
    if gate is not None and gate["passed"] and result["reduced"]:
        notes.append("For the full workload and the full gate: edge-agentic run --profile standard.")
    if gate is not None and gate["passed"] and result["valid"]:
        notes.append("Compare devices or settings with: edge-agentic compare DIR_A DIR_B.")
    return Section(title="Next", notes=tuple(notes))
