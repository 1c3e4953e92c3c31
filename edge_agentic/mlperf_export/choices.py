"""The parts of the README on choices: where the official tools disagree, and where this one counts otherwise."""

from collections.abc import Iterator

from bfcl_gate.ruleset import MLPERF_V6_1
from edge_agentic.mlperf_export.account import Account
from edge_agentic.mlperf_export.config import MIN_DURATION_MS, NO_ENDPOINT
from edge_agentic.mlperf_export.evidence import Evidence
from edge_agentic.mlperf_export.figures import five_digits


def choices(account: Account) -> Iterator[str]:
    """Yield what the tree states because its readers ask for it, each with the reason."""
    evidence, seeds = account.evidence, account.seeds
    duration_ms = 1000 * evidence.performance["duration_s"]
    reached = "longer" if duration_ms >= MIN_DURATION_MS else "**shorter**"
    yield (
        f"- Seeds `{seeds.dataloader}` (data loader) and `{seeds.scheduler}` (scheduler) are stated for {seeds.suits}. "
        "No value satisfies both (`--seeds checker|compliance`). The run drew nothing at random, neither turns nor "
        "samples nor tokens, so no seed has an effect on it."
    )
    yield (
        f"- `min_duration_ms` is {MIN_DURATION_MS}, which the checker demands of the configured value; the reference's "
        f"own file says 0. The trace ends a replay, not this value. This one took {five_digits(duration_ms / 1000)} s, "
        f"{reached} than that."
    )
    yield (
        f"- `max_duration_ms` {1000 * (MLPERF_V6_1.replay_limit_s or 0)} and `turn_timeout_s` "
        f"{MLPERF_V6_1.turn_timeout_s} are the reference's caps. They are held against the readings here; the local "
        "engine is not cut off at them."
    )
    yield "- The scenario is SingleStream, as the checker demands; the rule book's table says Offline (accuracy only)."
    yield (
        "- The metric is the mean latency, as the checker takes it; the reference's ruleset names throughput, which is "
        "`qps` and `tps` in the same file."
    )
    yield (
        "- Accuracies have five significant figures, as the rule book asks. The reference writes two decimals; so "
        "rounded they are held against the lines."
    )
    yield (
        f"- `{NO_ENDPOINT[evidence.local]}` stands where the schema demands an address: "
        + (
            "the engine ran in a process, not behind one."
            if evidence.local
            else "a run does not keep its server's."
        )
    )


def departures(evidence: Evidence) -> Iterator[str]:
    """Yield where a figure is made otherwise than the reference's harness makes it."""
    place = "in the process that decodes" if evidence.local else "in the client, at the arrival of the bytes"
    yield f"- Instants are read {place}, from the monotonic clock; the reference reads them in its client."
    yield (
        "- Output tokens are those the engine made, without the end of generation; the reference tokenises the text "
        "again with the model's Hugging Face tokenizer."
    )
    yield (
        "- A turn that brought no complete answer is failed and not completed, and one that was given up because an "
        "earlier one failed has no latency; the reference counts both as completed, the latter as very fast."
    )
    yield "- A failed gate request is wrong on every subset; the reference takes it for right on irrelevance."
    yield "- `result_summary.json` has no histograms."
