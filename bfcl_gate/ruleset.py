"""Rulesets: frozen constants that gate and replay share. A changed figure is a new ruleset, never an edit.

Source of the mlperf-v6.1 figures: the Edge-Agentic example of mlcommons/endpoints at commit ea332753 and
its compliance ruleset edge-v0.1 (reference measured on a Jetson AGX Thor with reasoning off).
"""

from dataclasses import dataclass

from bfcl_gate.download import MLPERF_TRACE_SHA256
from bfcl_gate.errors import InputError
from bfcl_gate.model.catalog import find

KNOWN_SAMPLES = ("mlperf", "quick", "full")

PARTIAL = "partial"
"""Stands for the sample of stored answers that are none of the known samples."""

LINE_FACTOR = 0.97
"""A model passes at this share of its reference figures (MLPerf v6.1; used for every reference here)."""


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{option} {value!r} is unknown; expected one of {', '.join(allowed)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """How a gate asks and judges. `sample` is mlperf, quick, full or the path of a file of ids.

    `rules` and `tool_schemas` are mlperf or official, `calls` (what is judged) native or lenient. `concurrency` is the
    number of samples under way at once, above 1 at an endpoint only. On a local engine `parallel` samples are decoded
    at once in one context, and `share_prefix` lets a prompt begin with what it has in common with the one before; where
    neither is so, a mark depends on its sample and the settings only.
    """

    sample: str = "mlperf"
    rules: str = "mlperf"
    tool_schemas: str = "mlperf"
    calls: str = "lenient"
    max_tokens: int = 1024
    concurrency: int = 1
    parallel: int = 1
    share_prefix: bool = False

    def __post_init__(self) -> None:
        _one_of("--rules", self.rules, ("mlperf", "official"))
        _one_of("--tool-schemas", self.tool_schemas, ("mlperf", "official"))
        _one_of("--calls", self.calls, ("native", "lenient"))

    @property
    def batched(self) -> bool:
        """Whether samples are evaluated together or on what another one left."""
        return self.parallel > 1 or self.share_prefix

    @property
    def sample_name(self) -> str:
        """The sample without any path: its name, or "file" for a file of ids."""
        return self.sample if self.sample in (*KNOWN_SAMPLES, PARTIAL) else "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceFigures:
    """Published accuracies of a reference model, in percent with two decimals as MLPerf compares them."""

    model: str
    overall_percent: float
    normalized_percent: float


MLPERF_FIGURES = ReferenceFigures(model="Qwen3.6-27B", overall_percent=86.23, normalized_percent=87.96)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset:
    """One benchmark: what is asked, how it is decoded, and what a run must not change.

    `traces` are names for --traces; `strict` makes what is a warning elsewhere (load, throttling,
    drift, clocks) invalid. What a ruleset leaves open is None.
    """

    name: str
    gate: GatePolicy
    traces: tuple[str, ...]
    decode: str
    strict: bool = False
    temperature: float = 0.0
    seed: int = 42
    trace_sha256: str | None = None
    model_sha256: str | None = None
    ctx: int | None = None
    kv_type: str | None = None
    concurrency: int | None = None
    turn_timeout_s: int | None = None
    replay_limit_s: int | None = None


QUICK = Ruleset(name="quick", gate=GatePolicy(sample="quick"), traces=("smoke",), decode="forced")

STANDARD = Ruleset(name="standard", gate=GatePolicy(), traces=("bundled",), decode="forced")

MLPERF_V6_1 = Ruleset(
    name="mlperf-v6.1",
    gate=GatePolicy(calls="native"),
    traces=("mlperf",),
    decode="natural",
    strict=True,
    trace_sha256=MLPERF_TRACE_SHA256,
    model_sha256=find("qwen3.6-27b").sha256,
    ctx=32_768,
    kv_type="f16",
    concurrency=1,
    turn_timeout_s=600,
    replay_limit_s=14_400,
)

RULESETS = (QUICK, STANDARD, MLPERF_V6_1)


def find_ruleset(name: str) -> Ruleset:
    """Return the ruleset of that name. Raises InputError naming the known ones."""
    for ruleset in RULESETS:
        if ruleset.name == name:
            return ruleset
    raise InputError(
        f"--profile {name!r} is unknown; expected one of {', '.join(ruleset.name for ruleset in RULESETS)}."
    )
