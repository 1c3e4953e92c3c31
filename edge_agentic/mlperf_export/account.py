"""What an export gives account of."""

from dataclasses import dataclass

from edge_agentic.mlperf_export.config import Seeds
from edge_agentic.mlperf_export.eligibility import Shortfall, division_of
from edge_agentic.mlperf_export.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What the README gives account of. `kind` is closed, open or example, `to_fill` what the submitter has to add."""

    evidence: Evidence
    kind: str
    submitter: str
    system: str
    seeds: Seeds
    shortfalls: tuple[Shortfall, ...]
    to_fill: tuple[str, ...]

    @property
    def division(self) -> str:
        """The division whose folder the tree stands in."""
        return division_of(self.kind)
