"""How much work a trace is, and what of it a cache could keep.

`sizes` measures turns, `totals` adds them up in a few bytes each, `stability` tells where a template breaks the
prefix from turn to turn, `volatile` what text of the agent does, `changes` what a redaction did to the prompts;
`survey` gathers all of a file.
"""

from edge_agentic.trace_stats.changes import TokenChange, token_change
from edge_agentic.trace_stats.sizes import Plan, TurnSize, measure
from edge_agentic.trace_stats.stability import Stability, UnstableTurn
from edge_agentic.trace_stats.survey import Growth, Survey
from edge_agentic.trace_stats.totals import Totals, stats
from edge_agentic.trace_stats.volatile import VolatileText

__all__ = [
    "Growth",
    "Plan",
    "Stability",
    "Survey",
    "TokenChange",
    "Totals",
    "TurnSize",
    "UnstableTurn",
    "VolatileText",
    "measure",
    "stats",
    "token_change",
]
